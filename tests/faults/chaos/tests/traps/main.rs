//! Tests of replication pitfalls that servers must avoid, mostly PostgreSQL's.

mod galera;
mod group_replication;

use std::time::Duration;

use tenure_chaos::failover::{Cluster, Pair};
use tenure_client::{Attempt, Client, ClientOptions, Error, Guard, LostReason, Session, SessionOptions};
use tenure_core::{Event, Recorded, Revision, ServerId};
use tenure_harness::{Tenured, TenuredOptions, wait_until};
use tenure_server::store::{Batch, Store, StoreError, StoreOptions, migrate, open};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than any wait in these tests.
const DEADLINE: Duration = Duration::from_secs(60);

/// Longer than an append takes to start on an open connection, and than a server waits for a new connection.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(3);

/// The number of attempts.
const ATTEMPTS: usize = 5;

/// How long nothing may happen.
const QUIET: Duration = Duration::from_secs(1);

/// Commits that wait for the standby.
const WAITING: &str = "wait_event = 'SyncRep' AND query LIKE '%batches%'";

async fn server(url: String) -> Tenured {
    let options = TenuredOptions::store(url).argument("--server-lease=3000ms");
    Tenured::start(&options).await.expect("the server starts")
}

fn client(server: &Tenured) -> Client {
    Client::connect(ClientOptions::new().endpoints([server.url()]).call_timeout(DEADLINE)).expect("a URL")
}

async fn commit_waits_for_standby(pair: &Pair) {
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE {WAITING}");
    while !pair.primary.ask::<i64>(&sql).await.is_ok_and(|count| count > 0) {
        tokio::task::yield_now().await;
    }
}

/// Requests a lock while the standby is disconnected, such that the commit of the grant waits for it.
///
/// If a server is opening a connection at that moment, this fails, because opening waits for the standby as well. The
/// request is then retried.
async fn acquire_without_standby(pair: &Pair, session: &Session) -> JoinHandle<Result<Guard, Error>> {
    for _ in 0..ATTEMPTS {
        pair.disconnect();
        let session = session.clone();
        let acquiring = tokio::spawn(async move { session.lock("job").acquire().await });
        if timeout(COMMIT_TIMEOUT, commit_waits_for_standby(pair)).await.is_ok() {
            return acquiring;
        }
        pair.reconnect();
        let acquiring = timeout(DEADLINE, acquiring).await.expect("in time");
        acquiring.expect("no panic").expect("it is granted").release().await.expect("it is held");
    }
    panic!("no commit waits for the standby in {ATTEMPTS} attempts");
}

