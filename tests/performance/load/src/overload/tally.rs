//! The outcomes of arrivals.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::flood::Unexpected;
use crate::latency::Latency;

/// The outcomes of arrivals.
#[derive(Debug, Default)]
pub struct Tally {
    /// The duration of the arrivals.
    pub time: Duration,
    /// The number of arrivals.
    pub offered: usize,
    /// The number of locks acquired and released before the arrivals ended.
    pub done: usize,
    /// How long the arrivals waited whose grant was in time.
    pub granted: Vec<Duration>,
    /// The number of late grants.
    pub late: usize,
    /// How long the arrivals waited that were rejected because of overload.
    pub shed: Vec<Duration>,
    /// The number that the client itself rejected because too many turns were under way.
    pub not_started: usize,
    /// The number that the connection did not accept in time.
    pub cancelled: usize,
    /// The unexpected replies.
    pub unexpected: Unexpected,
}

impl Tally {
    /// Adds the tally of another stream.
    pub fn add(&mut self, other: Self) {
        self.offered += other.offered;
        self.done += other.done;
        self.granted.extend(other.granted);
        self.late += other.late;
        self.shed.extend(other.shed);
        self.not_started += other.not_started;
        self.cancelled += other.cancelled;
        for (reply, count) in other.unexpected {
            *self.unexpected.entry(reply).or_default() += count;
        }
    }

    /// Locks acquired and released per second.
    pub fn rate(&self) -> f64 {
        self.done as f64 / self.time.as_secs_f64()
    }

    /// The tally as JSON.
    pub fn details(&self) -> Value {
        json!({
            "seconds": self.time.as_secs_f64(),
            "offered": self.offered,
            "done": self.done,
            "granted": Latency::of(self.granted.clone()),
            "late": self.late,
            "overloaded": Latency::of(self.shed.clone()),
            "not_started": self.not_started,
            "cancelled_unsent": self.cancelled,
            "unexpected": self.unexpected,
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} granted, {} OVERLOADED, {} granted too late, {} cancelled unsent, {} not started",
            self.granted.len(),
            self.shed.len(),
            self.late,
            self.cancelled,
            self.not_started
        )
    }
}
