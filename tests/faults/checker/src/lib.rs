//! Checks a recorded history against the promises of Tenure. The history holds client operations and their replies,
//! timed by one clock, and is compared with what was committed. The checker is the same for simulated and for real
//! servers.
//!
//! Each rule is a function that reads the whole history and reports violations. Unknown facts (an outcome, or the time
//! of a commit) are resolved in favour of the servers.

mod committed;
mod diary;
mod groups;
mod history;
mod holders;
mod past;
mod plain;
mod tokens;
mod validity;
mod watches;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

pub use diary::Diary;
pub use history::{Call, CallKind, Entry, History, Outcome, Renewal, Sharing, Sighting, Task, Telling};
pub use past::{Commit, Loss, Moment, Past, open_sessions};

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
    let mut found = Found::default();
    tokens::rise(history, &mut found);
    committed::grants(history, past, &mut found);
    committed::releases(history, past, &mut found);
    committed::refusals(history, past, &mut found);
    committed::busy(history, past, &mut found);
    plain::leave_nothing(history, past, &mut found);
    holders::agree(past, &mut found);
    holders::are_served_in_order(past, &mut found);
    validity::is_of_one(history, past, &mut found);
    validity::ends_in_time(history, past, &mut found);
    validity::outlives_renewals(history, past, &mut found);
    groups::are_led_by_the_first(past, &mut found);
    groups::are_told_what_was_assigned(history, past, &mut found);
    watches::tell_all(history, past, &mut found);
    watches::begin_with_what_is(history, past, &mut found);
    found.0
}

#[derive(Default)]
struct Found(Vec<Violation>);

impl Found {
    fn add(&mut self, rule: &'static str, seen: String) {
        self.0.push(Violation { rule: rule.into(), seen });
    }
}