/// PostgreSQL then reports that the commit succeeded, with a warning.
async fn cancel_the_wait(pair: &Pair) {
    let sql = format!("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE {WAITING}");
    pair.primary.execute(&sql).await.expect("the wait is cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_with_cancelled_wait_gets_no_reply_before_the_standby_has_it() {
    let pair = Pair::start(true).await.expect("a pair");
    let server = server(pair.url(pair.primary.port())).await;
    let client = client(&server);
    let session = client.session(SessionOptions::new().ttl(DEADLINE)).await.expect("a session");
    let mut acquiring = acquire_without_standby(&pair, &session).await;
    cancel_the_wait(&pair).await;
    let early = timeout(QUIET, &mut acquiring).await;
    assert!(
        early.is_err(),
        "a reply about a commit that only the primary has: {:?}",
        early.map(|acquiring| acquiring.map(|it| it.is_ok()))
    );
    pair.reconnect();
    let guard = timeout(DEADLINE, acquiring).await.expect("in time").expect("no panic").expect("it is granted");
    guard.release().await.expect("it is held");
}

#[tokio::test(flavor = "multi_thread")]
async fn grant_is_correct_after_a_commit_with_cancelled_wait_was_lost() {
    let mut pair = Pair::start(true).await.expect("a pair");
    let server = server(pair.url(pair.primary.port())).await;
    let client = client(&server);
    let session = client.session(SessionOptions::new().ttl(DEADLINE)).await.expect("a session");
    let acquiring = acquire_without_standby(&pair, &session).await;
    cancel_the_wait(&pair).await;
    pair.kill().await.expect("the primary is killed");
    pair.promote().await.expect("the standby takes over");
    let guard = timeout(DEADLINE, acquiring).await.expect("in time").expect("no panic").expect("it is granted");
    let holder = client.get_lock("job").await.expect("an answer").holders.first().map(|claim| claim.token);
    assert_eq!(holder, Some(guard.token()));
}

/// The old primary was not killed: its commits wait for a standby that no longer exists, but it still serves reads.
#[tokio::test(flavor = "multi_thread")]
async fn old_primary_that_serves_reads_does_not_cause_two_holders() {
    let mut pair = Pair::start(true).await.expect("a pair");
    let old = server(pair.url_of(pair.primary.port())).await;
    let holder = client(&old);
    let guard = holder.lock("job").ttl(Duration::from_secs(3)).acquire().await.expect("it is free");
    pair.promote().await.expect("the standby takes over");
    let new = server(pair.url_of(pair.primary.port())).await;
    let next =
        client(&new).lock("job").ttl(Duration::from_secs(5)).acquire().await.expect("the holder's server is dead");
    assert!(!guard.is_valid(), "two clients hold the lock");
    assert!(next.token() > guard.token());
    let read = timeout(QUIET * 3, holder.get_lock("job")).await;
    let holder = read.ok().and_then(Result::ok).and_then(|lock| lock.holders.first().map(|claim| claim.token));
    assert_ne!(holder, Some(guard.token()), "a server on the old primary still reports the old holder");
}

/// A primary whose Patroni was killed behaves like that: it accepts connections, claims to take writes, and its commits
/// wait for ever.
#[tokio::test(flavor = "multi_thread")]
async fn server_leaves_an_old_primary_that_completes_no_commit() {
    let mut pair = Pair::start(true).await.expect("a pair");
    let server = server(pair.url(pair.primary.port())).await;
    let client = client(&server);
    let before = client.lock("before").ttl(DEADLINE).acquire().await.expect("it is free");
    pair.promote().await.expect("the standby takes over");
    let acquired = timeout(DEADLINE, async {
        loop {
            match client.lock("after").ttl(DEADLINE).acquire().await {
                Ok(guard) => return guard,
                Err(error) if error.is_transient() => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    });
    let after = acquired.await.expect("in time");
    assert!(after.token() > before.token());
    let other = self::server(pair.url_of(pair.primary.port())).await;
    let holder =
        self::client(&other).get_lock("after").await.expect("an answer").holders.first().map(|claim| claim.token);
    assert_eq!(holder, Some(after.token()), "granted on the old primary");
}

fn batch(previous: Revision, number: u64) -> Batch {
    let event = Event::ServerAdopted { dead: ServerId(number), by: ServerId(number + 1) };
    let events = vec![Recorded { revision: previous.next(), event }];
    Batch { namespace: "default".into(), previous, events, server: ServerId(1), number, at_ms: 0 }
}

async fn store(url: String) -> std::sync::Arc<dyn Store> {
    let options = StoreOptions::new(url);
    migrate(&options).await.expect("the tables are made");
    open(&options).await.expect("the store opens")
}

/// Right after a promotion, the view of the control file still shows the old timeline.
#[tokio::test(flavor = "multi_thread")]
async fn promoted_database_is_not_mistaken_for_the_old_one() {
    let mut pair = Pair::start(false).await.expect("a pair");
    let store = store(pair.url(pair.primary.port())).await;
    store.append(&batch(Revision(0), 1), false).await.expect("it is appended");
    let written = pair.primary.ask::<String>("SELECT pg_current_wal_lsn()::text").await.expect("an answer");
    wait_until(DEADLINE, "the standby has it", async || {
        let sql = format!("SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn");
        pair.standby.ask::<bool>(&sql).await.unwrap_or(false)
    })
    .await;
    pair.kill().await.expect("the primary is killed");
    let reads = tokio::spawn(async move {
        // Polls as fast as possible from before the promotion on: the first answer counts.
        loop {
            match store.read("default", Revision(0), 10).await {
                Ok(tail) => return (tail.head.intact, store.append(&batch(Revision(1), 2), false).await),
                Err(StoreError::Unavailable(_)) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    });
    pair.promote().await.expect("the standby takes over");
    let view = "SELECT timeline_id FROM pg_control_checkpoint()";
    println!("the control file shows timeline {}", pair.primary.ask::<i32>(view).await.expect("an answer"));
    let (intact, appended) = timeout(DEADLINE, reads).await.expect("in time").expect("no panic");
    assert!(!intact, "the promoted database was mistaken for the old one");
    assert_eq!(appended, Err(StoreError::Conflict));
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_lock_is_busy_after_a_failover_without_loss() {
    let mut pair = Pair::start(true).await.expect("a pair");
    let server = server(pair.url(pair.primary.port())).await;
    let client = client(&server);
    let guard = client.lock("job").ttl(Duration::from_secs(30)).acquire().await.expect("it is free");
    pair.kill().await.expect("the primary is killed");
    pair.promote().await.expect("the standby takes over");
    let other = timeout(DEADLINE, client.lock("job").try_acquire()).await.expect("in time").expect("an answer");
    assert!(matches!(other, Attempt::Busy(_)), "granted to two clients");
    // The old primary may have had more: what was granted before counts no longer, and the holder is notified.
    let lost = timeout(DEADLINE, guard.lost()).await.expect("in time");
    assert_eq!(lost, LostReason::Forgotten);
}
