//! The arguments of `acquire`, and those that select the mode of a claim: exclusive, shared, or permits.

use std::time::Duration;

use clap::Args;
use tenure_proto::v1::{AcquireRequest, Mode};

use super::values;

/// The maximum number of permits of a lock.
const MOST_PERMITS: i64 = 1_000_000;

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

/// The mode of a claim: exclusive unless one of these is given.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Args)]
pub struct ModeArgs {
    /// Share the lock with other shared claims: readers, as opposed to a writer
    #[arg(long, conflicts_with_all = ["permits", "limit"])]
    pub shared: bool,
    /// Acquire N permits of each lock, out of its limit: 1 to 1000000 [default with --limit: 1]
    #[arg(long, value_name = "N", value_parser = limit())]
    pub permits: Option<u32>,
    /// The number of permits; rejected if the lock has another limit [default with --permits: the lock's own]
    #[arg(long, value_name = "N", value_parser = limit())]
    pub limit: Option<u32>,
}

/// The parser for a limit of permits.
pub fn limit() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=MOST_PERMITS)
}

impl ModeArgs {
    /// The mode as the fields of an `AcquireRequest`.
    pub fn of_request(self) -> AcquireRequest {
        let mode = match self {
            Self { shared: true, .. } => Mode::Shared,
            Self { permits: None, limit: None, .. } => Mode::Exclusive,
            Self { .. } => Mode::Permits,
        };
        AcquireRequest {
            mode: mode.into(),
            permits: self.permits.unwrap_or_default(),
            limit: self.limit.unwrap_or_default(),
            ..AcquireRequest::default()
        }
    }

    /// Sets this mode on a request of the client library.
    pub fn of(self, mut request: tenure_client::LockRequest) -> tenure_client::LockRequest {
        if self.shared {
            request = request.shared();
        }
        if let Some(permits) = self.permits {
            request = request.permits(permits);
        }
        if let Some(limit) = self.limit {
            request = request.limit(limit);
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_follow_from_their_number_or_their_limit() {
        let asked = |shared, permits, limit| {
            let request = ModeArgs { shared, permits, limit }.of_request();
            (request.mode(), request.permits, request.limit)
        };
        assert_eq!(asked(false, None, None), (Mode::Exclusive, 0, 0));
        assert_eq!(asked(true, None, None), (Mode::Shared, 0, 0));
        assert_eq!(asked(false, Some(2), None), (Mode::Permits, 2, 0));
        assert_eq!(asked(false, None, Some(5)), (Mode::Permits, 0, 5));
    }
}
