//! Stores whose database fails and recovers.

use std::ops::DerefMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tenure_core::testing::filler;
use tenure_core::{Recorded, Revision, ServerId};
use tenure_harness::{Flavour, MySql, MySqlRouter, MySqlServer, Postgres, Process, on_mariadb_and_mysql, wait_until};
use tenure_server::store::{Batch, ServerRecord, Store, StoreError, StoreOptions, migrate, open};

const NAMESPACE: &str = "default";

/// Longer than any operation in these tests.
const DEADLINE: Duration = Duration::from_secs(60);

/// More than the size of the pool.
const AT_ONCE: u64 = 12;

fn options(url: &str) -> StoreOptions {
    let bound = Duration::from_secs(2);
    StoreOptions { connect_timeout: bound, statement_timeout: bound, ..StoreOptions::new(url) }
}

async fn store(url: &str) -> Arc<dyn Store> {
    migrate(&options(url)).await.expect("the tables are created");
    open(&options(url)).await.expect("the store opens")
}

fn batch(previous: Revision, number: u64) -> Batch {
    let events = vec![Recorded { revision: previous.next(), event: filler(number) }];
    Batch { namespace: NAMESPACE.into(), previous, events, server: ServerId(1), number, at_ms: 0 }
}

async fn heartbeat(store: &dyn Store, heartbeat: u64) -> Result<Vec<ServerRecord>, StoreError> {
    let (server, lease) = (ServerId(1), Duration::from_secs(10));
    store
        .heartbeat(&ServerRecord {
            server,
            heartbeat,
            lease,
            label: String::new(),
            address: String::new(),
            certificate: String::new(),
            dead: false,
        })
        .await
}

/// Appends one batch after the other, like a sequencer, and returns the acknowledged ones.
async fn append_until(store: Arc<dyn Store>, stop: Arc<AtomicBool>) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    let mut previous = Revision(0);
    let mut number = 0;
    while !stop.load(Ordering::SeqCst) {
        number += 1;
        let batch = batch(previous, number);
        let mut uncertain = false;
        while !stop.load(Ordering::SeqCst) {
            let start = Instant::now();
            let outcome = store.append(&batch, false).await;
            assert!(start.elapsed() < Duration::from_secs(20), "{outcome:?} after {:?}", start.elapsed());
            match outcome {
                Ok(()) => {}
                // There is no other writer, so the conflicting batch is this one.
                Err(StoreError::Conflict) => assert!(uncertain, "a conflict without another writer"),
                Err(StoreError::OutcomeUnknown(_)) => {
                    uncertain = true;
                    continue;
                }
                Err(StoreError::Unavailable(_)) => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
                Err(error) => panic!("{error}"),
            }
            acknowledged.push(number);
            previous = batch.revision();
            break;
        }
    }
    acknowledged
}

/// All acknowledged batches are present, in order, once.
async fn check_log(store: &dyn Store, acknowledged: &[u64]) {
    let mut found = Vec::new();
    let mut after = Revision(0);
    loop {
        let tail = store.read(NAMESPACE, after, 1000).await.expect("the log can be read");
        let Some(last) = tail.batches.last() else { break };
        after = last.revision();
        found.extend(tail.batches.iter().map(|batch| batch.number));
    }
    // The last batch may be present without an acknowledgement.
    found.truncate(acknowledged.len());
    assert_eq!(found, acknowledged);
}

/// All tasks can use the store concurrently, so no connection of the pool was lost.
async fn check_pool(store: &Arc<dyn Store>) {
    let reads: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.heads().await })
        })
        .collect();
    for read in reads {
        let heads = read.await.expect("no panic").expect("the store responds");
        assert_eq!(heads.len(), 1);
    }
}

/// A database that can be stopped and restarted.
trait Database: DerefMut<Target = Process> {
    async fn start_again(&mut self) -> anyhow::Result<()>;
}

impl Database for Postgres {
    async fn start_again(&mut self) -> anyhow::Result<()> {
        self.start_again().await
    }
}

impl<F: Flavour> Database for MySqlServer<F> {
    async fn start_again(&mut self) -> anyhow::Result<()> {
        self.start_again().await
    }
}

