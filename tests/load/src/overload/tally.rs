//! What became of those who came.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::flood::Unexpected;
use crate::latency::Latency;

/// What became of those who came.
#[derive(Debug, Default)]
pub struct Tally {
    /// For how long they came.
    pub time: Duration,
    /// How many came.
    pub offered: usize,
    /// How many had a lock and gave it back, while others still came.
    pub done: usize,
    /// How long those waited who got a lock in time.
    pub granted: Vec<Duration>,
    /// How many got it too late.
    pub late: usize,
    /// How long those waited who were told that there is too much to do.
    pub shed: Vec<Duration>,
    /// How many the client itself turned away, because too many were under way.
    pub not_started: usize,
    /// How many waited in vain for the connection to take what they asked for.
    pub given_up: usize,
    /// What else was answered.
    pub unexpected: Unexpected,
}

impl Tally {
    /// Adds those of another stream.
    pub fn add(&mut self, other: Self) {
        self.offered += other.offered;
        self.done += other.done;
        self.granted.extend(other.granted);
        self.late += other.late;
        self.shed.extend(other.shed);
        self.not_started += other.not_started;
        self.given_up += other.given_up;
        for (what, count) in other.unexpected {
            *self.unexpected.entry(what).or_default() += count;
        }
    }

    /// How many had a lock and gave it back, in a second.
    pub fn rate(&self) -> f64 {
        self.done as f64 / self.time.as_secs_f64()
    }

    /// For programs.
    pub fn details(&self) -> Value {
        json!({
            "seconds": self.time.as_secs_f64(),
            "offered": self.offered,
            "done": self.done,
            "granted": Latency::of(self.granted.clone()),
            "late": self.late,
            "overloaded": Latency::of(self.shed.clone()),
            "not_started": self.not_started,
            "given_up_unsent": self.given_up,
            "unexpected": self.unexpected,
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} granted, {} OVERLOADED, {} granted too late, {} given up unsent, {} not started",
            self.granted.len(),
            self.shed.len(),
            self.late,
            self.given_up,
            self.not_started
        )
    }
}
