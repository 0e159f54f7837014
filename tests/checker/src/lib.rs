//! Decides from a recorded history whether Tenure kept its promises: what clients asked for and were told, by one clock,
//! against what was committed. It is the same for simulated and for real servers.
//!
//! Each rule is a function that reads the whole and tells what it found. What is not known (an outcome, or when something
//! was committed) counts for the servers.

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

/// Clocks are read with this precision.
const PRECISION: Duration = Duration::from_millis(3);

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What should have been true.
    pub rule: Cow<'static, str>,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.rule, self.seen)
    }
}

/// Checks a history, at whose end all is over, against what happened in the database.
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
