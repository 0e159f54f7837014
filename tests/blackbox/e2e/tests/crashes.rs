//! Tests of `kill -9` of the server, and of the database, under load: the service recovers by itself, acknowledged
//! changes persist, and no session is lost early.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_e2e::{Calls, Store, on_every_store};
use tenure_harness::{
    Flavour, MariaDbPrograms, MySql, MySqlPrograms, MySqlServer, Postgres, Tenured, TenuredOptions, wait_until,
};
use tenure_proto::v1::ListLocksRequest;
use tokio::task::JoinHandle;
use tonic::Code;

on_every_store!(killed_server_loses_nothing);

/// Far longer than a test: a session that is lost is lost early.
const TTL: Duration = Duration::from_secs(600);

const WORKERS: usize = 8;

/// The number of locks that each worker has been granted and kept before a crash, and again after it.
const GRANTS: usize = 25;

/// The pause between two attempts of a worker whose server is down.
const PAUSE: Duration = Duration::from_millis(20);

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// The locks of one worker with their tokens.
type Held = BTreeMap<String, u64>;

/// Acquires locks, one after the other, and keeps every second one; continues until stopped, despite failures.
struct Worker {
    held: Arc<std::sync::Mutex<Held>>,
    task: JoinHandle<()>,
}

impl Worker {
    fn start(number: usize, url: &str, stop: &Arc<AtomicBool>) -> Self {
        let held: Arc<std::sync::Mutex<Held>> = Arc::default();
        let (url, stop, acknowledged) = (url.to_owned(), Arc::clone(stop), Arc::clone(&held));
        let task = tokio::spawn(async move {
            let session = format!("worker {number}");
            let mut highest = 0;
            for lock in 0.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let name = format!("{session} lock {lock}");
                let (lock_name, id) = (name.as_str(), session.as_str());
                let acquire = |calls: Calls| async move { calls.try_lock(lock_name, id, TTL).await };
                let token = until_replied(&url, acquire).await.token;
                assert!(token > highest, "{name} has token {token} after {highest}");
                highest = token;
                if lock % 2 == 0 {
                    acknowledged.lock().unwrap().insert(name, token);
                } else {
                    let release = |calls: Calls| async move { calls.release(lock_name, id, token).await };
                    until_replied(&url, release).await;
                }
            }
        });
        Self { held, task }
    }

    fn held(&self) -> Held {
        self.held.lock().unwrap().clone()
    }
}

