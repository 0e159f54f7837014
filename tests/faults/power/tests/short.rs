//! The short form: a few power cuts and failed flushes of each database lose nothing; without flushes, losses would be
//! detected.
//!
//! Requires root, /dev/fuse and loop devices. Otherwise the tests print that they are skipped.

use std::io::Write;

use rand::SeedableRng;
use rand::rngs::StdRng;
use tenure_power::campaign::{self, Outcome, Plan};
use tenure_power::failing::{self, Failure};
use tenure_power::{Barriers, Kind, obstacle};

fn is_skipped(kind: Kind) -> bool {
    let obstacle = obstacle();
    if let Some(obstacle) = obstacle {
        // Not with eprintln, whose output is shown for failed tests only.
        let _ = writeln!(std::io::stderr(), "SKIPPED: power cuts of {}, because {obstacle}", kind.name());
    }
    obstacle.is_some()
}

async fn cut(kind: Kind, cuts: usize, barriers: Barriers) -> Option<Vec<Outcome>> {
    if is_skipped(kind) {
        return None;
    }
    let plan = Plan { kind, cuts, barriers };
    let mut random = StdRng::seed_from_u64(cuts as u64);
    let run = campaign::record(&plan, &mut random).await.expect("a disk in user space with a database on it");
    let mut outcomes = Vec::new();
    campaign::cut(&plan, &run, &mut random, |outcome| outcomes.push(outcome)).await.expect("disks after power cuts");
    Some(outcomes)
}

async fn assert_cuts_lose_nothing(kind: Kind) {
    let Some(outcomes) = cut(kind, 4, Barriers::On).await else { return };
    assert_eq!(outcomes.len(), 4);
    for outcome in outcomes {
        assert!(outcome.faults.is_empty(), "{outcome}\n{}", outcome.faults.join("\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn power_cut_of_sqlite_loses_nothing() {
    assert_cuts_lose_nothing(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn power_cut_of_postgres_loses_nothing() {
    assert_cuts_lose_nothing(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn power_cut_of_mariadb_loses_nothing() {
    assert_cuts_lose_nothing(Kind::Mariadb).await;
}

async fn assert_failed_flushes_lose_nothing(kind: Kind) {
    if is_skipped(kind) {
        return;
    }
    let mut random = StdRng::seed_from_u64(1);
    for failure in [Failure::OnceAndLoses, Failure::ForGood] {
        for outcome in failing::fail(kind, failure, &mut random).await.expect("a disk in user space that fails") {
            assert!(outcome.faults.is_empty(), "{failure}; {outcome}\n{}", outcome.faults.join("\n"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_flush_of_sqlite_loses_nothing() {
    assert_failed_flushes_lose_nothing(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_flush_of_postgres_loses_nothing() {
    assert_failed_flushes_lose_nothing(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_flush_of_mariadb_loses_nothing() {
    assert_failed_flushes_lose_nothing(Kind::Mariadb).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn power_cut_without_flushes_loses_data() {
    let Some(outcomes) = cut(Kind::Sqlite, 10, Barriers::Off).await else { return };
    assert!(outcomes.iter().any(|outcome| !outcome.faults.is_empty()), "nothing was lost, though nothing was flushed");
}
