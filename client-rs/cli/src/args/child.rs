//! The arguments of the commands that run another command.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{Global, ModeArgs, values};

const LOCK_EXAMPLES: &str = "\
Examples:
  # Wait without limit, then run
  tenure lock db-migration -- ./migrate.sh
  # From cron: run now or not at all, and hold the lock for at least a minute
  tenure lock -n --min-hold 1m nightly -- ./report.sh
  # Wait for 30 s, then exit with 75
  tenure lock -w 30s -E 75 nightly -- ./report.sh
  # Hold the lock in a shell
  tenure lock deploy -- bash";

const LOCK_MORE: &str = "\
More examples:
  # Several locks: all or none, without deadlocks
  tenure lock account/7 account/9 -- ./transfer.sh
  # Together with other readers, never with a writer
  tenure lock --shared catalogue -- ./read.sh
  # At most 5 at a time across all hosts
  tenure lock --limit 5 db-jobs -- ./load.sh
  # If this container is killed, the next one takes over in 350 ms
  tenure lock --disconnect-grace 300ms feed -- ./feed
  # Hold it only while work progresses: it touches a file once a minute
  tenure lock --health-cmd 'find heartbeat -mmin -1 | grep .' feed -- ./feed

CMD finds TENURE_FENCING_TOKEN, TENURE_LOCK and TENURE_SESSION_ID in its environment. Send the token with each \
write, so that the resource can reject a former holder.

During the wait, a terminal shows the holder, the start of its hold, and the position in the queue. A log gets one \
line at the beginning, and one when the holder changes. --quiet suppresses both.

If the lock can no longer be renewed, CMD and its descendants receive SIGTERM, and SIGKILL before another session \
can acquire the lock; tenure then exits with 75. This also holds if tenure itself is frozen; if it is killed, CMD is \
killed and the lock is released. Other signals are passed on to CMD. An operator's eviction frees the lock at once: \
CMD then has --kill-grace to end.

The lock is renewed while CMD runs, even if it hangs, unless --health-cmd detects that: after --health-retries \
consecutive failures the lock is not renewed. It is lost within the TTL, and CMD ends as above, unless a check \
succeeds before that. The check runs in `sh -c` every --health-interval, with the same variables as CMD and no \
input; one that hangs is killed, with its process group. From a fault of CMD to the next holder it takes at most \
interval * retries + timeout + TTL, if the timeout does not exceed the interval.

When an operator requests a handoff (`tenure transfer`), or a waiter of higher priority does, CMD continues; if it \
ends in time, the lock is handed over without a gap. With --on-transfer stop, CMD and its descendants receive \
SIGTERM at once, and SIGKILL at the deadline of the handoff; the lock is handed over and tenure exits with 75.

Background processes that CMD leaves when it exits keep running, without the lock. A CMD that changes its user \
cannot be signalled from outside: write `sudo tenure lock`, not `tenure lock … sudo`.

The exit code is that of CMD, or one of `tenure help exit-codes`.";

const ELECT_EXAMPLES: &str = "\
Examples:
  # On every host: one leads, the others stand by
  tenure elect service_leader -- ./serve
  # Publish the leader's address in `tenure get service_leader`
  tenure elect service_leader --metadata addr=$HOST:80 -- ./serve
  # Lead once; exit with 75 if the lead is lost
  tenure elect --once batch -- ./run-batch
  # Lead only while the service replies; if it hangs, another host leads
  tenure elect --health-cmd 'curl -fsS localhost/health' web -- ./serve";

const ELECT_MORE: &str = "\
More examples:
  # If the leader's container is killed, another one leads in 350 ms
  tenure elect --disconnect-grace 300ms service_leader -- ./serve

When the lead is lost, CMD is stopped before another candidate can lead, and tenure campaigns again (--once: it \
exits with 75). When CMD exits by itself, the lead is released and tenure exits with its code. A CMD that hangs \
keeps the lead unless --health-cmd detects that: see `tenure help lock`.

When an operator requests a handoff (`tenure transfer`), or a candidate of higher priority does (`tenure set NAME \
--preempt`, --priority), CMD receives SIGTERM, and SIGKILL at the deadline of the handoff. The other candidate leads \
as soon as CMD has ended, and tenure campaigns again (--once: it exits with 75). With --on-transfer ignore, CMD \
continues and keeps the lead.

CMD finds the same variables in its environment as with `tenure lock`; the token increases with each lead.";

