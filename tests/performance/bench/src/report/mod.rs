//! Reports of a run: the results as JSON, a page with tables, and charts.

mod chart;
mod page;
mod pictures;
mod table;

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::arguments::Settings;
use crate::machine::Machine;
use crate::result::{Done, Record};
use crate::work::Work;

/// The stored results of a work: `results/<work>.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Stored {
    /// The machine.
    pub machine: Machine,
    /// The number of rounds.
    pub rounds: u32,
    /// The duration of each measurement, in seconds.
    pub seconds: f64,
    /// The measurements.
    pub records: Vec<Record>,
}

/// Prints the results of a work, and stores them if requested.
///
/// # Errors
/// If they cannot be written.
pub fn store(work: &Work, done: Done, settings: &Settings) -> anyhow::Result<()> {
    println!("\n{}", table::of_work(work, &done.records));
    if let Some(goals) = table::goals([(work, done.records.as_slice())]) {
        println!("{goals}");
    }
    let Some(out) = &settings.out else { return Ok(()) };
    let seconds = settings.time.as_secs_f64();
    let stored = Stored { machine: Machine::look()?, rounds: settings.rounds, seconds, records: done.records };
    let file = file(out, work);
    fs::create_dir_all(file.parent().unwrap_or(out)).context("making a folder for results")?;
    fs::write(&file, lines(&stored)?).with_context(|| file.display().to_string())
}

/// Draws the charts and writes the page, from all stored results.
///
/// # Errors
/// If a file cannot be read or written.
pub fn publish(works: &[Work], out: &Path) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for work in works {
        let file = file(out, work);
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let stored: Stored = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
        all.push((work, stored));
    }
    for picture in pictures::all() {
        let Some((_, stored)) = all.iter().find(|(work, _)| work.name == picture.work) else { continue };
        let file = out.join(picture.file());
        fs::write(&file, chart::draw(&picture, &stored.records)).with_context(|| file.display().to_string())?;
    }
    page::write(&all, out)
}

fn file(out: &Path, work: &Work) -> std::path::PathBuf {
    out.join("results").join(format!("{}.json", work.name))
}

/// JSON with one line per measurement, so that diffs are readable.
fn lines(stored: &Stored) -> anyhow::Result<String> {
    let head = serde_json::to_string(&Stored { machine: stored.machine.clone(), records: Vec::new(), ..*stored })?;
    let records: Result<Vec<String>, _> = stored.records.iter().map(serde_json::to_string).collect();
    let body = format!("[\n{}\n]", records?.join(",\n"));
    // The records are the last field.
    let head = head.strip_suffix("[]}").context("the records are not the last field")?;
    Ok(format!("{head}{body}}}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Figures;

    #[test]
    fn stored_results_round_trip() {
        let figures = Figures { rate: Some(2.0), ..Figures::default() }.with("bytes", 3.0);
        let record = Record { work: "pairs".into(), target: "etcd".into(), level: 16, round: 1, figures };
        let stored = Stored { rounds: 3, records: vec![record.clone(), record], ..Stored::default() };
        let text = lines(&stored).expect("lines");
        assert_eq!(text.lines().count(), 4, "{text}");
        let again: Stored = serde_json::from_str(&text).expect("stored results");
        assert_eq!((again.rounds, again.records.len()), (3, 2));
        assert_eq!(again.records[1].figures.extra["bytes"], 3.0);
    }
}
