//! Records one run on a disk, and replays many power cuts of it.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use anyhow::{Context, ensure};
use rand::RngExt;
use rand::rngs::StdRng;
use tenure_harness::{Tenured, TenuredOptions, free_port};
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::{AcquireRequest, ListLocksRequest};
use tenure_server::store::{StoreOptions, migrate};

use crate::database::{Database, Kind, sqlite_url};
use crate::disk::Disk;
use crate::drive::{Barriers, Drive};
use crate::found::Found;
use crate::image::Image;
use crate::load::{self, Answer, Told};
use crate::tape::{Cut, Cutter, Entry, Keeps, Tape};

/// Large enough for each of the databases.
pub(crate) const DISK: usize = 640 << 20;

/// The number of answers per cut, and the minimum in total: enough for log rotations and checkpoints.
const ANSWERS: usize = 10;
const ANSWERS_AT_LEAST: usize = 800;

/// The duration of a flush while clients work: longer than an answer takes to arrive, so that an answer that did not
/// wait for the flush arrives before it.
pub(crate) const FLUSH: Duration = Duration::from_millis(3);

/// One of this many cuts comes while the first server creates its tables.
const TABLES: usize = 10;

/// One of this many disks loses its power again during recovery.
const AGAIN: usize = 4;

/// The maximum number of cached writes of a disk that never receives a flush. Otherwise the whole file system would be
/// lost.
const SMALL_CACHE: usize = 64;

/// The parameters of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The database.
    pub kind: Kind,
    /// The number of power cuts.
    pub cuts: usize,
    /// Whether the file system flushes the disk.
    pub barriers: Barriers,
}

/// The outcome of one cut.
#[derive(Debug)]
pub struct Outcome {
    /// The cut.
    pub cut: Cut,
    /// The number of writes that had not been flushed.
    pub volatile: usize,
    /// The number of answers that clients had received by then.
    pub answers: usize,
    /// Another cut during recovery, with its position on the tape of the recovery.
    pub again: Option<Cut>,
    /// Whether the file system had to be repaired before it could be mounted.
    pub repaired: bool,
    /// Lost or wrong data.
    pub faults: Vec<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cut, volatile, answers, .. } = self;
        let Cut { position, keeps } = cut;
        write!(formatter, "cut at {position}, {answers} answers, {volatile} writes not flushed, {keeps} left")?;
        if let Some(Cut { position, keeps }) = &self.again {
            write!(formatter, "; again at {position} while it came back, {keeps} left")?;
        }
        match self.faults.as_slice() {
            [] => write!(formatter, ": nothing lost"),
            [first, rest @ ..] => write!(formatter, ": {first} (and {} more)", rest.len()),
        }
    }
}

/// The tape of a disk while clients worked, and the answers that they received.
#[derive(Debug)]
pub struct Run {
    pub(crate) tape: Tape,
    /// The tape position at which the database existed and was empty.
    pub(crate) empty: usize,
    pub(crate) answers: Vec<Answer>,
    /// Reused for recovery, since MariaDB on another port would be taken for another database.
    pub(crate) port: u16,
}

impl Run {
    /// The number of answers that clients received.
    #[must_use]
    pub fn answers(&self) -> usize {
        self.answers.len()
    }

    /// The number of writes on the tape.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.tape.writes()
    }

    /// The number of flushes on the tape.
    #[must_use]
    pub fn flushes(&self) -> usize {
        self.tape.flushes()
    }
}

