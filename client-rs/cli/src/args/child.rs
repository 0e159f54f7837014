//! The arguments of the commands that run another command.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{Global, HealthArgs, ModeArgs, values};

const LOCK_EXAMPLES: &str = "\
Examples:
  # Wait for ever, then run
  tenure lock db-migration -- ./migrate.sh
  # From cron: run now or leave it, and keep the lock for a minute at least
  tenure lock -n --min-hold 1m nightly -- ./report.sh
  # Wait for 30 s, then exit with 75
  tenure lock -w 30s -E 75 nightly -- ./report.sh
  # A shell that holds the lock
  tenure lock deploy -- bash";

const LOCK_MORE: &str = "\
More examples:
  # Several locks: all of them or none, and no deadlock
  tenure lock account/7 account/9 -- ./transfer.sh
  # Beside other readers, never beside a writer
  tenure lock --shared catalogue -- ./read.sh
  # At most 5 at a time, on all hosts together
  tenure lock --limit 5 db-jobs -- ./load.sh
  # Should this container be killed, the next takes over in 350 ms
  tenure lock --disconnect-grace 300ms feed -- ./feed
  # Keep it only while work goes on: it touches a file once a minute
  tenure lock --health-cmd 'find heartbeat -mmin -1 | grep .' feed -- ./feed

CMD finds TENURE_FENCING_TOKEN, TENURE_LOCK and TENURE_SESSION_ID in its environment. Send the token along with each \
write, so that the resource can turn away a holder that has lost its lock.

While it waits, a terminal shows who holds the lock, since when, and the place in the queue. Elsewhere one line says so, and \
one more when the holder changes. --quiet silences both.

If the lock can no longer be kept, CMD and all that it started get SIGTERM, and SIGKILL before anyone else can get the lock; \
tenure then exits with 75. This holds if tenure itself is frozen, too; if it is killed, CMD is killed and the lock is free. \
Other signals are passed on to CMD. An operator's eviction gives the lock away at once: CMD still has --kill-grace to end.

A lock is kept while CMD runs, also if it hangs, unless --health-cmd tells that it does: after --health-retries failures in a \
row the lock is not renewed any more. It is lost within the TTL, and CMD ends as above, unless a check succeeds before that. \
The check runs in `sh -c` every --health-interval, with the same variables as CMD and no input; one that hangs is killed, \
with its process group. From CMD's fault to the next holder it takes at most interval * retries + timeout + TTL, if the \
timeout is no longer than the interval.

When an operator asks for a handoff (`tenure transfer`), or a better one who waits does, CMD runs on; if it ends in time, the \
lock is handed over without a gap. With --on-transfer stop, CMD and all that it started get SIGTERM at once, and SIGKILL if \
they are not gone when the time is over; the lock is handed over and tenure exits with 75.

What CMD leaves behind in the background when it exits keeps running, without the lock. A CMD that changes its user cannot be \
stopped from outside: write `sudo tenure lock`, not `tenure lock … sudo`.

It exits with the code of CMD, or as `tenure help exit-codes` says.";

const ELECT_EXAMPLES: &str = "\
Examples:
  # On every host: one leads, the rest stand by
  tenure elect service_leader -- ./serve
  # Others learn the leader's address from `tenure get service_leader`
  tenure elect service_leader --metadata addr=$HOST:80 -- ./serve
  # Lead once; exit with 75 if the lead was lost
  tenure elect --once batch -- ./run-batch
  # Lead only while the service answers; if it hangs, another host leads
  tenure elect --health-cmd 'curl -fsS localhost/health' web -- ./serve";

const ELECT_MORE: &str = "\
More examples:
  # Should the leader's container be killed, another leads in 350 ms
  tenure elect --disconnect-grace 300ms service_leader -- ./serve

When the lead is lost, CMD is stopped before another can lead, and tenure campaigns again (--once: it exits with 75). When \
CMD exits by itself, the lead is given back and tenure exits with its code. A CMD that hangs keeps the lead unless \
--health-cmd tells; `tenure help lock` explains it.

When an operator asks for a handoff (`tenure transfer`), or a better candidate does (`tenure set NAME --preempt`, \
--priority), CMD gets SIGTERM, and SIGKILL if it is not gone when the time is over. The other leads as soon as it is gone, \
and tenure campaigns again (--once: it exits with 75). With --on-transfer ignore, CMD runs on and keeps the lead.

CMD finds the same variables in its environment as with `tenure lock`; the token rises with each lead.";

