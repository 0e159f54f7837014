//! The report: a matrix with one line per scenario and one column per client, and the slowest runs.

use std::cmp::Reverse;
use std::fmt::Write;

use crate::clients::ClientSpec;
use crate::run::Outcome;
use crate::scenario::Scenario;

/// The number of slowest runs in the report.
const SLOWEST: usize = 5;

/// The matrix, the slowest runs, and the summary line.
#[must_use]
pub fn report(scenarios: &[Scenario], clients: &[ClientSpec], outcomes: &[Outcome]) -> String {
    let width = scenarios.iter().map(|scenario| scenario.name.len()).max().unwrap_or_default();
    let mut text = format!("{:width$}", "");
    for client in clients {
        let _ = write!(text, "  {:16}", client.name);
    }
    for scenario in scenarios {
        let _ = write!(text, "\n{:width$}", scenario.name);
        for client in clients {
            let _ = write!(text, "  {:16}", cell(scenario, client, outcomes));
        }
    }
    let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n{}{} passed, {failed} failed\n", lines.join("\n"), slowest(outcomes), outcomes.len() - failed)
}

/// The slowest runs, one line each.
fn slowest(outcomes: &[Outcome]) -> String {
    let mut by_time: Vec<&Outcome> = outcomes.iter().collect();
    by_time.sort_by_key(|outcome| Reverse(outcome.took));
    let line = |outcome: &&Outcome| {
        let Outcome { scenario, client, setup, took, .. } = outcome;
        format!("{:.1} s  {scenario} with {client} on {}\n", took.as_secs_f64(), setup.store)
    };
    by_time.iter().take(SLOWEST).map(line).collect()
}

/// The outcomes of a scenario with a client, on all set-ups.
fn cell(scenario: &Scenario, client: &ClientSpec, outcomes: &[Outcome]) -> String {
    if scenario.skip.contains_key(&client.name) {
        return "skipped".to_owned();
    }
    let matches = |outcome: &&Outcome| outcome.scenario == scenario.name && outcome.client == client.name;
    let selected: Vec<&Outcome> = outcomes.iter().filter(matches).collect();
    let mut failed: Vec<&str> =
        selected.iter().filter(|outcome| outcome.failure.is_some()).map(|outcome| outcome.setup.store).collect();
    failed.sort_unstable();
    failed.dedup();
    match (selected.is_empty(), failed.is_empty()) {
        (true, _) => "-".to_owned(),
        (false, true) => "ok".to_owned(),
        (false, false) => format!("FAILED {}", failed.join(" ")),
    }
}
