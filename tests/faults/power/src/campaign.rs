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

use crate::contents::DatabaseContents;
use crate::database::{Database, Kind, sqlite_url};
use crate::disk::Disk;
use crate::drive::{Barriers, Drive};
use crate::image::Image;
use crate::load::{self, Answer, Change};
use crate::write_log::{Cut, Cutter, Entry, Surviving, WriteLog};

/// Large enough for each of the databases.
const DISK_SIZE: usize = 640 << 20;

/// The number of answers per cut, and the minimum in total: enough for log rotations and checkpoints.
const ANSWERS: usize = 10;
const MIN_ANSWERS: usize = 800;

/// The duration of a flush while clients work: longer than an answer takes to arrive, so that an answer that did not
/// wait for the flush arrives before it.
const FLUSH_DURATION: Duration = Duration::from_millis(3);

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
    /// Another cut during recovery, with its position in the write log of the recovery.
    pub again: Option<Cut>,
    /// Whether the file system had to be repaired before it could be mounted.
    pub repaired: bool,
    /// Lost or wrong data.
    pub faults: Vec<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cut, volatile, answers, .. } = self;
        let Cut { position, surviving } = cut;
        write!(formatter, "cut at {position}, {answers} answers, {volatile} writes not flushed, {surviving} left")?;
        if let Some(Cut { position, surviving }) = &self.again {
            write!(formatter, "; again at {position} during recovery, {surviving} left")?;
        }
        match self.faults.as_slice() {
            [] => write!(formatter, ": nothing lost"),
            [first, rest @ ..] => write!(formatter, ": {first} (and {} more)", rest.len()),
        }
    }
}

/// The write log of a disk while clients worked, and the answers that they received.
#[derive(Debug)]
pub struct Run {
    pub(crate) write_log: WriteLog,
    /// The position in the write log at which the database existed and was empty.
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

    /// The number of writes in the write log.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.write_log.writes()
    }

    /// The number of flushes in the write log.
    #[must_use]
    pub fn flushes(&self) -> usize {
        self.write_log.flushes()
    }
}

/// Runs clients on a database whose disk is recorded.
///
/// # Errors
/// If that does not work on this machine.
pub async fn record(plan: &Plan, random: &mut StdRng) -> anyhow::Result<Run> {
    let server = RecordedServer::start(plan.kind, plan.barriers).await?;
    let count = (plan.cuts * ANSWERS).max(MIN_ANSWERS);
    let answers = load::run(&server.url(), &server.disk, count, random).await?;
    let run = server.finish(answers).await?;
    ensure!(
        plan.barriers == Barriers::Off || run.flushes() > 0,
        "the disk was never flushed: the loop device does not pass flushes on"
    );
    Ok(run)
}

/// A server on a database whose disk is recorded. The fields are dropped in this order.
pub(crate) struct RecordedServer {
    tenured: Tenured,
    database: Database,
    _drive: Drive,
    pub(crate) disk: Disk,
    empty: usize,
    port: u16,
}

impl RecordedServer {
    pub(crate) async fn start(kind: Kind, barriers: Barriers) -> anyhow::Result<Self> {
        let disk = Disk::new(Image::new(DISK_SIZE));
        let drive = Drive::attach(&disk)?;
        drive.format()?;
        drive.mount(barriers)?;
        let port = free_port()?;
        let database = Database::start(kind, &drive.files(), port).await?;
        let empty = disk.position();
        let tenured = Tenured::start(&TenuredOptions::store(database.url())).await?;
        disk.slow_down(FLUSH_DURATION);
        Ok(Self { tenured, database, _drive: drive, disk, empty, port })
    }

    pub(crate) fn url(&self) -> String {
        self.tenured.url()
    }

    /// Takes the write log, and kills all processes.
    pub(crate) async fn finish(mut self, answers: Vec<Answer>) -> anyhow::Result<Run> {
        let write_log = self.disk.take_write_log();
        self.tenured.kill().await?;
        self.database.kill().await?;
        Ok(Run { write_log, empty: self.empty, answers, port: self.port })
    }
}

