//! Tests that kill real processes around a grant: the caller that is granted the lock holds it exactly once, and dead
//! processes block no other.

use std::time::Duration;

use rustix::process::Pid;
use sqlx::{Connection, Executor, MySqlConnection, PgConnection, SqliteConnection};
use tenure_client::{Client, Guard, Session, SessionOptions};
use tenure_e2e::{Action, Calls, CommandLine, Contest, DatabaseProxy, LOCK, Store, clock, on_every_store, tries};
use tenure_harness::{Tenured, TenuredOptions, freeze_process, wait_until};
use tenure_proto::v1::{ListLocksRequest, ListSessionsRequest, Lock};
use tokio::task::JoinHandle;

on_every_store!(
    wait_survives_the_kill_of_its_server,
    server_killed_around_a_grant_leaves_one_grant,
    killed_waiter_blocks_no_other,
    waiter_killed_before_its_grant_arrives_blocks_no_other,
    hold_keeps_its_grant_time_after_history_is_trimmed
);

const CANDIDATE: &str = env!("CARGO_BIN_EXE_candidate");
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of attempts to cut a server off at the right moment.
const ATTEMPTS: usize = 20;

/// Longer than a test, so that nothing expires.
const LONG: Duration = Duration::from_secs(600);

/// Long enough for a client to reconnect, and the longest that a dead one may block others.
const TTL: Duration = Duration::from_secs(2);

async fn within<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wait).await.expect("it does not end in time")
}

/// A server, and its successor for clients when it is killed: another server, or the same one restarted where the store
/// has a single owner.
struct Pair {
    first: Tenured,
    second: Option<Tenured>,
}

impl Pair {
    /// Starts only the first server, so that all clients are connected to it; if `proxy` is given, it connects to its
    /// database through that.
    async fn first_of(store: Store, proxy: Option<&DatabaseProxy>, options: &TenuredOptions) -> Self {
        let store_url = proxy.map(|proxy| proxy.url().to_owned()).or_else(|| options.store_url.clone());
        let first = Tenured::start(&TenuredOptions { store_url, ..options.clone() }).await.unwrap();
        let second = (store != Store::Sqlite).then(|| Tenured::prepare(options).unwrap());
        Self { first, second }
    }

    fn client(&self) -> Client {
        let urls = [Some(&self.first), self.second.as_ref()].into_iter().flatten().map(Tenured::url);
        Client::builder().endpoints(urls).connect().unwrap()
    }

    async fn start_second(&mut self) {
        if let Some(second) = &mut self.second {
            second.start_again().await.unwrap();
        }
    }

    async fn kill_first(&mut self) {
        self.first.kill().await.unwrap();
    }

    /// Starts the successor, and returns calls to it.
    async fn fail_over(&mut self) -> Calls {
        let server = match &self.second {
            Some(second) => second,
            None => {
                self.first.start_again().await.unwrap();
                &self.first
            }
        };
        Calls::connect(&server.url()).await.unwrap()
    }
}

/// A holder of a lock, and a waiter for it.
struct Contention {
    /// The holder's. A client with an open session does not leave a server that is slow to reply.
    _holding: Session,
    session: Session,
    acquire: JoinHandle<tenure_client::Result<Guard>>,
    claim: u64,
}

impl Contention {
    /// Returns the guard of the holder as well.
    async fn start(pair: &mut Pair) -> (Self, Guard) {
        let (holder, client) = (pair.client(), pair.client());
        let [holding, session] = [&holder, &client].map(|client| client.session(SessionOptions::new().ttl(LONG)));
        let (holding, session) = (within(holding).await.unwrap(), within(session).await.unwrap());
        let guard = within(holding.lock("job").acquire()).await.unwrap();
        let acquire = tokio::spawn(session.lock("job").acquire());
        let calls = Calls::connect(&pair.first.url()).await.unwrap();
        wait_until(PATIENCE, "the waiter is queued", async || calls.lock("job").await.unwrap().waiter_count == 1).await;
        let claim = calls.lock("job").await.unwrap().waiters[0].id;
        pair.start_second().await;
        (Self { _holding: holding, session, acquire, claim }, guard)
    }

    /// Checks that the waiter holds the lock, by the only claim and the only grant that it ever had, and that nothing
    /// else is left.
    async fn check(self, calls: &Calls, released: JoinHandle<tenure_client::Result<()>>) {
        within(released).await.unwrap().unwrap();
        let guard = within(self.acquire).await.unwrap().unwrap();
        assert!(guard.is_valid());
        let locks = locks(calls).await;
        let [lock] = &locks[..] else { panic!("{locks:?}") };
        let [holder] = &lock.holders[..] else { panic!("{lock:?}") };
        assert_eq!((holder.session_id.as_str(), holder.id), (self.session.id(), self.claim));
        assert_eq!((holder.token, lock.waiter_count), (guard.token(), 0));
        within(guard.release()).await.unwrap();
        assert_eq!(self::locks(calls).await, []);
    }
}

