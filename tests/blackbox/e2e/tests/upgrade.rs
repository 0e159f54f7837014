//! Tests in which servers are replaced one after the other, by a newer version and by the older one again, under load,
//! without any effect on clients.
//!
//! `cargo xtask upgrade --from RELEASE` uses two versions; otherwise both are this one.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tempfile::{TempDir, tempdir};
use tenure_client::{Client, ClientOptions, Guard};
use tenure_harness::{MariaDb, Postgres, Tenured, TenuredOptions, built, wait_until};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The number of servers, of permanent holders, of waiters, and of workers that acquire and release.
const SERVERS: usize = 3;
const HOLDERS: usize = 6;
const WAITERS: usize = 5;
const WORKERS: usize = 6;

/// Shorter than the replacement of all servers takes, longer than that of one.
const TTL: Duration = Duration::from_secs(3);

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of acquisitions of each worker between two replacements.
const ROUNDS: u64 = 10;

/// The program of a server, which is replaced while the server is stopped.
struct Program {
    folder: TempDir,
}

impl Program {
    fn new(first: &Path) -> Self {
        let program = Self { folder: tempdir().unwrap() };
        symlink(first, program.path()).unwrap();
        program
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("tenured")
    }

    fn replace(&self, by: &Path) {
        std::fs::remove_file(self.path()).unwrap();
        symlink(by, self.path()).unwrap();
    }
}

/// The load while servers are replaced.
struct Load {
    clients: Vec<Client>,
    guards: Vec<Guard>,
    /// The waiters for the first guard's lock, in order.
    waiters: Vec<JoinHandle<Guard>>,
    workers: Vec<JoinHandle<()>>,
    rounds: Vec<Arc<AtomicU64>>,
    stop: Arc<AtomicBool>,
}

impl Load {
    /// Each client knows all servers, and starts with a different one.
    async fn start(servers: &[Tenured]) -> Self {
        let mut clients = Vec::new();
        for first in 0..SERVERS {
            let endpoints = (0..SERVERS).map(|offset| servers[(first + offset) % SERVERS].url());
            clients.push(Client::connect(ClientOptions::new().endpoints(endpoints)).unwrap());
        }
        let mut load = Self {
            clients,
            guards: Vec::new(),
            waiters: Vec::new(),
            workers: Vec::new(),
            rounds: Vec::new(),
            stop: Arc::default(),
        };
        for number in 0..HOLDERS {
            load.guards.push(load.client(number).lock(format!("held-{number}")).ttl(TTL).acquire().await.unwrap());
        }
        for number in 0..WAITERS {
            let acquire = load.client(number).lock("held-0").ttl(TTL).owner(format!("waiter-{number}")).acquire();
            load.waiters.push(tokio::spawn(async move { acquire.await.unwrap() }));
            let client = load.client(number);
            let queued = async || client.get_lock("held-0").await.is_ok_and(|lock| lock.waiters.len() == number + 1);
            wait_until(PATIENCE, "the waiter is in the queue", queued).await;
        }
        for number in 0..WORKERS {
            load.work(number);
        }
        load
    }

    fn client(&self, number: usize) -> &Client {
        &self.clients[number % SERVERS]
    }

    /// Acquires and releases a lock, without ever receiving an error.
    fn work(&mut self, number: usize) {
        let (client, stop, rounds) = (self.client(number).clone(), self.stop.clone(), Arc::<AtomicU64>::default());
        self.rounds.push(rounds.clone());
        self.workers.push(tokio::spawn(async move {
            let mut last = 0;
            while !stop.load(Ordering::SeqCst) {
                let guard = client.lock(format!("work-{number}")).ttl(TTL).acquire().await.unwrap();
                assert!(guard.token() > last, "{} after {last}", guard.token());
                last = guard.token();
                guard.release().await.unwrap();
                rounds.fetch_add(1, Ordering::SeqCst);
            }
        }));
    }

    /// Checks that all clients make progress, and the holds are unchanged.
    async fn check_progress(&self) {
        let before: Vec<u64> = self.rounds.iter().map(|rounds| rounds.load(Ordering::SeqCst)).collect();
        let all = async || {
            let now = self.rounds.iter().map(|rounds| rounds.load(Ordering::SeqCst));
            now.zip(&before).all(|(now, before)| now >= before + ROUNDS)
        };
        wait_until(PATIENCE, "all workers make progress", all).await;
        for (number, guard) in self.guards.iter().enumerate() {
            assert!(guard.is_valid(), "{:?}", guard.lost_reason());
            let lock = self.client(number).get_lock(&format!("held-{number}")).await.unwrap();
            assert_eq!(lock.holders.first().map(|holder| holder.token), Some(guard.token()));
        }
        let queue = self.client(0).get_lock("held-0").await.unwrap().waiters;
        let queue: Vec<&str> = queue.iter().map(|waiter| waiter.owner.as_str()).collect();
        let all: Vec<String> = (0..WAITERS).map(|number| format!("waiter-{number}")).collect();
        assert_eq!(queue, all);
    }

    /// The waiters are granted the lock one after the other, in order.
    async fn finish(self) {
        self.stop.store(true, Ordering::SeqCst);
        for worker in self.workers {
            timeout(PATIENCE, worker).await.expect("it ends in time").expect("no call fails");
        }
        let mut guards = self.guards.into_iter();
        let mut guard = guards.next().unwrap();
        for waiter in self.waiters {
            let last = guard.token();
            guard.release().await.unwrap();
            guard = timeout(PATIENCE, waiter).await.expect("it ends in time").expect("no call fails");
            assert!(guard.token() > last, "{} after {last}", guard.token());
        }
        for guard in guards.chain([guard]) {
            guard.release().await.unwrap();
        }
    }
}

/// The versions in the order in which they serve.
fn versions() -> Vec<PathBuf> {
    let this = built("tenured").unwrap();
    match std::env::var_os("TENURE_UPGRADE_FROM").map(PathBuf::from) {
        Some(older) => vec![older.clone(), this.clone(), older, this],
        None => vec![this.clone(), this],
    }
}

async fn rolling_upgrade_loses_nothing(store: String) {
    let versions = versions();
    let programs: Vec<Program> = (0..SERVERS).map(|_| Program::new(&versions[0])).collect();
    let mut servers = Vec::new();
    for program in &programs {
        let options = TenuredOptions { program: Some(program.path()), ..TenuredOptions::store(&store) };
        servers.push(Tenured::start(&options).await.unwrap());
    }
    let load = Load::start(&servers).await;
    load.check_progress().await;
    for version in &versions[1..] {
        for (server, program) in servers.iter_mut().zip(&programs) {
            server.stop().await.unwrap();
            program.replace(version);
            load.check_progress().await;
            server.start_again().await.unwrap();
            load.check_progress().await;
        }
    }
    load.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rolling_upgrade_on_postgres_loses_nothing() {
    let postgres = Postgres::start().await.unwrap();
    rolling_upgrade_loses_nothing(postgres.create_database().await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rolling_upgrade_on_mariadb_loses_nothing() {
    let mariadb = MariaDb::start().await.unwrap();
    rolling_upgrade_loses_nothing(mariadb.create_database().await.unwrap()).await;
}
