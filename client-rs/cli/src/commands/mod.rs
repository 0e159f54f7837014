//! The commands, one function each: arguments in, exit code out.

mod change;
mod doctor;
mod elect;
mod group;
mod group_join;
mod history;
mod hold;
mod lock;
mod operate;
mod pages;
mod read;
mod top;
mod waiting;
mod watch;
mod why;

use std::time::Duration;

pub use change::{acquire, close, release, renew};
pub use doctor::doctor;
pub use elect::elect;
pub use group::group;
pub use history::history;
pub use lock::lock;
pub use operate::{blocked, evict, set, transfer};
pub use pages::{cheat, completions, exit_codes, fence_sql, formats, man};
pub use read::{get, ls, servers, sessions};
pub use top::top;
pub use watch::watch;
pub use why::why;

use crate::exit::{self, Failure};

/// Converts a duration of the command line to the API's.
fn proto_duration(duration: Duration) -> Result<prost_types::Duration, Failure> {
    prost_types::Duration::try_from(duration)
        .map_err(|_| Failure::new(exit::USAGE, format!("a duration of {} s is out of range", duration.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_no_message_can_carry_are_refused() {
        assert_eq!(proto_duration(Duration::MAX).unwrap_err().code, exit::USAGE);
    }
}
