//! The short form of the bench runs and measures every target of every work that has one of its levels. It does not assert figures.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use tenure_bench::arguments::QUICK_CONCURRENCY;
use tenure_bench::report::Stored;
use tenure_bench::work::{self, Candidate, Levels};

#[test]
fn every_target_is_measured() {
    let out = tempfile::tempdir().expect("a folder");
    let mut bench = Command::new(env!("CARGO_BIN_EXE_tenure-bench"));
    let status = bench.args(["--quick", "--out"]).arg(out.path()).status().expect("the bench");
    assert!(status.success(), "{status}");

    for work in work::all() {
        let file = out.path().join("results").join(format!("{}.json", work.name));
        let text = fs::read_to_string(file).expect("results");
        let stored: Stored = serde_json::from_str(&text).expect("results as JSON");
        let measured: BTreeSet<&str> = stored.records.iter().map(|record| record.target.as_str()).collect();
        let levels: &[usize] = match work.levels {
            Levels::Concurrency => &QUICK_CONCURRENCY,
            Levels::Own { quick, .. } => quick,
        };
        let is_quick =
            |candidate: &&Candidate| candidate.levels.is_none_or(|own| own.iter().any(|level| levels.contains(level)));
        let expected: BTreeSet<&str> =
            work.candidates.iter().filter(is_quick).map(|candidate| candidate.name.as_str()).collect();
        assert_eq!(measured, expected, "of {}", work.name);
    }
    let page = fs::read_to_string(out.path().join("README.md")).expect("a page");
    assert!(page.contains("### pairs") && page.contains("](pairs-rate.svg)"), "{page}");
    let picture = fs::read_to_string(out.path().join("pairs-rate.svg")).expect("a picture");
    assert!(picture.contains("Tenure, library, PostgreSQL"), "{picture}");
}