/// Drops as much of the log as a store may, as after the end of its retention. No server runs.
async fn drop_history(store: Store, url: &str) {
    const SQL: &str = "DELETE FROM batches WHERE revision < (SELECT revision FROM row_heads)";
    let dropped = match store {
        Store::Postgres => PgConnection::connect(url).await.unwrap().execute(SQL).await.unwrap().rows_affected(),
        Store::MariaDb | Store::MySql => {
            MySqlConnection::connect(url).await.unwrap().execute(SQL).await.unwrap().rows_affected()
        }
        Store::Sqlite => SqliteConnection::connect(url).await.unwrap().execute(SQL).await.unwrap().rows_affected(),
    };
    assert!(dropped > 0);
}

async fn hold_keeps_its_grant_time_after_history_is_trimmed(store: Store) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = store.fresh().await.unwrap();
    let file = format!("sqlite:{}", folder.path().join("tenure.db").display());
    let url = options.store_url.get_or_insert(file).clone();
    let mut server = Tenured::start(&options).await.unwrap();
    let command_line = CommandLine::new(&[server.url()]).unwrap();
    let acquire = async |name| command_line.json(0, &["acquire", name, "--session", "host-a", "--ttl", "10m"]).await;
    acquire("nightly").await;
    let before = command_line.json(0, &["why", "nightly"]).await;
    let granted = &before["lock"]["holders"][0]["grantedAt"];
    assert!(granted.is_string(), "{before}");
    assert_eq!(&before["history"]["entries"][0]["hold"]["grantedTime"], granted);
    // The newest commit is never dropped.
    acquire("other").await;
    server.stop().await.unwrap();
    drop_history(store, &url).await;
    server.start_again().await.unwrap();

    let after = command_line.json(0, &["why", "nightly"]).await;
    let hold = &after["history"]["entries"][0]["hold"];
    assert!(hold["ttl"].is_null(), "the log has dropped the start of the session: {after}");
    assert_eq!((&hold["grantedTime"], &after["lock"]["holders"][0]["grantedAt"]), (granted, granted));
    assert_eq!(&command_line.json(0, &["get", "nightly"]).await["lock"]["holders"][0]["grantedAt"], granted);
    let output = within(command_line.start(&["why", "nightly"]).unwrap().wait_with_output()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\n  since     20") && text.contains("Z, for "), "{text}");
}

async fn locks(calls: &Calls) -> Vec<Lock> {
    calls.locks.clone().list_locks(ListLocksRequest::default()).await.unwrap().into_inner().locks
}

async fn wait_survives_the_kill_of_its_server(store: Store) {
    let mut pair = Pair::first_of(store, None, &store.fresh().await.unwrap()).await;
    let (contention, guard) = Contention::start(&mut pair).await;
    pair.kill_first().await;
    let calls = pair.fail_over().await;
    // The session has moved, and the claim has kept its position in the queue.
    wait_until(PATIENCE, "the sessions have moved", async || {
        let listed = calls.sessions.clone().list_sessions(ListSessionsRequest::default()).await.unwrap();
        let sessions = listed.into_inner().sessions;
        sessions.len() == 2 && sessions.iter().all(|session| session.remaining.is_some())
    })
    .await;
    assert_eq!(calls.lock("job").await.unwrap().waiters[0].id, contention.claim);
    contention.check(&calls, tokio::spawn(guard.release())).await;
}

async fn server_killed_around_a_grant_leaves_one_grant(store: Store) {
    for number in 0..tries() {
        let mut pair = Pair::first_of(store, None, &store.fresh().await.unwrap()).await;
        let (contention, guard) = Contention::start(&mut pair).await;
        let released = tokio::spawn(guard.release());
        // At a different moment in each attempt: before it has sent the request to the database, during the commit,
        // after its reply.
        tokio::time::sleep(Duration::from_millis(2) * number).await;
        pair.kill_first().await;
        contention.check(&pair.fail_over().await, released).await;
    }
}

/// The fault of a server that does not know whether its grant is committed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It is killed, and never learns the outcome.
    Killed,
    /// It loses its connections, notices that the outcome is unknown, and then learns it.
    CutOff,
}

