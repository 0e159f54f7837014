//! What servers take, from time to time, and whether it grows.

use serde::Serialize;
use tenure_harness::Tenured;

use crate::process::Taken;

/// What the servers took at a time.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Seconds after the beginning.
    pub at: f64,
    /// Each of them.
    pub servers: Vec<Taken>,
}

impl Sample {
    /// Takes one.
    ///
    /// # Errors
    /// If a server does not run any more.
    pub fn take(at: f64, servers: &[Tenured]) -> anyhow::Result<Self> {
        let servers = servers.iter().map(|server| Taken::by(server.process_id().unwrap_or_default()));
        Ok(Self { at, servers: servers.collect::<anyhow::Result<_>>()? })
    }
}

/// Something that must not grow.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// What it is called.
    pub name: &'static str,
    /// How to read it.
    pub read: fn(&Taken) -> f64,
    /// By how much the last quarter may be above the second one: this part of it, and this much.
    pub part: f64,
    /// See above.
    pub much: f64,
}

/// All of them.
pub const MEASURES: [Measure; 3] = [
    Measure { name: "memory in MB", read: |taken| taken.memory, part: 0.10, much: 16.0 },
    Measure { name: "descriptors", read: |taken| taken.descriptors as f64, part: 0.0, much: 8.0 },
    Measure { name: "threads", read: |taken| taken.threads as f64, part: 0.0, much: 4.0 },
];

/// How much of something there was: the median of the second quarter of the time, and of the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Course {
    /// In the second quarter, when all has begun.
    pub second: f64,
    /// In the last one.
    pub last: f64,
}

impl Course {
    /// That of a measure of one server.
    pub fn of(measure: &Measure, server: usize, samples: &[Sample]) -> Self {
        let quarter = samples.len() / 4;
        let values =
            |part: &[Sample]| part.iter().map(|sample| (measure.read)(&sample.servers[server])).collect::<Vec<_>>();
        let median = |part: &[Sample]| {
            let mut values = values(part);
            values.sort_unstable_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        Self { second: median(&samples[quarter..quarter * 2]), last: median(&samples[quarter * 3..]) }
    }

    /// Whether it has not grown by more than may be.
    pub fn is_flat(self, measure: &Measure) -> bool {
        self.last <= self.second * (1.0 + measure.part) + measure.much
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: impl Fn(usize) -> f64) -> Vec<Sample> {
        let taken = |number| Taken { memory: memory(number), ..Taken::default() };
        (0..40).map(|number| Sample { at: number as f64, servers: vec![taken(number)] }).collect()
    }

    #[test]
    fn what_grows_all_the_time_is_seen() {
        let course = Course::of(&MEASURES[0], 0, &samples(|number| 50.0 + number as f64 * 2.0));
        assert_eq!(course, Course { second: 80.0, last: 120.0 });
        assert!(!course.is_flat(&MEASURES[0]));
    }

    #[test]
    fn what_grows_in_the_beginning_is_flat() {
        let course = Course::of(&MEASURES[0], 0, &samples(|number| if number < 10 { 30.0 } else { 70.0 }));
        assert!(course.is_flat(&MEASURES[0]), "{course:?}");
    }
}