/// Runs clients on a database whose disk is recorded.
///
/// # Errors
/// If that does not work on this machine.
pub async fn record(plan: &Plan, random: &mut StdRng) -> anyhow::Result<Run> {
    let disk = Disk::new(Image::new(DISK));
    let drive = Drive::plug_in(&disk)?;
    drive.format()?;
    drive.mount(plan.barriers)?;
    let port = free_port()?;
    let database = Database::start(plan.kind, &drive.files(), port).await?;
    let empty = disk.position();
    let mut tenured = Tenured::start(&TenuredOptions::store(database.url())).await?;
    disk.slow_down(FLUSH);
    let count = (plan.cuts * ANSWERS).max(ANSWERS_AT_LEAST);
    let answers = load::run(&tenured.url(), &disk, count, random).await?;
    let tape = disk.take_tape();
    tenured.kill().await?;
    database.kill().await?;
    ensure!(
        plan.barriers == Barriers::Off || tape.flushes() > 0,
        "the disk was never flushed: the loop device does not pass flushes on"
    );
    Ok(Run { tape, empty, answers, port })
}

/// Cuts the power right after answers and writes, and passes the outcome of each cut to `tell`.
///
/// # Errors
/// If that does not work on this machine.
pub async fn cut(plan: &Plan, run: &Run, random: &mut StdRng, mut tell: impl FnMut(Outcome)) -> anyhow::Result<()> {
    let cache = if plan.barriers == Barriers::On { usize::MAX } else { SMALL_CACHE };
    let mut cutter = Cutter::new(&run.tape, cache);
    for (number, position) in positions(plan, run, random).into_iter().enumerate() {
        let cut = Cut { position, keeps: Keeps::any(random) };
        let (image, volatile) = cutter.cut(cut, random);
        let disk = Disk::new(image);
        let answers = run.answers.iter().filter(|answer| answer.had <= position).count();
        let mut outcome = Outcome { cut, volatile, answers, again: None, repaired: false, faults: Vec::new() };
        bring_back(plan.kind, &disk, run, &mut outcome).await?;
        if number % AGAIN == 0 && outcome.faults.is_empty() {
            let tape = disk.take_tape();
            let again = Cut { position: random.random_range(0..=tape.entries.len()), keeps: Keeps::any(random) };
            outcome.again = Some(again);
            let (image, _) = Cutter::new(&tape, usize::MAX).cut(again, random);
            bring_back(plan.kind, &Disk::new(image), run, &mut outcome).await?;
        }
        tell(outcome);
    }
    Ok(())
}

/// Chooses the positions of the cuts, in order: one of ten while the first server creates its tables, if the database
/// survives that; one at the first answer; of the rest, about half right after another answer, and half right after a
/// write, which is not flushed yet: either any write, or one of the tenth with the most unflushed writes before them.
fn positions(plan: &Plan, run: &Run, random: &mut StdRng) -> Vec<usize> {
    let Some(first) = run.answers.first().map(|first| first.had) else { return Vec::new() };
    let tables = if plan.kind.survives_new_tables() { plan.cuts.div_ceil(TABLES) } else { 0 };
    let mut writes = volatile_writes(&run.tape.entries[first..], first);
    writes.sort_by_key(|(_, before)| std::cmp::Reverse(*before));
    let (all, tenth) = (writes.len(), writes.len().div_ceil(10));
    let any = |_| match random.random_range(0..4) {
        0 if all > 0 => writes[random.random_range(0..all)].0,
        1 if all > 0 => writes[random.random_range(0..tenth)].0,
        _ => run.answers[random.random_range(0..run.answers.len())].had,
    };
    let mut positions: Vec<usize> = (tables + 1..plan.cuts).map(any).collect();
    positions.push(first);
    positions.extend((0..tables).map(|_| random.random_range(run.empty..first)));
    positions.sort_unstable();
    positions
}

/// The position right after each write, with the number of unflushed writes before it.
fn volatile_writes(entries: &[Entry], first: usize) -> Vec<(usize, usize)> {
    let mut before = 0;
    let mut writes = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Flush => before = 0,
            Entry::Gone => {}
            Entry::Write { .. } => {
                writes.push((first + number + 1, before));
                before += 1;
            }
        }
    }
    writes
}

