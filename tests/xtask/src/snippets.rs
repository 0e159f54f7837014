//! The code in READMEs, which is cut from programs that the tests run.
//!
//! A block of code that follows the line `<!-- snippet: FILE NAME -->` is what stands in FILE (from the README's folder) between
//! the lines that end with `snippet: NAME` and `snippet end`, without the indentation that all of it has.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::programs::root;

/// The folders whose READMEs have snippets.
const FOLDERS: [&str; 6] = [".", "client-rs", "clients/go", "clients/python", "clients/java", "clients/typescript"];

const BEGIN: &str = "<!-- snippet: ";

/// Sees whether all are as they should be.
pub fn check() -> anyhow::Result<()> {
    let mut count = 0;
    for readme in readmes() {
        let (is, should) = (fs::read_to_string(&readme)?, fresh(&readme, &mut count)?);
        ensure!(is == should, "{} has snippets that are not fresh: cargo xtask generate", readme.display());
    }
    println!("{count} snippets are fresh");
    Ok(())
}

/// Makes all as they should be.
pub fn write() -> anyhow::Result<()> {
    for readme in readmes() {
        let should = fresh(&readme, &mut 0)?;
        if fs::read_to_string(&readme)? != should {
            fs::write(&readme, should)?;
        }
    }
    Ok(())
}

fn readmes() -> impl Iterator<Item = PathBuf> {
    FOLDERS.iter().map(|folder| root().join(folder).join("README.md")).filter(|readme| readme.is_file())
}

/// A README with its snippets cut anew.
fn fresh(readme: &Path, count: &mut usize) -> anyhow::Result<String> {
    let text = fs::read_to_string(readme).with_context(|| readme.display().to_string())?;
    let folder = readme.parent().unwrap_or(readme);
    let (mut fresh, mut lines) = (String::new(), text.lines());
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        let Some(place) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let (file, name) = place.rsplit_once(' ').with_context(|| format!("{}: {line}", readme.display()))?;
        let open = lines.by_ref().find(|line| !line.is_empty()).filter(|line| line.starts_with("```"));
        let open = open.with_context(|| format!("no code after {line}"))?;
        let snippet = cut(&folder.join(file), name)?;
        fresh.push_str(&format!("\n{open}\n{snippet}```\n"));
        lines.by_ref().take_while(|line| *line != "```").for_each(drop);
        *count += 1;
    }
    Ok(fresh)
}

/// What stands in a file under a name.
fn cut(file: &Path, name: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let begin = format!("snippet: {name}");
    let inside = text.lines().skip_while(|line| !line.trim_end().ends_with(&begin)).skip(1);
    let lines: Vec<&str> = inside.take_while(|line| !line.trim_end().ends_with("snippet end")).collect();
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
    fn a_snippet_is_cut_without_its_indentation_and_put_where_it_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = "fn main() {\n    // snippet: run\n    loop {\n\n        work();\n    }\n    // snippet end\n}\n";
        fs::write(folder.path().join("main.rs"), program).expect("a file");
        let readme = folder.path().join("README.md");
        fs::write(&readme, "# Title\n<!-- snippet: main.rs run -->\n```rust\nold\n```\nEnd\n").expect("a file");
        let fresh = fresh(&readme, &mut 0).expect("fresh");
        assert_eq!(fresh, "# Title\n<!-- snippet: main.rs run -->\n\n```rust\nloop {\n\n    work();\n}\n```\nEnd\n");
    }

    #[test]
    fn a_snippet_that_is_not_there_is_missed() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("main.rs"), "fn main() {}\n").expect("a file");
        let missed = cut(&folder.path().join("main.rs"), "run").expect_err("nothing is there");
        assert!(missed.to_string().ends_with("has no snippet run"), "{missed}");
    }
}
