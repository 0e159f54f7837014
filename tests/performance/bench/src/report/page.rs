//! Updates the page: sections between markers are generated, the rest is written by hand.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::{Stored, pictures, table};
use crate::machine::Machine;
use crate::work::Work;

/// The initial page.
const TEMPLATE: &str = include_str!("../../../../results/bench/README.md");

/// Writes `README.md`.
pub fn write(all: &[(&Work, Stored)], out: &Path) -> anyhow::Result<()> {
    let file = out.join("README.md");
    let page = fs::read_to_string(&file).unwrap_or_else(|_| TEMPLATE.to_string());
    let goals = table::goals(all.iter().map(|(work, stored)| (*work, stored.records.as_slice()))).unwrap_or_default();
    let page = replace(&page, "goals", &goals)?;
    let works: Vec<String> = all.iter().map(|(work, stored)| section(work, stored)).collect();
    let page = replace(&page, "works", &works.join("\n"))?;
    fs::write(&file, page).with_context(|| file.display().to_string())
}

fn section(work: &Work, stored: &Stored) -> String {
    let pictures = pictures::all().into_iter().filter(|picture| picture.work == work.name);
    let pictures: Vec<String> = pictures.map(|of| format!("![{}]({})\n\n", of.title, of.file())).collect();
    format!(
        "### {}\n\n{}\n\n{}{}\n{}",
        work.name,
        work.title,
        pictures.concat(),
        table::of_work(work, &stored.records),
        conditions(stored)
    )
}

/// The machine and the parameters of a work's run.
fn conditions(stored: &Stored) -> String {
    let Machine { day, commit, processor, cores, memory, kernel, sync, versions } = &stored.machine;
    let sync = sync.map_or_else(String::new, |sync| {
        format!("; writing and syncing 4 KiB took {:.2} ms (p50; p99 {:.2} ms)", sync.p50, sync.p99)
    });
    format!(
        "Measured on {day} at commit {commit}: medians of {} rounds of {} s each; {cores} cores ({processor}), {memory:.0} GB, \
         Linux {kernel}{sync}. {}.\n",
        stored.rounds,
        stored.seconds,
        versions.join("; ")
    )
}

/// Replaces the section between two markers.
fn replace(page: &str, name: &str, text: &str) -> anyhow::Result<String> {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let (before, rest) = page.split_once(&begin).with_context(|| format!("the page has no line {begin}"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("the page has no {end}"))?;
    Ok(format!("{before}{begin}\n{text}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sections_between_markers_are_replaced() {
        let page = replace("a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n", "x", "new").expect("markers");
        assert_eq!(page, "a\n<!-- begin x -->\n\nnew\n<!-- end x -->\nb\n");
        assert_eq!(replace(&page, "x", "new").expect("markers"), page);
        assert!(replace(&page, "y", "new").is_err());
    }

    #[test]
    fn page_has_all_markers() {
        write(&[], tempfile::tempdir().expect("a folder").path()).expect("a page");
    }
}