#[derive(Debug, Args)]
#[command(after_help = LOCK_EXAMPLES, after_long_help = format!("{LOCK_EXAMPLES}\n\n{LOCK_MORE}"))]
pub struct LockArgs {
    /// The locks, 1 to 16: all or none
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Do not wait: exit with --conflict-exit-code if another session holds the lock
    #[arg(short = 'n', long, visible_alias = "nonblock", conflicts_with = "wait")]
    pub no_wait: bool,
    /// Wait at most this long, then exit with --conflict-exit-code [default: without limit]
    #[arg(short = 'w', long, visible_alias = "timeout-wait", value_name = "DURATION", value_parser = values::duration)]
    pub wait: Option<Duration>,
    /// The exit code if the lock was not acquired
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = crate::exit::CONFLICT)]
    pub conflict_exit_code: u8,
    /// The priority among waiters, highest first: -1000 to 1000
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i32,
    #[command(flatten)]
    pub mode: ModeArgs,
    /// The effect on CMD of a request to hand the lock over to a waiter
    #[arg(long, value_enum, default_value_t = OnTransfer::Ignore)]
    pub on_transfer: OnTransfer,
    /// Keep the lock for this long after the grant, even if CMD ends earlier
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "0")]
    pub min_hold: Duration,
    /// The session's id; while another program uses it, wait until its session has ended [default: a new id]
    #[arg(long, value_name = "ID")]
    pub session_id: Option<String>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, Args)]
#[command(after_help = ELECT_EXAMPLES, after_long_help = format!("{ELECT_EXAMPLES}\n\n{ELECT_MORE}"))]
pub struct ElectArgs {
    /// The election: a lock that the leader holds
    pub name: String,
    /// Exit with 75 when the lead is lost, instead of campaigning again
    #[arg(long)]
    pub once: bool,
    /// The priority among candidates, highest first: -1000 to 1000
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i32,
    /// The effect on CMD of a request to hand the lead over to another candidate
    #[arg(long, value_enum, default_value_t = OnTransfer::Stop)]
    pub on_transfer: OnTransfer,
    #[command(flatten)]
    pub run: RunArgs,
}

/// The effect on CMD of a request to hand over its hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnTransfer {
    /// Stop CMD, and hand over
    Stop,
    /// Let CMD continue; hand over only if it ends in time by itself
    Ignore,
}

/// The options shared by `lock` and `elect`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// How long the hold outlives this process or its network; it is renewed at a third of this
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "10s")]
    pub ttl: Duration,
    /// How long the hold outlives the connection of this process: 100ms to the TTL. A failover, or the restart of a
    /// single server, that takes longer ends the hold [default: none, only the TTL applies]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub disconnect_grace: Option<Duration>,
    /// The time between SIGTERM and SIGKILL when the hold is lost, at most a third of the TTL (or disconnect grace); a
    /// longer one leaves less time for a failover [default: an eighth of it, at most 5s]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub kill_grace: Option<Duration>,
    /// A label of the holder, for people [default: the host's name]
    #[arg(long)]
    pub owner: Option<String>,
    /// Metadata of the claim, which others can read; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::key_value)]
    pub metadata: Vec<(String, String)>,
    /// Print nothing while waiting
    #[arg(short, long)]
    pub quiet: bool,
    /// The command to run, and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
    // Last, because its heading applies to all arguments that follow.
    #[command(flatten)]
    pub health: HealthArgs,
}

/// The options of the health check, which stops renewals while CMD is unhealthy; named as in Docker's HEALTHCHECK.
#[derive(Debug, Args)]
#[command(next_help_heading = "Health")]
pub struct HealthArgs {
    /// Renew the hold only while this shell command succeeds; it runs periodically beside CMD
    #[arg(long, value_name = "CHECK", value_parser = values::shell_command)]
    pub health_cmd: Option<String>,
    /// The time between the starts of two checks, and from CMD's start to the first: 50ms to 24h
    #[arg(long, value_name = "DURATION", value_parser = values::check_duration, default_value = "5s",
          requires = "health_cmd")]
    pub health_interval: Duration,
    /// The maximum duration of a check; a longer one is killed and counts as failed: 50ms to 24h
    #[arg(long, value_name = "DURATION", value_parser = values::check_duration, default_value = "5s",
          requires = "health_cmd")]
    pub health_timeout: Duration,
    /// The number of consecutive failures after which the hold is not renewed until a check succeeds: 1 or more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 3,
          requires = "health_cmd")]
    pub health_retries: u32,
    /// The time after CMD's start in which failures do not count, unless a check has succeeded before: at most 24h
    #[arg(long, value_name = "DURATION", value_parser = values::check_delay, default_value = "0",
          requires = "health_cmd")]
    pub health_start_period: Duration,
}

/// The helper processes that `tenure` starts from its own executable.
#[derive(Debug, Parser)]
#[command(name = "tenure")]
pub struct HelperCli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub helper: Helper,
}

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
