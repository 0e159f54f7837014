//! Disks whose flushes fail while clients work.
//!
//! After a failed fsync, a program must not assume that its writes are kept: the kernel marks the pages clean, and
//! another fsync may succeed without them ("fsyncgate": Rebello et al., Can Applications Recover from fsync Failures?,
//! USENIX ATC 2020).

use std::fmt;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_harness::{Tenured, TenuredOptions, free_port};

use crate::campaign::{DISK, FLUSH, Outcome, Run, bring_back};
use crate::database::{Database, Kind};
use crate::disk::{Disk, Unflushed};
use crate::drive::{Barriers, Drive};
use crate::image::Image;
use crate::load::{self, Failing};
use crate::tape::{Cut, Cutter, Keeps};

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
            Self::OnceAndLoses => "a flush failed and what it should have flushed is gone",
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
    let position = run.tape.entries.len();
    let answers = run.answers.iter().filter(|answer| answer.had <= position).count();
    let mut outcomes = Vec::new();
    for keeps in [Keeps::Nothing, Keeps::any(random)] {
        let cut = Cut { position, keeps };
        let (image, volatile) = Cutter::new(&run.tape, usize::MAX).cut(cut, random);
        let mut outcome = Outcome { cut, volatile, answers, again: None, repaired: false, faults: Vec::new() };
        bring_back(kind, &Disk::new(image), &run, &mut outcome).await?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

async fn record(kind: Kind, failure: Failure, random: &mut StdRng) -> anyhow::Result<Run> {
    let disk = Disk::new(Image::new(DISK));
    let drive = Drive::plug_in(&disk)?;
    drive.format()?;
    drive.mount(Barriers::On)?;
    let port = free_port()?;
    let database = Database::start(kind, &drive.files(), port).await?;
    let empty = disk.position();
    let mut tenured = Tenured::start(&TenuredOptions::store(database.url())).await?;
    disk.slow_down(FLUSH);
    let (flushes, unflushed) = match failure {
        Failure::Once => (1, Unflushed::Stays),
        Failure::OnceAndLoses => (1, Unflushed::Goes),
        Failure::ForGood => (usize::MAX, Unflushed::Stays),
    };
    let failing = Failing { after: random.random_range(AFTER), flushes, unflushed, more: MORE };
    let answers = load::run_on_failing(&tenured.url(), &disk, failing, random).await?;
    let tape = disk.take_tape();
    anyhow::ensure!(disk.failed() > 0, "no flush failed");
    tenured.kill().await?;
    database.kill().await?;
    Ok(Run { tape, empty, answers, port })
}
