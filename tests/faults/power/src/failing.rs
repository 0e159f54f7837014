//! Disks whose flushes fail while clients work.
//!
//! After a failed fsync, a program must not assume that its writes are kept: the kernel marks the pages clean, and
//! another fsync may succeed without them ("fsyncgate": Rebello et al., Can Applications Recover from fsync Failures?,
//! USENIX ATC 2020).

use std::fmt;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::campaign::{Outcome, RecordedServer, Run, recover_and_check};
use crate::database::Kind;
use crate::disk::{Disk, Unflushed};
use crate::drive::Barriers;
use crate::load::{self, Failing};
use crate::write_log::{Cut, Cutter, Surviving};

/// The number of answers before flushes begin to fail, and the number of further answers after which the clients stop.
const AFTER: std::ops::Range<usize> = 20..150;
const MORE: usize = 100;

/// How a disk fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// One flush fails.
    Once,
    /// One flush fails, and its writes are lost: data that only the kernel has in its cache is never written again.
    OnceAndLoses,
    /// All further flushes fail.
    ForGood,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Once => "a flush failed",
            Self::OnceAndLoses => "a flush failed and its writes were lost",
            Self::ForGood => "all flushes failed from then on",
        })
    }
}

/// Runs clients on a failing disk, cuts the power after them, and returns the faults of the remaining data: with none
/// of the unflushed writes, and with some of them.
///
/// # Errors
/// If that does not work on this machine, or no flush failed.
pub async fn fail(kind: Kind, failure: Failure, random: &mut StdRng) -> anyhow::Result<Vec<Outcome>> {
    let run = record(kind, failure, random).await?;
    let position = run.write_log.entries.len();
    let answers = run.answers.iter().filter(|answer| answer.received_at <= position).count();
    let mut outcomes = Vec::new();
    for surviving in [Surviving::Nothing, Surviving::any(random)] {
        let cut = Cut { position, surviving };
        let (image, volatile) = Cutter::new(&run.write_log, usize::MAX).cut(cut, random);
        let mut outcome = Outcome { cut, volatile, answers, again: None, repaired: false, faults: Vec::new() };
        recover_and_check(kind, &Disk::new(image), &run, &mut outcome).await?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

async fn record(kind: Kind, failure: Failure, random: &mut StdRng) -> anyhow::Result<Run> {
    let server = RecordedServer::start(kind, Barriers::On).await?;
    let (flushes, unflushed) = match failure {
        Failure::Once => (1, Unflushed::Kept),
        Failure::OnceAndLoses => (1, Unflushed::Lost),
        Failure::ForGood => (usize::MAX, Unflushed::Kept),
    };
    let failing = Failing { after: random.random_range(AFTER), flushes, unflushed, more: MORE };
    let answers = load::run_on_failing(&server.url(), &server.disk, failing, random).await?;
    anyhow::ensure!(server.disk.failed() > 0, "no flush failed");
    server.finish(answers).await
}
