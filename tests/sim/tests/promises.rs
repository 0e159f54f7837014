//! The short form of the simulation: no seed breaks a promise, and what is wrong by intent is found.

use std::process::{Command, Output};

use tenure_sim::defect;

/// How many seeds must be clean: two and a half million steps.
const CLEAN: u32 = 1500;

/// How many seeds are searched for a deliberate defect.
const SEARCHED: &str = "2000";

fn sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure-sim")).args(arguments).output().expect("a simulation")
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn no_seed_breaks_a_promise() {
    let output = sim(&["--seeds", &CLEAN.to_string()]);
    assert!(output.status.success(), "{}", lines(&output).join("\n"));
}

#[test]
fn a_seed_is_always_the_same() {
    let traces = |jobs: &str| {
        let output = sim(&["--seeds", "12", "--verbose", "--jobs", jobs]);
        let mut traces: Vec<String> = lines(&output).into_iter().filter(|line| line.contains("trace")).collect();
        traces.sort();
        traces
    };
    let alone = traces("1");
    assert_eq!(alone.len(), 12);
    assert_eq!(alone, traces("4"));
}

/// Each deliberate defect, and a seed by which it was found: whatever else changes, one of the next ones will do.
const DEFECTS: [(&str, u32); 30] = [
    ("GrantBesideHolder", 3),
    ("SharedBesideHolder", 3),
    ("OnePermitTooMany", 1),
    ("TokenFromPlace", 4),
    ("LastComesFirst", 8),
    ("WaiterOutlivesSession", 12),
    ("HolderOutlivesSession", 2),
    ("RenewalForgotten", 2),
    ("RenewalUnchecked", 19),
    ("NoFreshTtl", 38),
    ("LeaseIgnored", 4808),
    ("PublishedEarly", 3),
    ("UnknownIsCommitted", 5),
    ("ConflictIsCommitted", 1),
    ("UnknownIsRefused", 256),
    ("RefusedIsCommitted", 2),
    ("PollSkips", 3),
    ("WatchSkips", 13),
    ("ImpatientWithOthers", 272),
    ("GraceCutShort", 1633),
    ("NoFreshTtlAfterLoss", 1230),
    ("LoadsOnce", 6876),
    ("OldTokenAfterLoss", 600),
    ("ReleaseOfAnyHold", 1),
    ("CancelledAtHome", 207),
    ("WaitEndsAtHome", 8),
    ("ValidTooLong", 9),
    ("GraceForgotten", 99),
    ("WatchResumesTooFar", 16),
    ("ReleasedEarly", 2),
];

/// Defects that the short form does not search for, since they show in fewer than one of some thousand seeds: what is due shows only in
/// the waits of streams, since those of plain calls do not follow the home any more. The tests of the core's home and of the library's
/// validity show what they would do.
const RARE: [&str; 2] = ["DueForEver", "ValidFromReceipt"];

/// The simulation would notice.
#[test]
fn every_defect_is_found() {
    let known: Vec<String> = defect::Defect::all().map(|defect| defect.to_string()).collect();
    let searched = |name: &String| DEFECTS.iter().any(|(defect, _)| defect == name) || RARE.contains(&name.as_str());
    assert!(known.iter().all(searched), "{known:?}");
    for (defect, seed) in DEFECTS {
        let seed = seed.to_string();
        let output = sim(&["--defect", defect, "--first-only", "--seeds", SEARCHED, "--first-seed", &seed]);
        assert_eq!(output.status.code(), Some(1), "{defect} was not found from seed {seed} on");
    }
}
