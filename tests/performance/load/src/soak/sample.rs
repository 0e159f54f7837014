//! Samples the resource usage of servers, and checks that it does not grow.

use serde::Serialize;
use tenure_harness::Tenured;

use crate::process::Taken;

/// A sample of the servers' resource usage.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Seconds since the start of the run.
    pub at: f64,
    /// The usage of each server.
    pub servers: Vec<Taken>,
}

impl Sample {
    /// Takes a sample.
    ///
    /// # Errors
    /// If a server is no longer running.
    pub fn take(at: f64, servers: &[Tenured]) -> anyhow::Result<Self> {
        let servers = servers.iter().map(|server| Taken::by(server.process_id().unwrap_or_default()));
        Ok(Self { at, servers: servers.collect::<anyhow::Result<_>>()? })
    }
}

/// A resource whose usage must not grow.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Its name.
    pub name: &'static str,
    /// Reads it.
    pub read: fn(&Taken) -> f64,
    /// The relative increase from the second to the last quarter that is allowed, in addition to `much`.
    pub part: f64,
    /// The absolute increase that is allowed, in addition to `part`.
    pub much: f64,
}

/// All measures.
pub const MEASURES: [Measure; 3] = [
    Measure { name: "memory in MB", read: |taken| taken.memory, part: 0.10, much: 16.0 },
    Measure { name: "descriptors", read: |taken| taken.descriptors as f64, part: 0.0, much: 8.0 },
    Measure { name: "threads", read: |taken| taken.threads as f64, part: 0.0, much: 4.0 },
];

/// The usage over time: the medians of the second and of the last quarter of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Course {
    /// The median of the second quarter, when all programs are running.
    pub second: f64,
    /// The median of the last quarter.
    pub last: f64,
}

impl Course {
    /// Computes the course of a measure of one server.
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

    /// Returns whether it has not grown by more than is allowed.
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