/// Cuts the power right after answers and writes, and passes the outcome of each cut to `report`.
///
/// # Errors
/// If that does not work on this machine.
pub async fn cut(plan: &Plan, run: &Run, random: &mut StdRng, mut report: impl FnMut(Outcome)) -> anyhow::Result<()> {
    let cache = if plan.barriers == Barriers::On { usize::MAX } else { SMALL_CACHE };
    let mut cutter = Cutter::new(&run.write_log, cache);
    for (number, position) in positions(plan, run, random).into_iter().enumerate() {
        let cut = Cut { position, surviving: Surviving::any(random) };
        let (image, volatile) = cutter.cut(cut, random);
        let disk = Disk::new(image);
        let answers = run.answers.iter().filter(|answer| answer.received_at <= position).count();
        let mut outcome = Outcome { cut, volatile, answers, again: None, repaired: false, faults: Vec::new() };
        recover_and_check(plan.kind, &disk, run, &mut outcome).await?;
        if number % AGAIN == 0 && outcome.faults.is_empty() {
            let write_log = disk.take_write_log();
            let again =
                Cut { position: random.random_range(0..=write_log.entries.len()), surviving: Surviving::any(random) };
            outcome.again = Some(again);
            let (image, _) = Cutter::new(&write_log, usize::MAX).cut(again, random);
            recover_and_check(plan.kind, &Disk::new(image), run, &mut outcome).await?;
        }
        report(outcome);
    }
    Ok(())
}

/// Chooses the positions of the cuts, in order: one of ten while the first server creates its tables, if the database
/// survives that; one at the first answer; of the rest, about half right after another answer, and half right after a
/// write, which is not flushed yet: either any write, or one of the tenth with the most unflushed writes before them.
fn positions(plan: &Plan, run: &Run, random: &mut StdRng) -> Vec<usize> {
    let Some(first) = run.answers.first().map(|first| first.received_at) else { return Vec::new() };
    let tables = if plan.kind.survives_new_tables() { plan.cuts.div_ceil(TABLES) } else { 0 };
    let mut writes = volatile_writes(&run.write_log.entries[first..], first);
    writes.sort_by_key(|(_, before)| std::cmp::Reverse(*before));
    let (all, tenth) = (writes.len(), writes.len().div_ceil(10));
    let any = |_| match random.random_range(0..4) {
        0 if all > 0 => writes[random.random_range(0..all)].0,
        1 if all > 0 => writes[random.random_range(0..tenth)].0,
        _ => run.answers[random.random_range(0..run.answers.len())].received_at,
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
            Entry::Discarded => {}
            Entry::Write { .. } => {
                writes.push((first + number + 1, before));
                before += 1;
            }
        }
    }
    writes
}

/// Attaches the remaining image, and records all faults found.
pub(crate) async fn recover_and_check(kind: Kind, disk: &Disk, run: &Run, outcome: &mut Outcome) -> anyhow::Result<()> {
    let drive = Drive::attach(disk)?;
    if drive.mount(Barriers::On).is_err() {
        outcome.repaired = true;
        if let Err(error) = drive.repair().and_then(|()| drive.mount(Barriers::On)) {
            outcome.faults.push(format!("the file system cannot be recovered: {error:#}"));
            return Ok(());
        }
    }
    match check_contents(kind, &drive, run, outcome.cut.position).await {
        Ok(faults) => outcome.faults.extend(faults),
        Err(error) => outcome.faults.push(format!("the database cannot be recovered: {error:#}")),
    }
    Ok(())
}

/// Checks the remaining data, and whether a server works with it; stops all processes.
async fn check_contents(kind: Kind, drive: &Drive, run: &Run, cut: usize) -> anyhow::Result<Vec<String>> {
    let database = Database::start(kind, &drive.files(), run.port).await?;
    let has_tables = run.answers.first().is_some_and(|first| first.received_at <= cut);
    let found = read(&database, drive, has_tables).await.context("reading the remaining data")?;
    let mut faults = found.faults(&run.answers, cut);
    if faults.is_empty() {
        faults = serve(&database.url(), &found, &run.answers, cut).await.context("serving the remaining data")?;
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
async fn read(database: &Database, drive: &Drive, has_tables: bool) -> anyhow::Result<DatabaseContents> {
    let folder = tempfile::tempdir()?;
    let url = match database {
        Database::Sqlite(_) => {
            drive.copy_files(folder.path())?;
            sqlite_url(folder.path())
        }
        _ => database.url(),
    };
    if !has_tables {
        migrate(&StoreOptions::new(&url)).await.context("making the tables")?;
    }
    DatabaseContents::read(&url).await
}

/// Starts a server on the remaining data: it must report the same state, and grant a new token.
async fn serve(url: &str, found: &DatabaseContents, answers: &[Answer], cut: usize) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut tenured = Tenured::start(&TenuredOptions::store(url)).await?;
    let mut locks = LockServiceClient::new(tonic::transport::Endpoint::new(tenured.url())?.connect().await?);
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
    let granted = answers.iter().filter(|answer| answer.received_at <= cut).filter_map(|answer| match answer.change {
        Change::Granted { token, .. } => Some(token),
        _ => None,
    });
    let highest = granted.max().unwrap_or_default().max(found.revision());
    if token <= highest {
        faults.push(format!("token {token} was granted after {highest}"));
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
