//! What the README says: the tests that it names are there.

#![allow(clippy::unwrap_used, reason = "clippy knows tests, but not what they call")]

use std::collections::BTreeSet;
use std::path::Path;

fn readme() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap()
}

/// The names in the last column of the tables whose last heading is "tests".
fn named_tests(readme: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let mut inside = false;
    for line in readme.lines() {
        inside = line.ends_with("| tests |") || inside && line.starts_with('|');
        let last = line.trim_end_matches(" |").rsplit(" | ").next().filter(|_| inside);
        named.extend(last.into_iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned));
    }
    named
}

/// The names of the functions in the Rust files below a folder.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let names = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            found.extend(names.map(str::to_owned));
        }
    }
}

#[test]
fn the_tests_that_the_readme_names_are_there() {
    let named = named_tests(&readme());
    assert!(named.len() > 10, "the README compares, and names tests: {named:?}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeSet::new();
    for folder in ["client-rs", "server", "tests"] {
        functions(&root.join(folder), &mut found);
    }
    let missing: Vec<&String> = named.difference(&found).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
