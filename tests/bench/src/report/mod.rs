//! What is left of a run: the results as JSON, and tables for people.

mod table;

use std::fs;

use anyhow::Context;

use crate::arguments::Settings;
use crate::result::Done;
use crate::work::Work;

/// Writes the results of a work, and shows them.
pub fn write(work: &Work, done: &Done, settings: &Settings) -> anyhow::Result<()> {
    println!("\n{}", table::figures(work, &done.records));
    if let Some(goals) = table::goals(work, &done.records) {
        println!("{goals}");
    }
    let Some(out) = &settings.out else { return Ok(()) };
    let folder = out.join("results");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let file = folder.join(format!("{}.json", work.name));
    fs::write(&file, serde_json::to_string_pretty(&done.records)?).with_context(|| file.display().to_string())
}
