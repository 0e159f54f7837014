//! Tables in Markdown.

use std::collections::BTreeSet;

use crate::measure::Figures;
use crate::result::{Record, Spread, rounds};
use crate::work::{Bound, Goal, Work};

/// All figures of a work: a table per kind of figure, with a row per target and a column per level.
pub fn of_work(work: &Work, records: &[Record]) -> String {
    let mut tables = Vec::new();
    for (title, cell) in kinds(records) {
        tables.push(format!("{title}\n\n{}", matrix(work, records, &cell)));
    }
    tables.join("\n")
}

type Cell = Box<dyn Fn(&[&Figures]) -> Option<String>>;

/// The kinds of figures in these records.
fn kinds(records: &[Record]) -> Vec<(String, Cell)> {
    let mut kinds: Vec<(String, Cell)> = Vec::new();
    if records.iter().any(|record| record.figures.rate.is_some()) {
        let cell: Cell = Box::new(|figures| median(figures, |of| of.rate).map(round));
        kinds.push(("Turns a second:".to_string(), cell));
    }
    if records.iter().any(|record| record.figures.latency.is_some()) {
        let cell: Cell = Box::new(|figures| {
            let p50 = median(figures, |of| Some(of.latency?.p50))?;
            let p99 = median(figures, |of| Some(of.latency?.p99))?;
            Some(format!("{} / {}", milliseconds(p50), milliseconds(p99)))
        });
        kinds.push(("Latency of a turn, p50 / p99 in ms:".to_string(), cell));
    }
    let names: BTreeSet<&String> = records.iter().flat_map(|record| record.figures.extra.keys()).collect();
    for name in names {
        let (title, name) = (format!("{}:", name.replace('_', " ")), name.clone());
        let cell: Cell = Box::new(move |figures| median(figures, |of| of.extra.get(&name).copied()).map(round));
        kinds.push((title, cell));
    }
    let cores: Cell = Box::new(|figures| {
        let client = median(figures, |of| Some(of.usage.client))?;
        let server = median(figures, |of| Some(of.usage.server))?;
        let database = median(figures, |of| Some(of.usage.database))?;
        Some(format!("{client:.2} / {server:.2} / {database:.2}"))
    });
    kinds.push(("Cores used by clients / servers / databases:".to_string(), cores));
    kinds
}

fn matrix(work: &Work, records: &[Record], cell: &Cell) -> String {
    let levels: BTreeSet<usize> = records.iter().map(|record| record.level).collect();
    let head: Vec<String> = levels.iter().map(|level| format!("{} {}", whole(*level as f64), work.level)).collect();
    let mut lines = vec![format!("| | {} |", head.join(" | ")), format!("|---|{}", "--:|".repeat(levels.len()))];
    for candidate in &work.candidates {
        let cells: Vec<Option<String>> = levels
            .iter()
            .map(|level| {
                let here = records.iter().filter(|one| one.level == *level && one.target == candidate.name);
                let figures: Vec<&Figures> = here.map(|record| &record.figures).collect();
                cell(&figures)
            })
            .collect();
        if cells.iter().any(Option::is_some) {
            let cells: Vec<String> = cells.into_iter().map(Option::unwrap_or_default).collect();
            lines.push(format!("| {} | {} |", candidate.name, cells.join(" | ")));
        }
    }
    lines.join("\n") + "\n"
}

/// Goals and their results. None if no goal was set or measured.
pub fn goals<'a>(works: impl IntoIterator<Item = (&'a Work, &'a [Record])>) -> Option<String> {
    let rows = works.into_iter().flat_map(|(work, records)| work.goals.iter().filter_map(|goal| row(goal, records)));
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    Some(format!("| goal | is to be | is | from ... to | reached |\n|---|--:|--:|--:|---|\n{}\n", rows.join("\n")))
}

fn row(goal: &Goal, records: &[Record]) -> Option<String> {
    let value = Spread::of(rounds(records).filter_map(|round| (goal.value)(&round)))?;
    let bound = match goal.bound {
        Bound::AtLeast(least) => format!("≥ {least}"),
        Bound::AtMost(most) => format!("≤ {most}"),
    };
    let reached = match goal.limits {
        _ if goal.bound.holds(value.median) => "yes".to_owned(),
        Some(section) => format!("**no**: [why](../performance.md#{section})"),
        None => "**no**".to_owned(),
    };
    let Spread { median, least, most } = value;
    let (median, least, most) = (round(median), round(least), round(most));
    Some(format!("| {} | {bound} | {median} | {least} ... {most} | {reached} |", goal.text))
}

fn median(figures: &[&Figures], of: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
    Spread::of(figures.iter().filter_map(|figures| of(figures))).map(|spread| spread.median)
}

/// Rounds to the significant digits.
fn round(number: f64) -> String {
    match number.abs() {
        100.0.. => whole(number),
        10.0.. => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

fn milliseconds(number: f64) -> String {
    if number < 1.0 { format!("{number:.3}") } else { round(number) }
}

/// Formats a number with a comma between thousands.
pub fn whole(number: f64) -> String {
    let digits = format!("{number:.0}");
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |digits| ("-", digits));
    let first = digits.len() % 3;
    let mut parts: Vec<&str> = Vec::new();
    if first > 0 {
        parts.push(&digits[..first]);
    }
    parts.extend((first..digits.len()).step_by(3).map(|at| &digits[at..at + 3]));
    format!("{sign}{}", parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_grouped() {
        let numbers = [0.0, 0.123, 12.34, 999.6, 1_234_567.0, -4_321.0];
        assert_eq!(numbers.map(round), ["0.00", "0.12", "12.3", "1,000", "1,234,567", "-4,321"]);
        assert_eq!([0.0456, 1.234].map(milliseconds), ["0.046", "1.23"]);
    }
}