/// Calls until there is a reply: an error of a valid request fails the test, an unavailable server does not.
async fn until_replied<T, F: Future<Output = Result<T, tonic::Status>>>(url: &str, call: impl Fn(Calls) -> F) -> T {
    loop {
        if let Ok(calls) = Calls::connect(url).await {
            match call(calls).await {
                Ok(reply) => return reply,
                Err(status) => assert!(is_transient(&status), "{status:?}"),
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns whether a call failed because of an outage.
fn is_transient(status: &tonic::Status) -> bool {
    use tonic::Code;
    matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Cancelled | Code::DeadlineExceeded)
}

struct Load {
    workers: Vec<Worker>,
    stop: Arc<AtomicBool>,
}

impl Load {
    fn start(url: &str) -> Self {
        let stop = Arc::default();
        let workers = (0..WORKERS).map(|number| Worker::start(number, url, &stop)).collect();
        Self { workers, stop }
    }

    /// Waits until every worker has been granted more.
    async fn makes_progress(&self) {
        let before: Vec<usize> = self.workers.iter().map(|worker| worker.held().len()).collect();
        wait_until(PATIENCE, "all workers are granted locks", async || {
            let stuck = self.workers.iter().zip(&before).any(|(worker, before)| worker.held().len() < before + GRANTS);
            assert!(!self.workers.iter().any(|worker| worker.task.is_finished()), "a worker has failed");
            !stuck
        })
        .await;
    }

    /// Ends the load and returns what is held.
    async fn end(self) -> Vec<Held> {
        self.stop.store(true, Ordering::Relaxed);
        let mut held = Vec::new();
        for worker in self.workers {
            worker.task.await.unwrap();
            held.push(worker.held.lock().unwrap().clone());
        }
        held
    }
}

/// Checks that all acknowledged holds exist under the same tokens, and no others.
async fn check(url: &str, held: &[Held]) {
    let calls = Calls::connect(url).await.unwrap();
    let mut tokens = BTreeMap::new();
    for (number, held) in held.iter().enumerate() {
        for (name, token) in held {
            let lock = calls.lock(name).await.unwrap();
            let holder = lock.holders.first().unwrap_or_else(|| panic!("{name} is free"));
            assert_eq!((holder.token, holder.session_id.as_str()), (*token, format!("worker {number}").as_str()));
            assert_eq!(tokens.insert(*token, name), None, "a token was granted twice");
        }
    }
    let mut listed = 0;
    let mut request = ListLocksRequest { page_size: 1000, ..ListLocksRequest::default() };
    loop {
        let page_of_locks = calls.locks.clone().list_locks(request.clone()).await.unwrap().into_inner();
        listed += page_of_locks.locks.len();
        if page_of_locks.next_page_token.is_empty() {
            break;
        }
        request.page_token = page_of_locks.next_page_token;
    }
    assert_eq!(listed, tokens.len(), "a released lock is held");
}

/// Restarts a process of the service twice under load, and checks that nothing is lost.
async fn restarts_lose_nothing(url: &str, mut restart: impl AsyncFnMut()) {
    let load = Load::start(url);
    for _ in 0..2 {
        load.makes_progress().await;
        restart().await;
    }
    load.makes_progress().await;
    let held = load.end().await;
    check(url, &held).await;
}

async fn killed_server_loses_nothing(store: Store) {
    let mut server = store.server().await.unwrap();
    let url = server.url();
    restarts_lose_nothing(&url, async || {
        server.kill().await.unwrap();
        server.start_again().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_postgres_loses_nothing() {
    let mut postgres = Postgres::start().await.unwrap();
    let url = postgres.create_database().await.unwrap();
    let server = Tenured::start(&TenuredOptions::store(url)).await.unwrap();
    restarts_lose_nothing(&server.url(), async || {
        postgres.kill().await.unwrap();
        postgres.start_again().await.unwrap();
    })
    .await;
}

async fn killed_database_loses_nothing<F: Flavour>() {
    let mut database = MySqlServer::<F>::start().await.unwrap();
    let url = database.create_database().await.unwrap();
    let server = Tenured::start(&TenuredOptions::store(url)).await.unwrap();
    restarts_lose_nothing(&server.url(), async || {
        database.kill().await.unwrap();
        database.start_again().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_mariadb_loses_nothing() {
    killed_database_loses_nothing::<MariaDbPrograms>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_mysql_loses_nothing() {
    killed_database_loses_nothing::<MySqlPrograms>().await;
}

/// A primary that becomes a secondary: changes fail with the reason, a server that starts waits, and both continue when
/// it is a primary again.
#[tokio::test(flavor = "multi_thread")]
async fn read_only_mysql_is_waited_for() {
    let mysql = MySql::start().await.unwrap();
    let options = TenuredOptions::store(mysql.create_database().await.unwrap());
    let (server, mut late) = (Tenured::start(&options).await.unwrap(), Tenured::prepare(&options).unwrap());
    let calls = Calls::connect(&server.url()).await.unwrap();
    let held = calls.try_lock("held", "holder", TTL).await.unwrap().claim.unwrap();
    mysql.execute("SET GLOBAL super_read_only = 1").await.unwrap();
    let rejected = calls.try_lock("wanted", "holder", TTL).await.unwrap_err();
    assert_eq!(rejected.code(), Code::Unavailable, "{rejected}");
    late.start_unready().await.unwrap();
    let reason = async |server: &Tenured| {
        std::fs::read_to_string(server.log_file()).is_ok_and(|log| log.contains("the database rejects writes"))
    };
    wait_until(PATIENCE, "both servers log why", async || reason(&server).await && reason(&late).await).await;
    mysql.execute("SET GLOBAL super_read_only = 0, GLOBAL read_only = 0").await.unwrap();
    let ready = async |server: &Tenured| server.status("/readyz").await == Some(200);
    wait_until(PATIENCE, "both servers are ready", async || ready(&server).await && ready(&late).await).await;
    let wanted = calls.try_lock("wanted", "holder", TTL).await.unwrap().claim.unwrap();
    assert!(wanted.token > held.token);
    let calls = Calls::connect(&late.url()).await.unwrap();
    assert_eq!(calls.lock("held").await.unwrap().holders[0].token, held.token);
}
