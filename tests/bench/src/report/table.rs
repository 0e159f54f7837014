//! Tables in Markdown.

use std::collections::BTreeSet;

use crate::result::{Record, Spread, rounds};
use crate::work::{Bound, Work};

/// A row for each target and level: medians over the rounds.
pub fn figures(work: &Work, records: &[Record]) -> String {
    let levels: BTreeSet<usize> = records.iter().map(|record| record.level).collect();
    let mut lines = vec![
        format!(
            "| {} | target | a second (spread) | p50 ms | p99 ms | max ms | cores: client, server, database |",
            work.level
        ),
        "|--:|---|--:|--:|--:|--:|---|".to_string(),
    ];
    for level in levels {
        for candidate in &work.candidates {
            let here = || records.iter().filter(|one| one.level == level && one.target == candidate.name);
            let figures = || here().map(|record| &record.figures);
            if here().next().is_none() {
                continue;
            }
            let rate = Spread::of(figures().filter_map(|figures| figures.rate));
            let latency = |of: fn(&crate::measure::Latency) -> f64| {
                number(Spread::of(figures().filter_map(|figures| figures.latency.as_ref()).map(of)))
            };
            let cores = |of: fn(&crate::cpu::Usage) -> f64| {
                Spread::of(figures().map(|figures| of(&figures.usage))).map_or(0.0, |spread| spread.median)
            };
            lines.push(format!(
                "| {level} | {} | {} | {} | {} | {} | {:.2}, {:.2}, {:.2} |",
                candidate.name,
                rate.map_or_else(String::new, |of| format!("{:.0} ({:.0} to {:.0})", of.median, of.least, of.most)),
                latency(|latency| latency.p50),
                latency(|latency| latency.p99),
                latency(|latency| latency.max),
                cores(|usage| usage.client),
                cores(|usage| usage.server),
                cores(|usage| usage.database),
            ));
        }
    }
    lines.join("\n") + "\n"
}

/// What was expected and what came of it. None if nothing was, or nothing of it was measured.
pub fn goals(work: &Work, records: &[Record]) -> Option<String> {
    let mut lines = Vec::new();
    for goal in &work.goals {
        let Some(value) = Spread::of(rounds(records).filter_map(|round| (goal.value)(&round))) else { continue };
        let (word, bound) = match goal.bound {
            Bound::AtLeast(bound) => ("at least", bound),
            Bound::AtMost(bound) => ("at most", bound),
        };
        let verdict = if goal.bound.holds(value.median) { "yes" } else { "**no**" };
        let Spread { median, least, most } = value;
        let row = format!("| {} | {word} {bound} | {median:.2} ({least:.2} to {most:.2}) | {verdict} |", goal.text);
        lines.push(row);
    }
    if lines.is_empty() {
        return None;
    }
    let head = "| goal | is to be | is (spread) | reached |\n|---|---|---|---|\n";
    Some(head.to_string() + &lines.join("\n") + "\n")
}

fn number(spread: Option<Spread>) -> String {
    spread.map_or_else(String::new, |spread| format!("{:.2}", spread.median))
}
