//! The arguments of the commands that read and change locks and sessions.

use std::time::Duration;

use clap::Args;

use super::{ModeArgs, values};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure watch                          # everything
  tenure watch service_leader --prefix jobs/
  tenure watch -o json | jq -c '.events.events[]?'
  tenure watch --after-revision 4711    # resume after the last seen revision

If a server becomes unavailable, the watch resumes at another one, without gaps or duplicates.")]
pub struct WatchArgs {
    /// The locks to watch [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Watch all locks whose names start with this prefix; may be repeated
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Vec<String>,
    /// Resume after this revision, instead of starting with the current state
    #[arg(long, value_name = "REVISION", default_value_t = 0)]
    pub after_revision: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure top
  tenure top --interval 5 --rows 40
  tenure top --once -o json | jq .servers

Only a session's home server knows its renewals: pass all servers in --endpoints to see all of them.")]
pub struct TopArgs {
    /// The refresh interval: 2, 500ms (at least 100ms)
    #[arg(long, value_parser = values::duration, default_value = "1s", value_name = "DURATION")]
    pub interval: Duration,
    /// The maximum number of rows of each table
    #[arg(long, default_value_t = 15)]
    pub rows: usize,
    /// Print the state once and exit, as in a pipe
    #[arg(long)]
    pub once: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  # The steps of a job that several hosts start at the same time
  tenure acquire nightly --session $(hostname) --ttl 1m --min-hold 30s || exit 0
  # Repeated for the same session: extends the hold
  tenure acquire nightly --session $(hostname) --ttl 1m
  tenure release nightly --session $(hostname) --token 42

The session ends, and the hold with it, when its TTL has passed without `acquire --ttl` or `renew`. Exits with 1 if \
another session holds the lock, and prints the holder.")]
pub struct AcquireArgs {
    /// The locks, 1 to 16: all or none
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// The session that acquires [default: a new one, which needs --ttl]
    #[arg(long = "session", visible_alias = "session-id", value_name = "ID", required_unless_present = "ttl")]
    pub session: Option<String>,
    /// Open the session with this TTL, or renew it if it is open
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub ttl: Option<Duration>,
    /// The maximum wait for the lock
    #[arg(short = 'w', long, value_name = "DURATION", value_parser = values::duration, default_value = "0")]
    pub wait: Duration,
    #[command(flatten)]
    pub mode: ModeArgs,
    /// Keep the lock for this long after the grant, even if it is released earlier
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "0")]
    pub min_hold: Duration,
    /// The priority among waiters, highest first: -1000 to 1000
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i32,
    /// A label of the session, for people, if this call opens it
    #[arg(long, default_value = "")]
    pub owner: String,
    /// Metadata of the claim; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = values::key_value)]
    pub metadata: Vec<(String, String)>,
    /// Print nothing while waiting
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure release nightly --session $(hostname) --token 42
  # With the token that `acquire` printed
  token=$(tenure acquire job --session me --ttl 1m -o json | jq -r .token)
  tenure release job --session me --token \"$token\"

Only the holder can release a hold; others use `tenure close` and `tenure evict`.")]
pub struct ReleaseArgs {
    /// The lock, or one of the names of the hold
    pub name: String,
    /// The session that holds it
    #[arg(long = "session", visible_alias = "session-id", value_name = "ID")]
    pub session: String,
    /// The fencing token of the hold
    #[arg(long)]
    pub token: u64,
}
