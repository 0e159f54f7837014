//! Included parts of pages: code of programs that the tests run, and rows of tables that programs write.
//!
//! A code block that follows the line `<!-- snippet: FILE NAME -->` is the part of FILE (relative to the page's folder)
//! between the lines that end with `snippet: NAME` and `snippet end`, without its common indentation.
//!
//! The rows of a table that follows the line `<!-- rows: FILE, SECTION, CAPTION -->` are those that have the same
//! beginning in the table of FILE (relative to the page's folder) that follows a line with CAPTION and a colon in the
//! section with the heading SECTION.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::pages;
use crate::programs::root;

const CODE: &str = "<!-- snippet: ";
const ROWS: &str = "<!-- rows: ";

/// Checks that all included parts are up to date.
pub fn check() -> anyhow::Result<()> {
    let mut count = 0;
    for page in all()? {
        let (is, should) = (fs::read_to_string(&page)?, fresh(&page, &mut count)?);
        ensure!(is == should, "{} has outdated snippets: run `cargo xtask generate`", page.display());
    }
    println!("{count} snippets are up to date");
    Ok(())
}

/// Updates all included parts.
pub fn write() -> anyhow::Result<()> {
    for page in all()? {
        let should = fresh(&page, &mut 0)?;
        if fs::read_to_string(&page)? != should {
            fs::write(&page, should)?;
        }
    }
    Ok(())
}

fn all() -> anyhow::Result<Vec<PathBuf>> {
    Ok(pages::names()?.iter().map(|page| root().join(page)).collect())
}

/// A page with its included parts updated.
fn fresh(page: &Path, count: &mut usize) -> anyhow::Result<String> {
    let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
    let folder = page.parent().unwrap_or(page);
    let (mut fresh, mut lines) = (String::new(), text.lines().peekable());
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        let argument = |begin: &str| line.strip_prefix(begin).and_then(|rest| rest.strip_suffix(" -->"));
        if let Some(argument) = argument(CODE) {
            let (file, name) = argument.rsplit_once(' ').with_context(|| format!("{}: {line}", page.display()))?;
            let open = lines.by_ref().find(|line| !line.is_empty()).filter(|line| line.starts_with("```"));
            let open = open.with_context(|| format!("{}: no code after {line}", page.display()))?;
            let snippet = cut(&folder.join(file), name)?;
            fresh.push_str(&format!("\n{open}\n{snippet}```\n"));
            lines.by_ref().take_while(|line| *line != "```").for_each(drop);
            *count += 1;
        } else if let Some(argument) = argument(ROWS) {
            let rows = Rows::read(folder, argument).with_context(|| format!("{}: {line}", page.display()))?;
            while let Some(line) = lines.next_if(|line| line.is_empty()) {
                fresh.push_str(&format!("{line}\n"));
            }
            // The head of the table is the page's own.
            for head in lines.by_ref().take(2) {
                fresh.push_str(&format!("{head}\n"));
            }
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                fresh.push_str(&format!("{}\n", rows.like(row)?));
            }
            *count += 1;
        }
    }
    Ok(fresh)
}

/// The rows of a table in another page.
struct Rows(Vec<String>);

impl Rows {
    fn read(folder: &Path, argument: &str) -> anyhow::Result<Self> {
        // Captions may contain commas.
        let mut parts = argument.splitn(3, ", ");
        let mut part = || parts.next().context("it does not name a file, a section and a caption");
        let (file, section, caption) = (folder.join(part()?), part()?, part()?);
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let is_heading = |line: &&str| line.starts_with('#');
        let found = text.lines().skip_while(|line| !is_heading(line) || line.trim_start_matches('#').trim() != section);
        let within = found.skip(1).take_while(|line| !is_heading(line));
        let after = within.skip_while(|line| *line != format!("{caption}:")).skip_while(|line| !line.starts_with('|'));
        let rows: Vec<String> = after.take_while(|line| line.starts_with('|')).skip(2).map(str::to_owned).collect();
        ensure!(!rows.is_empty(), "{} has no such table", file.display());
        Ok(Self(rows))
    }

    /// The row with the same beginning as this one.
    fn like(&self, row: &str) -> anyhow::Result<&str> {
        let name = |row: &str| row.split('|').nth(1).map(|cell| cell.trim().to_owned());
        let found = self.0.iter().find(|candidate| name(candidate) == name(row));
        found.map(String::as_str).with_context(|| format!("there is no such row: {row}"))
    }
}

/// The snippet of this name in a file.
fn cut(file: &Path, name: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let begin = format!("snippet: {name}");
    let inside = text.lines().skip_while(|line| !line.trim_end().ends_with(&begin)).skip(1);
    let mut lines: Vec<&str> = inside.take_while(|line| !line.trim_end().ends_with("snippet end")).collect();
    // gofmt requires a blank line between a function and the end marker.
    while lines.pop_if(|line| line.trim().is_empty()).is_some() {}
    if lines.is_empty() {
        bail!("{} has no snippet {name}", file.display());
    }
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let common = lines.iter().filter(|line| !line.trim().is_empty()).map(indentation).min().unwrap_or(0);
    Ok(lines.iter().map(|line| format!("{}\n", line.get(common..).unwrap_or_default())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippet_is_included_without_its_indentation() {
        let folder = tempfile::tempdir().expect("a folder");
        let program =
            "fn main() {\n    // snippet: run\n    loop {\n\n        work();\n    }\n\n    // snippet end\n}\n";
        fs::write(folder.path().join("main.rs"), program).expect("a file");
        let readme = folder.path().join("README.md");
        fs::write(&readme, "# Title\n<!-- snippet: main.rs run -->\n```rust\nold\n```\nEnd\n").expect("a file");
        let fresh = fresh(&readme, &mut 0).expect("fresh");
        assert_eq!(fresh, "# Title\n<!-- snippet: main.rs run -->\n\n```rust\nloop {\n\n    work();\n}\n```\nEnd\n");
    }

    #[test]
    fn missing_snippet_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("main.rs"), "fn main() {}\n").expect("a file");
        let error = cut(&folder.path().join("main.rs"), "run").expect_err("no snippet");
        assert!(error.to_string().ends_with("has no snippet run"), "{error}");
    }

    #[test]
    fn rows_are_copied_from_the_named_table() {
        let folder = tempfile::tempdir().expect("a folder");
        let table = "## a\nb, in ms:\n\n| | x |\n|---|--:|\n| one | 9 |\n## c\nb, in ms:\n\n| | x |\n|---|--:|\n| one | 1 |\n| two | 2 |\n";
        fs::write(folder.path().join("t.md"), table).expect("a file");
        let page = folder.path().join("README.md");
        let with = |row: &str| format!("<!-- rows: t.md, c, b, in ms -->\n\n| 것 | 값 |\n|---|--:|\n{row}\n\nEnd\n");
        fs::write(&page, with("| two | 7 |")).expect("a file");
        assert_eq!(fresh(&page, &mut 0).expect("fresh"), with("| two | 2 |"));
        fs::write(&page, with("| three | 3 |")).expect("a file");
        let error = fresh(&page, &mut 0).expect_err("no row");
        assert_eq!(error.to_string(), "there is no such row: | three | 3 |");
    }
}