/// Plugs in the remaining image, and records all faults found.
pub(crate) async fn bring_back(kind: Kind, disk: &Disk, run: &Run, outcome: &mut Outcome) -> anyhow::Result<()> {
    let drive = Drive::plug_in(disk)?;
    if drive.mount(Barriers::On).is_err() {
        outcome.repaired = true;
        if let Err(error) = drive.repair().and_then(|()| drive.mount(Barriers::On)) {
            outcome.faults.push(format!("the file system does not come back: {error:#}"));
            return Ok(());
        }
    }
    match look(kind, &drive, run, outcome.cut.position).await {
        Ok(faults) => outcome.faults.extend(faults),
        Err(error) => outcome.faults.push(format!("the database does not come back: {error:#}")),
    }
    Ok(())
}

/// Checks the remaining data, and whether a server works with it; stops all processes.
async fn look(kind: Kind, drive: &Drive, run: &Run, cut: usize) -> anyhow::Result<Vec<String>> {
    let database = Database::start(kind, &drive.files(), run.port).await?;
    let has_tables = run.answers.first().is_some_and(|first| first.had <= cut);
    let found = read(&database, drive, has_tables).await.context("reading what is left")?;
    let mut faults = found.faults(&run.answers, cut);
    if faults.is_empty() {
        faults = serve(&database.url(), &found, &run.answers, cut).await.context("serving what is left")?;
    }
    database.kill().await?;
    drive.unmount()?;
    if let Err(error) = drive.check() {
        faults.push(format!("the file system is broken: {error:#}"));
    }
    Ok(faults)
}

/// Reads the remaining data; of a SQLite file it reads a copy, so that the server finds the original unchanged. If
/// tables may be missing, they are created first.
async fn read(database: &Database, drive: &Drive, has_tables: bool) -> anyhow::Result<Found> {
    let folder = tempfile::tempdir()?;
    let url = match database {
        Database::Sqlite(_) => {
            drive.copy_files(folder.path())?;
            sqlite_url(folder.path())
        }
        Database::Postgres(_) | Database::Mariadb(_) => database.url(),
    };
    if !has_tables {
        migrate(&StoreOptions::new(&url)).await.context("making the tables")?;
    }
    Found::read(&url).await
}

/// Starts a server on the remaining data: it must report the same state, and grant a new token.
async fn serve(url: &str, found: &Found, answers: &[Answer], cut: usize) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut tenured = Tenured::start(&TenuredOptions::store(url)).await?;
    let mut locks = LockServiceClient::connect(tenured.url()).await?;
    let holds = holds(&mut locks).await?;
    for (name, token) in holds.symmetric_difference(&found.holds()) {
        faults.push(format!("the log and the server disagree on whether {name} is held with token {token}"));
    }
    let request = AcquireRequest {
        names: vec![format!("free at {}", found.revision())],
        ttl: Some(prost_types::Duration { seconds: 60, nanos: 0 }),
        wait: Some(prost_types::Duration::default()),
        ..AcquireRequest::default()
    };
    let token = locks.acquire(request).await?.into_inner().token;
    let given = answers.iter().filter(|answer| answer.had <= cut).filter_map(|answer| match answer.told {
        Told::Granted { token, .. } => Some(token),
        _ => None,
    });
    let highest = given.max().unwrap_or_default().max(found.revision());
    if token <= highest {
        faults.push(format!("token {token} was given after {highest}"));
    }
    tenured.kill().await?;
    Ok(faults)
}

/// The holds according to a server: names and tokens.
async fn holds(locks: &mut LockServiceClient<tonic::transport::Channel>) -> anyhow::Result<BTreeSet<(String, u64)>> {
    let mut holds = BTreeSet::new();
    let mut page_token = String::new();
    loop {
        let request = ListLocksRequest { page_size: 1000, page_token, ..ListLocksRequest::default() };
        let page = locks.list_locks(request).await?.into_inner();
        for lock in &page.locks {
            holds.extend(lock.holders.iter().map(|holder| (lock.name.clone(), holder.token)));
        }
        if page.next_page_token.is_empty() {
            return Ok(holds);
        }
        page_token = page.next_page_token;
    }
}