/// `tenure lock`.
#[derive(Debug, Args)]
#[command(after_help = LOCK_EXAMPLES, after_long_help = format!("{LOCK_EXAMPLES}\n\n{LOCK_MORE}"))]
pub struct LockArgs {
    /// The locks, 1 to 16: all of them or none
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Do not wait: exit with --conflict-exit-code if another session holds the lock
    #[arg(short = 'n', long, visible_alias = "nonblock", conflicts_with = "wait")]
    pub no_wait: bool,
    /// Wait no longer than this, then exit with --conflict-exit-code [default: for ever]
    #[arg(short = 'w', long, visible_alias = "timeout-wait", value_name = "DURATION", value_parser = values::duration)]
    pub wait: Option<Duration>,
    /// The exit code if the lock was not acquired
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = crate::exit::CONFLICT)]
    pub conflict_exit_code: u8,
    /// Higher goes first among waiters: -1000 to 1000
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i32,
    /// With whom to share it.
    #[command(flatten)]
    pub mode: ModeArgs,
    /// What happens to CMD when the lock is to be handed over to another who waits
    #[arg(long, value_enum, default_value_t = OnTransfer::Ignore)]
    pub on_transfer: OnTransfer,
    /// Keep the lock from others for this long after the grant, even if CMD ends earlier
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "0")]
    pub min_hold: Duration,
    /// The session's id, which no two programs use at once: waits until the session of another program has ended [default: a fresh
    /// one]
    #[arg(long, value_name = "ID")]
    pub session_id: Option<String>,
    /// What both commands that run another one share.
    #[command(flatten)]
    pub run: RunArgs,
}

/// `tenure elect`.
#[derive(Debug, Args)]
#[command(after_help = ELECT_EXAMPLES, after_long_help = format!("{ELECT_EXAMPLES}\n\n{ELECT_MORE}"))]
pub struct ElectArgs {
    /// The election: a lock that the leader holds
    pub name: String,
    /// Exit with 75 when the lead is lost, instead of campaigning again
    #[arg(long)]
    pub once: bool,
    /// Higher goes first among candidates: -1000 to 1000
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i32,
    /// What happens to CMD when the lead is to be handed over to another candidate
    #[arg(long, value_enum, default_value_t = OnTransfer::Stop)]
    pub on_transfer: OnTransfer,
    /// What both commands that run another one share.
    #[command(flatten)]
    pub run: RunArgs,
}

/// What becomes of CMD when the server asks to hand over what it runs under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnTransfer {
    /// It is stopped, and the other gets the lock
    Stop,
    /// It runs on; the other gets the lock only if it ends in time by itself
    Ignore,
}

/// What `lock` and `elect` share.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// How long the hold outlives this process and its network. Renewed at a third of it
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "10s")]
    pub ttl: Duration,
    /// How long the hold outlives the connection of this process: 100ms to the TTL. If it is shorter than a failover takes
    /// (or the start of a server, if there is only one), that costs the hold [default: none, the TTL alone counts]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub disconnect_grace: Option<Duration>,
    /// The time between SIGTERM and SIGKILL when the hold is lost. At most a third of the TTL (or disconnect grace): the
    /// longer, the less time is left for a failover [default: an eighth of it, at most 5s]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub kill_grace: Option<Duration>,
    /// Who this is, for people [default: the host's name]
    #[arg(long)]
    pub owner: Option<String>,
    /// What to attach to the claim, for others to read; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::key_value)]
    pub metadata: Vec<(String, String)>,
    /// Say nothing while waiting
    #[arg(short, long)]
    pub quiet: bool,
    /// The command to run, and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
    /// When CMD counts as healthy. Last, for its heading is that of all that follows.
    #[command(flatten)]
    pub health: HealthArgs,
}

/// The helper processes that `tenure` starts from its own executable.
#[derive(Debug, Parser)]
#[command(name = "tenure")]
pub struct HelperCli {
    /// The options of the connection.
    #[command(flatten)]
    pub global: Global,
    /// The helper.
    #[command(subcommand)]
    pub helper: Helper,
}

/// One of the helpers.
#[derive(Debug, Subcommand)]
pub enum Helper {
    /// Executes CMD, which dies with its parent.
    #[command(name = "__exec")]
    Exec(ExecArgs),
    /// Ends CMD when its hold ends and `tenure` cannot.
    #[command(name = "__guard")]
    Guard(GuardArgs),
}

impl HelperCli {
    /// Whether the command line names one of the helpers.
    pub fn is_requested() -> bool {
        std::env::args_os().nth(1).is_some_and(|first| first == "__exec" || first == "__guard")
    }
}

/// `tenure __exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// The process to die with.
    #[arg(long)]
    pub parent: i32,
    /// The command.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// `tenure __guard`.
#[derive(Debug, Args)]
pub struct GuardArgs {
    /// The process group of CMD.
    #[arg(long)]
    pub group: i32,
    /// The value of `TENURE_RUN` in the environment of CMD and its descendants.
    #[arg(long)]
    pub run: String,
    /// The lock, for messages.
    #[arg(long)]
    pub lock: String,
    /// The session to close if `tenure` was killed, once CMD is dead.
    #[arg(long)]
    pub session: Option<String>,
    /// How long before the end of the validity SIGTERM is due, in nanoseconds.
    #[arg(long)]
    pub term_before: u64,
    /// How long before the end of the validity SIGKILL is due, in nanoseconds.
    #[arg(long)]
    pub kill_before: u64,
}