/// A grant that is committed without a reply to the server.
async fn in_doubt(store: Store, fault: Fault) {
    for _ in 0..ATTEMPTS {
        let options = store.fresh().await.unwrap();
        let proxy = DatabaseProxy::start(options.store_url.as_ref().unwrap()).await.unwrap();
        let mut pair = Pair::first_of(store, Some(&proxy), &options).await;
        let (contention, guard) = Contention::start(&mut pair).await;
        let calls = pair.fail_over().await;
        proxy.hold_replies();
        let released = tokio::spawn(guard.release());
        let granted = async {
            while calls.lock("job").await.unwrap().holders[0].session_id != contention.session.id() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // False if the server happened to be waiting for another reply, before which it could not send this request.
        let committed = tokio::time::timeout(TTL, granted).await.is_ok();
        assert!(!contention.acquire.is_finished() && !released.is_finished(), "no caller can have received a reply");
        match fault {
            Fault::Killed => pair.kill_first().await,
            Fault::CutOff => {
                proxy.cut();
                wait_until(PATIENCE, "it checks whether the batch was committed", async || {
                    let log = std::fs::read_to_string(pair.first.log_file()).unwrap();
                    !committed || log.contains("checking whether a batch was committed")
                })
                .await;
                proxy.heal();
            }
        }
        contention.check(&calls, released).await;
        if committed {
            return;
        }
    }
    panic!("the grant was never committed before its server lost the database");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_killed_in_doubt_of_a_grant_leaves_one_grant_on_postgres() {
    in_doubt(Store::Postgres, Fault::Killed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_killed_in_doubt_of_a_grant_leaves_one_grant_on_mariadb() {
    in_doubt(Store::MariaDb, Fault::Killed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_in_doubt_of_a_grant_does_not_reply_on_postgres() {
    in_doubt(Store::Postgres, Fault::CutOff).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_in_doubt_of_a_grant_does_not_reply_on_mariadb() {
    in_doubt(Store::MariaDb, Fault::CutOff).await;
}

/// Candidates that wait for a lock held by another session, and that session's token.
async fn candidates(store: Store) -> (Tenured, Calls, Contest, u64) {
    let server = store.server().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    let token = calls.try_lock(LOCK, "holder", LONG).await.unwrap().token;
    let contest = Contest::start(CANDIDATE, &[server.url()], TTL, LONG, 3).unwrap();
    wait_until(PATIENCE, "all candidates wait", async || calls.lock(LOCK).await.unwrap().waiter_count == 3).await;
    (server, calls, contest, token)
}

/// Waits until the next candidate works, and checks that only live processes are left.
async fn next_works(calls: &Calls, contest: &Contest, since: Duration, dead: &[u32]) {
    let works = contest.next(since, "another works", |entry| matches!(entry.action, Action::Works { .. })).await;
    assert!(!dead.contains(&works.process));
    let took = works.at - since;
    println!("from the death to the work of another: {took:?}");
    assert!(took < TTL * 3, "dead processes blocked the lock for {took:?}");
    wait_until(PATIENCE, "no claim of a dead process is left", async || {
        let lock = calls.lock(LOCK).await.unwrap();
        let dead = dead.iter().map(ToString::to_string).collect::<Vec<_>>();
        lock.holders.iter().chain(&lock.waiters).all(|claim| !dead.contains(&claim.owner))
    })
    .await;
    contest.check();
}

async fn killed_waiter_blocks_no_other(store: Store) {
    let (_server, calls, mut contest, token) = candidates(store).await;
    let dead = owners(&calls).await[..2].to_vec();
    for process in &dead {
        contest.kill(*process).unwrap();
    }
    let died = clock();
    calls.release(LOCK, "holder", token).await.unwrap();
    next_works(&calls, &contest, died, &dead).await;
}

async fn waiter_killed_before_its_grant_arrives_blocks_no_other(store: Store) {
    let (_server, calls, mut contest, token) = candidates(store).await;
    let first = owners(&calls).await[0];
    let pid = Pid::from_raw(first.try_into().unwrap()).unwrap();
    freeze_process(pid).await.unwrap();
    let froze = clock();
    calls.release(LOCK, "holder", token).await.unwrap();
    assert_eq!(
        calls.lock(LOCK).await.unwrap().holders[0].owner,
        first.to_string(),
        "the frozen waiter is granted the lock"
    );
    contest.kill(first).unwrap();
    next_works(&calls, &contest, froze, &[first]).await;
}

/// The waiting processes, in order.
async fn owners(calls: &Calls) -> Vec<u32> {
    let lock = calls.lock(LOCK).await.unwrap();
    lock.waiters.iter().map(|waiter| waiter.owner.parse().unwrap()).collect()
}
