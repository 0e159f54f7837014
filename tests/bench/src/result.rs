//! The results of a work: a record for each measurement, and what they come to over the rounds.

use serde::{Deserialize, Serialize};

use crate::measure::Figures;

/// One measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// What was done.
    pub work: String,
    /// With what.
    pub target: String,
    /// At which of the work's levels: mostly, by how many clients at once.
    pub level: usize,
    /// In which round, from 1 on.
    pub round: u32,
    /// What came of it.
    #[serde(flatten)]
    pub figures: Figures,
}

/// What came of a work.
#[derive(Debug, Default)]
pub struct Done {
    /// In the order in which they were measured.
    pub records: Vec<Record>,
    /// What could not be measured, and why.
    pub failures: Vec<String>,
}

/// One number over several rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The one in the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// Of these numbers. None if there are none.
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

/// All that was measured in one round of a work, so that what is compared was measured side by side.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    records: &'a [Record],
    number: u32,
}

impl<'a> Round<'a> {
    /// Of these records.
    pub fn new(records: &'a [Record], number: u32) -> Self {
        Self { records, number }
    }

    /// What came of a target at a level.
    pub fn figures(&self, target: &str, level: usize) -> Option<&'a Figures> {
        let mut records = self.records.iter();
        let record = records.find(|one| one.round == self.number && one.target == target && one.level == level)?;
        Some(&record.figures)
    }

    /// Its turns a second.
    pub fn rate(&self, target: &str, level: usize) -> Option<f64> {
        self.figures(target, level)?.rate
    }

    /// Half of its turns took at most this, in milliseconds.
    pub fn p50(&self, target: &str, level: usize) -> Option<f64> {
        Some(self.figures(target, level)?.latency?.p50)
    }

    /// 99 of 100 of its turns took at most this, in milliseconds.
    pub fn p99(&self, target: &str, level: usize) -> Option<f64> {
        Some(self.figures(target, level)?.latency?.p99)
    }

    /// What else the work tells under this name.
    pub fn extra(&self, target: &str, level: usize, name: &str) -> Option<f64> {
        self.figures(target, level)?.extra.get(name).copied()
    }
}

/// The rounds of records, in order.
pub fn rounds(records: &[Record]) -> impl Iterator<Item = Round<'_>> {
    let last = records.iter().map(|record| record.round).max().unwrap_or_default();
    (1..=last).map(|number| Round::new(records, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_median() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, least: 1.0, most: 3.0 }));
        assert_eq!(Spread::of([4.0, 1.0]), Some(Spread { median: 2.5, least: 1.0, most: 4.0 }));
        assert_eq!(Spread::of([]), None);
    }
}
