//! The arguments of the operator commands for locks.

use std::time::Duration;

use clap::Args;

use super::{acquire, values};

/// The operator and the reason, for history.
#[derive(Debug, Args)]
pub struct OperatorArgs {
    /// The reason, for history
    #[arg(long, default_value = "")]
    pub note: String,
    /// The operator, for history
    #[arg(long, env = "USER", default_value = "unknown", hide_env_values = true)]
    pub operator: String,
}

impl OperatorArgs {
    /// The operator's name; `unknown` if `USER` is empty.
    pub fn name(&self) -> String {
        if self.operator.is_empty() { "unknown".to_owned() } else { self.operator.clone() }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # To the first waiter in the queue
  tenure transfer service_leader
  tenure transfer service_leader --to worker-8 --drain 30s --note 'maintenance'
  # One of several holders
  tenure transfer pool --token 41

The holder is requested to stop. As soon as it has stopped, the lock is handed over in one step, with a higher token \
and without a moment in which it is free. On the request, `tenure elect` stops its command and stands by again; \
`tenure lock` continues unless it was started with --on-transfer stop.

A holder that does not stop within --drain keeps the lock, and this command exits with 1. Interrupting this command \
does not cancel the request.")]
pub struct TransferArgs {
    /// The lock
    pub name: String,
    /// The session of the next holder, which must be waiting for the lock [default: the first in the queue]
    #[arg(long, value_name = "SESSION")]
    pub to: Option<String>,
    /// Transfer only the hold with this fencing token; required if the lock has several holders [default: any]
    #[arg(long)]
    pub token: Option<u64>,
    /// The time for the holder to stop its work: 100ms to 1h
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "10s")]
    pub drain: Duration,
    /// Print nothing while waiting
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub by: OperatorArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure set db-jobs --limit 5    # claims with another limit are rejected
  tenure set service_leader --preempt --settling 5s
  tenure set service_leader --no-preempt
  tenure set service_leader       # show the settings

Settings that are not passed keep their values. A lower limit does not affect holders; waiters for more permits than \
the limit are ended. Preemption applies to exclusive claims to this lock alone: the holder is requested to stop as \
with `tenure transfer`, and keeps the lock if it does not.")]
pub struct SetArgs {
    /// The lock
    pub name: String,
    /// The number of permits, which overrides that of claims: 1 to 1000000
    #[arg(long, value_name = "N", value_parser = acquire::limit())]
    pub limit: Option<u32>,
    /// Use the limit of the first claim
    #[arg(long, conflicts_with = "limit")]
    pub no_limit: bool,
    /// Hand the lock over to a waiter of higher --priority than the holder
    #[arg(long)]
    pub preempt: bool,
    /// Do not preempt holders
    #[arg(long, conflicts_with = "preempt")]
    pub no_preempt: bool,
    /// With --preempt: the minimum wait of the preempting waiter: 0 to 24h [default: unchanged, or 10s]
    #[arg(long, value_name = "DURATION", value_parser = values::duration, requires = "preempt")]
    pub settling: Option<Duration>,
    /// With --preempt: the time for the holder to stop its work: 100ms to 1h [default: unchanged, or 10s]
    #[arg(long, value_name = "DURATION", value_parser = values::duration, requires = "preempt")]
    pub drain: Option<Duration>,
    #[command(flatten)]
    pub by: OperatorArgs,
}

impl SetArgs {
    /// Whether the command only shows the current settings.
    pub fn only_show(&self) -> bool {
        self.limit.is_none() && !self.no_limit && !self.preempt && !self.no_preempt
    }
}
