//! Samples the resource usage of servers, and checks that it does not grow.

use serde::Serialize;
use tenure_harness::Tenured;

use crate::process::Usage;

/// A sample of the servers' resource usage.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Seconds since the start of the run.
    pub at: f64,
    /// The usage of each server.
    pub servers: Vec<Usage>,
}

impl Sample {
    /// Takes a sample.
    ///
    /// # Errors
    /// If a server is no longer running.
    pub fn take(at: f64, servers: &[Tenured]) -> anyhow::Result<Self> {
        let servers = servers.iter().map(|server| Usage::of(server.process_id().unwrap_or_default()));
        Ok(Self { at, servers: servers.collect::<anyhow::Result<_>>()? })
    }
}

/// A resource whose usage must not grow.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Its name.
    pub name: &'static str,
    /// Reads it.
    pub read: fn(&Usage) -> f64,
    /// The relative increase from the second to the last quarter that is allowed, in addition to `much`.
    pub part: f64,
    /// The absolute increase that is allowed, in addition to `part`.
    pub much: f64,
}

/// All measures.
pub const MEASURES: [Measure; 3] = [
    Measure { name: "memory in MB", read: |usage| usage.memory, part: 0.10, much: 16.0 },
    Measure { name: "descriptors", read: |usage| usage.descriptors as f64, part: 0.0, much: 8.0 },
    Measure { name: "threads", read: |usage| usage.threads as f64, part: 0.0, much: 4.0 },
];

/// The usage over time: the medians of the second and of the last quarter of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// The median of the second quarter, when all programs are running.
    pub second: f64,
    /// The median of the last quarter.
    pub last: f64,
}

impl Trend {
    /// Computes the trend of a measure of one server.
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
        let usage = |number| Usage { memory: memory(number), ..Usage::default() };
        (0..40).map(|number| Sample { at: number as f64, servers: vec![usage(number)] }).collect()
    }

    #[test]
    fn steady_growth_is_detected() {
        let trend = Trend::of(&MEASURES[0], 0, &samples(|number| 50.0 + number as f64 * 2.0));
        assert_eq!(trend, Trend { second: 80.0, last: 120.0 });
        assert!(!trend.is_flat(&MEASURES[0]));
    }

    #[test]
    fn growth_at_the_start_is_ignored() {
        let trend = Trend::of(&MEASURES[0], 0, &samples(|number| if number < 10 { 30.0 } else { 70.0 }));
        assert!(trend.is_flat(&MEASURES[0]), "{trend:?}");
    }
}
