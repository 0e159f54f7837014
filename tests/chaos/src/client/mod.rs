//! A client process: its programs, and where they run.

mod channels;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tenure_checker::Entry;
use tenure_client::{Client, ClientOptions};
use tenure_programs::{Habits, Place, Task, start};
use tokio::io::AsyncReadExt;

use self::channels::Channels;
use crate::clock::now;
use crate::journal::Journal;

/// How programs go about it: with many grants, and without haste after what failed.
const HABITS: Habits = Habits { graces: 100..600, mostly_short: true, pause: Some(Duration::from_millis(20)) };

/// What a client process is told.
#[derive(Args, Clone, Debug)]
pub struct ClientArguments {
    /// The servers, as URLs.
    #[arg(long, value_delimiter = ',')]
    pub servers: Vec<String>,
    /// Where it writes what it does.
    #[arg(long)]
    pub journal: PathBuf,
    /// What it draws.
    #[arg(long)]
    pub seed: u64,
    /// How many of its programs use locks.
    #[arg(long, default_value_t = 4)]
    pub workers: usize,
    /// How many locks there are.
    #[arg(long, default_value_t = 16)]
    pub locks: u32,
}

/// A process, as its programs know it.
struct Site {
    journal: Journal,
    is_over: AtomicBool,
}

impl Place for Site {
    fn now(&self) -> Duration {
        now()
    }

    fn is_time(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    fn write(&self, entry: Entry) {
        self.journal.write(&entry);
    }
}

/// Runs until the end of its input, and then brings to an end what it does.
///
/// # Errors
/// If it cannot begin.
pub async fn run(arguments: ClientArguments) -> anyhow::Result<()> {
    let ClientArguments { servers, journal, seed, workers, locks } = arguments;
    let name = journal.file_stem().context("a journal has a name")?.to_string_lossy().into_owned();
    let site = Arc::new(Site { journal: Journal::begin(&journal)?, is_over: AtomicBool::new(false) });
    let client = Client::connect(ClientOptions::new().endpoints(&servers))?;
    let connector = Arc::new(Channels::to(&servers)?);
    let task = Task { name, place: site.clone(), servers, connector, workers, locks, habits: HABITS };
    let programs = start(&client, &task, seed);
    // Its end is also the end of the process that gave it.
    let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
    site.is_over.store(true, Ordering::SeqCst);
    for program in programs {
        program.await?;
    }
    // Bounded by the client; what is left ends by its TTL.
    let _ = client.close().await;
    Ok(())
}