impl Database for MySqlRouter {
    async fn start_again(&mut self) -> anyhow::Result<()> {
        self.start_again().await
    }
}

async fn recovers(mut database: impl Database, url: String) {
    let store = store(&url).await;
    let stop = Arc::new(AtomicBool::new(false));
    let appending = tokio::spawn(append_until(store.clone(), stop.clone()));
    let head = async || store.read(NAMESPACE, Revision::MAX, 1).await.map(|tail| tail.head.revision);
    wait_until(DEADLINE, "some appends", async || head().await.is_ok_and(|head| head > Revision(20))).await;

    // Killed under load, and down for long enough that all operations in flight fail.
    database.kill().await.expect("the database is killed");
    assert!(matches!(heartbeat(&*store, 1).await, Err(StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_))));
    for _ in 0..AT_ONCE {
        let heads = store.heads().await;
        assert!(matches!(heads, Err(StoreError::Unavailable(_))), "{heads:?}");
    }
    database.start_again().await.expect("the database starts again");
    let current = async || head().await.unwrap_or_default();
    let start = current().await;
    wait_until(DEADLINE, "appends continue", async || head().await.is_ok_and(|head| head > start)).await;
    heartbeat(&*store, 1).await.expect("heartbeats continue");
    check_pool(&store).await;

    // Frozen: connections stay open without replies, and callers time out or are dropped.
    database.pause().await.expect("the database is frozen");
    let abandoned: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.load(NAMESPACE).await })
        })
        .collect();
    let waited = Instant::now();
    let heads = store.heads().await;
    assert!(matches!(heads, Err(StoreError::Unavailable(_))), "{heads:?}");
    assert!(waited.elapsed() < Duration::from_secs(20), "an error after {:?}", waited.elapsed());
    abandoned.iter().for_each(tokio::task::JoinHandle::abort);
    database.resume().expect("the database resumes");
    let start = current().await;
    wait_until(DEADLINE, "appends continue", async || head().await.is_ok_and(|head| head > start)).await;
    check_pool(&store).await;

    stop.store(true, Ordering::SeqCst);
    let acknowledged = appending.await.expect("the appender does not panic");
    check_log(&*store, &acknowledged).await;
}

#[tokio::test]
async fn store_recovers_when_postgres_does() {
    let postgres = Postgres::start().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is created");
    recovers(postgres, url).await;
}

async fn store_recovers_when_the_database_does<F: Flavour>() {
    let server = MySqlServer::<F>::start().await.expect("it starts");
    let url = server.create_database().await.expect("a database is created");
    recovers(server, url).await;
}

on_mariadb_and_mysql!(store_recovers_when_the_database_does);

#[tokio::test]
async fn store_recovers_when_mysql_router_does() {
    let mysql = MySql::shared().await.expect("MySQL starts");
    let router = MySqlRouter::start(mysql).await.expect("MySQL Router starts");
    let url = mysql.create_database().await.expect("a database is created");
    let url = url.replace(&format!(":{}/", mysql.port()), &format!(":{}/", router.port()));
    recovers(router, url).await;
}

/// After PostgreSQL's restart the listening connection is reestablished, too.
#[tokio::test]
async fn hints_resume_after_a_restart() {
    let mut postgres = Postgres::start().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is created");
    let (one, two) = (store(&url).await, store(&url).await);
    let mut previous = Revision(0);
    for _ in 0..2 {
        // Drains the earlier hints.
        while tokio::time::timeout(Duration::from_secs(1), two.hint()).await.is_ok() {}
        let hinted = tokio::spawn({
            let two = two.clone();
            async move { two.hint().await }
        });
        let batch = batch(previous, previous.0);
        // After an unknown outcome it retries, and then conflicts with itself.
        let appended = async || matches!(one.append(&batch, true).await, Ok(()) | Err(StoreError::Conflict));
        wait_until(DEADLINE, "an append", appended).await;
        previous = batch.revision();
        wait_until(DEADLINE, "a hint", async || hinted.is_finished()).await;
        postgres.kill().await.expect("PostgreSQL is killed");
        postgres.start_again().await.expect("PostgreSQL starts again");
    }
}
