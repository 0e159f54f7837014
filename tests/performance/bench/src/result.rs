//! The results of a work: one record per measurement, and statistics over the rounds.

use serde::{Deserialize, Serialize};

use crate::measure::Figures;

/// One measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The work.
    pub work: String,
    /// The target.
    pub target: String,
    /// The work's level: in most works, the number of concurrent clients.
    pub level: usize,
    /// The round, from 1.
    pub round: u32,
    /// The results.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The results of a work.
#[derive(Debug, Default)]
pub struct Done {
    /// The records, in the order of measurement.
    pub records: Vec<Record>,
    /// Failed measurements, with reasons.
    pub failures: Vec<String>,
}

/// Statistics of one number over several rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The minimum.
    pub least: f64,
    /// The maximum.
    pub most: f64,
}

impl Spread {
    /// Summarizes these numbers. None if there are none.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut numbers: Vec<f64> = numbers.into_iter().collect();
        numbers.sort_by(f64::total_cmp);
        let (least, most) = (*numbers.first()?, *numbers.last()?);
        let middle = numbers.len() / 2;
        let median =
            if numbers.len() % 2 == 1 { numbers[middle] } else { (numbers[middle - 1] + numbers[middle]) / 2.0 };
        Some(Self { median, least, most })
    }
}

/// The records of one round of a work. Comparisons use one round only, so that both sides were measured under the same
/// conditions.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    records: &'a [Record],
    number: u32,
}

impl<'a> Round<'a> {
    /// Selects the records of a round.
    pub fn new(records: &'a [Record], number: u32) -> Self {
        Self { records, number }
    }

    /// The results of a target at a level.
    pub fn figures(&self, target: &str, level: usize) -> Option<&'a Figures> {
        let mut records = self.records.iter();
        let record = records.find(|one| one.round == self.number && one.target == target && one.level == level)?;
        Some(&record.figures)
    }

    /// Its turns per second.
    pub fn rate(&self, target: &str, level: usize) -> Option<f64> {
        self.figures(target, level)?.rate
    }

    /// Its median latency, in milliseconds.
    pub fn p50(&self, target: &str, level: usize) -> Option<f64> {
        Some(self.figures(target, level)?.latency?.p50)
    }

    /// The 99th percentile of its latency, in milliseconds.
    pub fn p99(&self, target: &str, level: usize) -> Option<f64> {
        Some(self.figures(target, level)?.latency?.p99)
    }

    /// A further figure, by name.
    pub fn extra(&self, target: &str, level: usize, name: &str) -> Option<f64> {
        self.figures(target, level)?.extra.get(name).copied()
    }
}

/// The rounds in these records, in order.
pub fn rounds(records: &[Record]) -> impl Iterator<Item = Round<'_>> {
    let last = records.iter().map(|record| record.round).max().unwrap_or_default();
    (1..=last).map(|number| Round::new(records, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_has_the_median() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, least: 1.0, most: 3.0 }));
        assert_eq!(Spread::of([4.0, 1.0]), Some(Spread { median: 2.5, least: 1.0, most: 4.0 }));
        assert_eq!(Spread::of([]), None);
    }
}
