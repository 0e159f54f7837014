//! The arguments of the operator commands for locks.

use std::time::Duration;

use clap::Args;

use super::{mode, values};

/// Who does it and why, for history.
#[derive(Debug, Args)]
pub struct OperatorArgs {
    /// Why, for history
    #[arg(long, default_value = "")]
    pub note: String,
    /// Who does it, for history
    #[arg(long, env = "USER", default_value = "unknown", hide_env_values = true)]
    pub operator: String,
}

impl OperatorArgs {
    /// The operator's name; `unknown` if `USER` is empty.
    pub fn name(&self) -> String {
        if self.operator.is_empty() { "unknown".to_owned() } else { self.operator.clone() }
    }
}

/// `tenure evict`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure evict nightly --note 'host is gone'
  # Only the hold that was looked at, and not a later one
  tenure evict nightly --token 42 --note 'host is gone'

The holder learns of it at once, but may still be at work: make sure that it has ended, or that the resource checks the \
fencing token. Prefer `tenure close` for a session that is known to be dead, and `tenure transfer` for a holder that is well.")]
pub struct EvictArgs {
    /// The lock
    pub name: String,
    /// Evict only the hold with this fencing token [default: any]
    #[arg(long, default_value_t = 0)]
    pub token: u64,
    /// Who, and why.
    #[command(flatten)]
    pub by: OperatorArgs,
}

/// `tenure transfer`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # To whoever is first in the queue
  tenure transfer service_leader
  tenure transfer service_leader --to worker-8 --drain 30s --note 'maintenance'
  # One of several holders
  tenure transfer pool --token 41

The holder is asked to stop. As soon as it has, the lock is handed over in one step, with a higher token: there is no moment \
at which nobody holds it. `tenure elect` stops its command then and stands by again; `tenure lock` runs on unless it was \
given --on-transfer stop.

A holder that does not stop within --drain keeps the lock, and this exits with 1. Interrupting this command does not take the \
request back.")]
pub struct TransferArgs {
    /// The lock
    pub name: String,
    /// The session that is to hold next; it must be waiting for the lock [default: the first in the queue]
    #[arg(long, value_name = "SESSION")]
    pub to: Option<String>,
    /// Transfer only the hold with this fencing token. Needed if several hold the lock [default: any]
    #[arg(long)]
    pub token: Option<u64>,
    /// How long the holder may go on, to stop its work: 100ms to 1h
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "10s")]
    pub drain: Duration,
    /// Say nothing while waiting
    #[arg(short, long)]
    pub quiet: bool,
    /// Who, and why.
    #[command(flatten)]
    pub by: OperatorArgs,
}

/// `tenure set`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure set db-jobs --limit 5    # whoever says another limit is refused
  tenure set service_leader --preempt --settling 5s
  tenure set service_leader --no-preempt
  tenure set service_leader       # show what is set

What is not named stays as it is. A lower limit takes nothing from holders; waiters that ask for more permits than it allows \
are ended. Preemption is for exclusive claims to this lock alone: the holder is asked to stop as with `tenure transfer`, and \
keeps the lock if it does not.")]
pub struct SetArgs {
    /// The lock
    pub name: String,
    /// How many permits may be out at once, whatever claims say: 1 to 1000000
    #[arg(long, value_name = "N", value_parser = mode::limit())]
    pub limit: Option<u32>,
    /// The limit is what the first of the claims says
    #[arg(long, conflicts_with = "limit")]
    pub no_limit: bool,
    /// A waiter of higher --priority than the holder is handed the lock
    #[arg(long)]
    pub preempt: bool,
    /// Waiters wait for their turn
    #[arg(long, conflicts_with = "preempt")]
    pub no_preempt: bool,
    /// With --preempt: how long the better one must have waited: 0 to 24h [default: as it is, or 10s]
    #[arg(long, value_name = "DURATION", value_parser = values::duration, requires = "preempt")]
    pub settling: Option<Duration>,
    /// With --preempt: how long the holder may go on, to stop its work: 100ms to 1h [default: as it is, or 10s]
    #[arg(long, value_name = "DURATION", value_parser = values::duration, requires = "preempt")]
    pub drain: Option<Duration>,
    /// Who, and why.
    #[command(flatten)]
    pub by: OperatorArgs,
}

impl SetArgs {
    /// Whether the command only shows the current settings.
    pub fn only_show(&self) -> bool {
        self.limit.is_none() && !self.no_limit && !self.preempt && !self.no_preempt
    }
}

/// `tenure blocked`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure blocked
  tenure blocked --deadlocks || alert 'sessions wait for each other'

In a deadlock, sessions wait for each other in a circle, and none of them goes on before one gives something back: end one \
with `tenure close SESSION`. Asking for all locks in one `tenure lock A B` avoids it.")]
pub struct BlockedArgs {
    /// Only those in a deadlock; exits with 1 if there are any
    #[arg(long)]
    pub deadlocks: bool,
}
