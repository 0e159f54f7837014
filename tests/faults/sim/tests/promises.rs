//! Short simulation runs: no seed breaks a promise, and every deliberate defect is found.

use std::process::{Command, Output};

use tenure_sim::defect;

/// Number of seeds that must be clean: two and a half million steps.
const CLEAN: u32 = 1500;

/// Number of seeds searched for a deliberate defect.
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

/// Each deliberate defect, with a seed that has found it. After other changes, one of the following seeds will find it.
const DEFECTS: [(&str, u32); 33] = [
    ("GrantBesideHolder", 1),
    ("SharedBesideHolder", 1),
    ("OnePermitTooMany", 16),
    ("TokenFromPlace", 1),
    ("LastComesFirst", 4),
    ("WaiterOutlivesSession", 1),
    ("HolderOutlivesSession", 1),
    ("RenewalForgotten", 2),
    ("RenewalUnchecked", 4),
    ("NoFreshTtl", 1),
    ("LeaseIgnored", 648),
    ("PublishedEarly", 1),
    ("UnknownIsCommitted", 8),
    ("ConflictIsCommitted", 1),
    ("UnknownIsRefused", 6),
    ("RefusedIsCommitted", 1),
    ("PollSkips", 1),
    ("WatchSkips", 2),
    ("ImpatientWithOthers", 4),
    ("GraceCutShort", 260),
    ("NoFreshTtlAfterLoss", 2394),
    ("DueForEver", 2264),
    ("LoadsOnce", 2126),
    ("OldTokenAfterLoss", 168),
    ("ReleaseOfAnyHold", 2),
    ("CancelledAtHome", 459),
    ("WaitEndsAtHome", 8),
    ("CancelOvertaken", 8193),
    ("ValidFromReceipt", 2640),
    ("ValidTooLong", 5),
    ("GraceForgotten", 70),
    ("WatchResumesTooFar", 2),
    ("ReleasedEarly", 1),
];

#[test]
fn every_defect_is_found() {
    let known: Vec<String> = defect::Defect::all().map(|defect| defect.to_string()).collect();
    assert!(known.iter().all(|name| DEFECTS.iter().any(|(defect, _)| defect == name)), "{known:?}");
    for (defect, seed) in DEFECTS {
        let seed = seed.to_string();
        let output = sim(&["--defect", defect, "--first-only", "--seeds", SEARCHED, "--first-seed", &seed]);
        assert_eq!(output.status.code(), Some(1), "{defect} was not found from seed {seed} on");
    }
}
