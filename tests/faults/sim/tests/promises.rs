//! Short simulation runs: no seed breaks a promise, and every deliberate defect is found.

use std::process::{Command, Output};

use tenure_sim::defect::Defect;

/// Number of seeds that must be clean: two and a half million steps.
const CLEAN_SEEDS: u32 = 1500;

/// Number of seeds searched for a deliberate defect.
const SEEDS_PER_DEFECT: &str = "2000";

fn sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure-sim")).args(arguments).output().expect("a simulation")
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn no_seed_breaks_a_promise() {
    let output = sim(&["--seeds", &CLEAN_SEEDS.to_string()]);
    assert!(output.status.success(), "{}", lines(&output).join("\n"));
}

#[test]
fn seed_determines_the_run() {
    let traces = |jobs: &str| {
        let output = sim(&["--seeds", "12", "--verbose", "--jobs", jobs]);
        let mut traces: Vec<String> = lines(&output).into_iter().filter(|line| line.contains("trace")).collect();
        traces.sort();
        traces
    };
    let one_at_a_time = traces("1");
    assert_eq!(one_at_a_time.len(), 12);
    assert_eq!(one_at_a_time, traces("4"));
}

/// Each deliberate defect, with a seed that has found it. After other changes, one of the following seeds will find it.
const DEFECTS: [(Defect, u32); Defect::ALL.len()] = [
    (Defect::UnknownIsCommitted, 5),
    (Defect::ConflictIsCommitted, 1),
    (Defect::UnknownIsRejected, 408),
    (Defect::RejectedIsCommitted, 1),
    (Defect::PublishedEarly, 1),
    (Defect::PollSkips, 1),
    (Defect::LossKept, 1),
    (Defect::OldTokenAfterLoss, 6),
    (Defect::MarkedDeadEarly, 132),
    (Defect::LeaseIgnored, 12),
    (Defect::GrantBesideHolder, 3),
    (Defect::SharedBesideHolder, 8),
    (Defect::PermitsAboveLimit, 16),
    (Defect::LastWaiterFirst, 16),
    (Defect::WaiterOutlivesSession, 6),
    (Defect::HolderOutlivesSession, 1),
    (Defect::WaitEndsAtHome, 8),
    (Defect::RenewalForgotten, 1),
    (Defect::NoFreshTtl, 1),
    (Defect::NoFreshTtlAfterLoss, 1),
    (Defect::ExpiryAfterMove, 5),
    (Defect::AbandonForgotten, 14),
    (Defect::CancelledAtHome, 4),
    (Defect::CancelOvertaken, 16),
    (Defect::ReleaseOfAnyHold, 4),
    (Defect::ValidTooLong, 10),
    (Defect::ValidityOverstated, 8),
    (Defect::GraceForgotten, 53),
    (Defect::GraceCutShort, 53),
    (Defect::TokenIsClaimId, 4),
    (Defect::RenewalUnchecked, 4),
    (Defect::ReleasedEarly, 1),
    (Defect::WithdrawnEarly, 1),
    (Defect::TokenOfAnother, 1),
    (Defect::KeepAliveUnchecked, 12),
    (Defect::ResumeForgotten, 4),
    (Defect::NumberUsedTwice, 1),
    (Defect::LateChange, 4),
    (Defect::LateHello, 1),
    (Defect::HelloRevives, 3),
    (Defect::HelloDropsWaiter, 24),
    (Defect::HelloKeepsUnstated, 16),
    (Defect::WatchResumesTooFar, 4),
    (Defect::WatchSkips, 1),
];

#[test]
fn every_defect_is_found() {
    assert_eq!(DEFECTS.map(|(defect, _)| defect), Defect::ALL);
    for (defect, seed) in DEFECTS {
        let (name, seed) = (defect.to_string(), seed.to_string());
        let output = sim(&["--defect", &name, "--first-only", "--seeds", SEEDS_PER_DEFECT, "--first-seed", &seed]);
        assert_eq!(output.status.code(), Some(1), "{name} was not found from seed {seed} on");
        let crashed = lines(&output).into_iter().find(|line| line.trim_start().starts_with("a run ends"));
        assert_eq!(crashed, None, "{name} breaks the simulation instead of a promise");
    }
}
