//! The client process: its programs and their environment.

mod channels;
mod driver;
mod foreign;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::json;
use tenure_checker::Entry;
use tenure_client::{Client, ClientOptions};
use tenure_programs::{Environment, ProgramOptions, Task, start};
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;

use self::channels::Channels;
use self::driver::Driver;
use crate::clock::now;
use crate::journal::Journal;

/// Mostly short holds, so that there are many grants, and a pause before a failed attempt to open a session is retried.
const OPTIONS: ProgramOptions =
    ProgramOptions { graces: 100..600, mostly_short: true, pause: Some(Duration::from_millis(20)) };

/// The options of a client process.
#[derive(Args, Clone, Debug)]
pub struct ClientArguments {
    /// The servers, as URLs.
    #[arg(long, value_delimiter = ',')]
    pub servers: Vec<String>,
    /// The file of its journal.
    #[arg(long)]
    pub journal: PathBuf,
    /// Seed of its random choices.
    #[arg(long)]
    pub seed: u64,
    /// Number of its programs that use locks.
    #[arg(long, default_value_t = 4)]
    pub workers: usize,
    /// Number of locks.
    #[arg(long, default_value_t = 16)]
    pub locks: u32,
    /// Its language, if not Rust.
    #[arg(long)]
    pub language: Option<String>,
}

/// The process, as seen by its programs.
struct ProcessEnvironment {
    journal: Journal,
    is_over: AtomicBool,
}

impl Environment for ProcessEnvironment {
    fn now(&self) -> Duration {
        now()
    }

    fn may_continue(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    fn write(&self, entry: Entry) {
        self.journal.write(&entry);
    }
}

/// Runs until the end of standard input, then shuts down.
///
/// # Errors
/// If it cannot start, or a client in another language does not follow the protocol.
pub async fn run(arguments: ClientArguments) -> anyhow::Result<()> {
    let name = arguments.journal.file_stem().context("a journal has a name")?.to_string_lossy().into_owned();
    let environment =
        Arc::new(ProcessEnvironment { journal: Journal::begin(&arguments.journal)?, is_over: AtomicBool::new(false) });
    match &arguments.language {
        None => run_rust(&arguments, name, environment).await,
        Some(language) => run_driver(&arguments, language, name, environment).await,
    }
}

/// Standard input ends when the parent process ends.
async fn input_ends() {
    let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
}

async fn run_rust(
    arguments: &ClientArguments,
    name: String,
    environment: Arc<ProcessEnvironment>,
) -> anyhow::Result<()> {
    let ClientArguments { servers, seed, workers, locks, .. } = arguments.clone();
    let client = Client::connect(ClientOptions::new().endpoints(&servers))?;
    let connector = Arc::new(Channels::to(&servers)?);
    let task = Task { name, environment: environment.clone(), servers, connector, workers, locks, options: OPTIONS };
    let programs = start(&client, &task, seed);
    input_ends().await;
    environment.is_over.store(true, Ordering::SeqCst);
    for program in programs {
        program.await?;
    }
    // Bounded by the client; sessions that remain end by their TTL.
    let _ = client.close().await;
    Ok(())
}

async fn run_driver(
    arguments: &ClientArguments,
    language: &str,
    name: String,
    environment: Arc<ProcessEnvironment>,
) -> anyhow::Result<()> {
    let (driver, child) = Driver::start(language, environment.clone())?;
    let driver = Arc::new(driver);
    let connected = driver.ask("connect", json!({"client": "c", "endpoints": arguments.servers})).await?;
    anyhow::ensure!(connected.is_ok(), "it cannot connect: {connected:?}");
    let watching = tokio::spawn(foreign::watch(driver.clone(), name));
    let mut rng = StdRng::seed_from_u64(arguments.seed);
    let mut programs = JoinSet::new();
    for number in 0..arguments.workers {
        let (name, rng) = (format!("s{number}"), StdRng::from_rng(&mut rng));
        let (driver, options, locks) = (driver.clone(), OPTIONS, arguments.locks);
        programs.spawn(foreign::Worker { driver, name, options, locks, rng }.run());
    }
    programs.spawn(foreign::member(driver.clone(), StdRng::from_rng(&mut rng)));
    let end = async {
        input_ends().await;
        environment.is_over.store(true, Ordering::SeqCst);
        std::future::pending().await
    };
    tokio::select! {
        () = end => {}
        ended = programs.join_all() => ended.into_iter().collect::<anyhow::Result<()>>()?,
    }
    let _ = driver.ask("close", json!({"client": "c"})).await?;
    watching.await??;
    driver.end(child).await?;
    Ok(())
}
