//! Checks a recorded history against the promises of Tenure. The history holds client operations and their replies,
//! timed by one clock, and is compared with what was committed. The checker is the same for simulated and for real
//! servers.
//!
//! Each rule is a function that reads the whole history and reports violations. Unknown facts (an outcome, or the time
//! of a commit) are resolved in favour of the servers.

mod committed;
mod groups;
mod history;
mod holders;
mod past;
mod plain;
mod recorder;
#[cfg(test)]
mod testing;
mod tokens;
mod validity;
mod waits;
mod watches;
mod withdrawals;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

pub use history::{
    Call, CallKind, Entry, History, LeftSession, LostSession, Outcome, Renewal, Sharing, Task, ValidHold, ValidSession,
    Wait, WatchItem,
};
pub use past::{Commit, Loss, Moment, Past, open_sessions};
pub use recorder::Recorder;

/// Precision of clock readings.
const PRECISION: Duration = Duration::from_millis(3);

/// A violated rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Cow<'static, str>,
    /// The observation that violates it.
    pub seen: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.rule, self.seen)
    }
}

/// Checks a complete history, in which all sessions have ended, against the commits in the database.
#[must_use]
pub fn check(history: &History, past: &Past) -> Vec<Violation> {
    let mut found = Violations::default();
    tokens::rise(history, &mut found);
    committed::grants_precede_replies(history, past, &mut found);
    committed::ends_precede_replies(history, past, &mut found);
    committed::rejections_have_no_effect(history, past, &mut found);
    committed::abandoned_waits_end(history, past, &mut found);
    plain::unsuccessful_calls_leave_no_claim(history, past, &mut found);
    holders::are_compatible(past, &mut found);
    holders::are_served_in_order(past, &mut found);
    validity::is_exclusive(history, past, &mut found);
    validity::ends_with_the_hold(history, past, &mut found);
    validity::sessions_outlive_renewals(history, past, &mut found);
    validity::sessions_outlive_their_validity(history, past, &mut found);
    withdrawals::left_sessions_are_granted_nothing(history, past, &mut found);
    withdrawals::lost_sessions_end(history, past, &mut found);
    waits::last_as_long_as_their_calls(history, past, &mut found);
    groups::are_led_by_the_oldest_member(past, &mut found);
    groups::deliver_committed_assignments(history, past, &mut found);
    watches::deliver_every_event(history, past, &mut found);
    watches::snapshots_list_the_holders(history, past, &mut found);
    found.0
}

#[derive(Default)]
struct Violations(Vec<Violation>);

impl Violations {
    fn add(&mut self, rule: &'static str, seen: String) {
        self.0.push(Violation { rule: rule.into(), seen });
    }
}
