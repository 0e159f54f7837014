//! Servers in one process, on one database in memory and one clock that tests move (tokio's, paused).

pub mod peers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use peers::LabPeers;
use tenure_core::testing::{self, Build, move_to, release};
use tenure_core::{Command, Event, Outcome, Rejection, Revision};
use tenure_server::cluster::clock::Clock;
use tenure_server::node::follow;
use tenure_server::node::heartbeat::{Heartbeats, HeartbeatsEnd};
use tenure_server::node::{Node, NodeOptions};
use tenure_server::sequencer::{CommandResult, Namespace, PendingGrant, WaitEnd};
use tenure_server::store::{MemoryDatabase, MemoryStore};
use tenure_server::telemetry::metrics::Metrics;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub const LEASE: Duration = Duration::from_secs(10);
pub const TTL: Duration = Duration::from_secs(2);
pub const REATTACH: Duration = Duration::from_secs(5);

/// Bound of what happens without a timer.
pub const SOON: Duration = Duration::from_millis(50);

/// Tokio's clock, which tests pause and move, plus jumps that only one server makes, as if it had been frozen.
pub struct LabClock {
    start: Instant,
    jumps: AtomicU64,
    reads: AtomicU64,
}

impl LabClock {
    pub fn begin() -> Arc<Self> {
        Arc::new(Self { start: Instant::now(), jumps: AtomicU64::new(0), reads: AtomicU64::new(0) })
    }

    pub fn jump(&self, by: Duration) {
        self.jumps.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }

    /// How often the clock was read.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::SeqCst)
    }
}

impl Clock for LabClock {
    fn now(&self) -> Duration {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.start.elapsed() + Duration::from_millis(self.jumps.load(Ordering::SeqCst))
    }
}

pub fn options() -> NodeOptions {
    NodeOptions {
        lease: LEASE,
        label: "lab".to_owned(),
        address: "lab".to_owned(),
        certificate: String::new(),
        reattach: REATTACH,
        poll_interval: Duration::from_millis(20),
        max_namespaces: 10,
        history_retention: Duration::from_secs(3600),
        history_max_bytes: 1 << 30,
    }
}

pub struct Server {
    pub node: Arc<Node>,
    pub store: Arc<MemoryStore>,
    pub clock: Arc<LabClock>,
    heartbeats: JoinHandle<HeartbeatsEnd>,
    cancel: CancellationToken,
}

/// A command that was sent, and its reply.
pub type Sent = JoinHandle<Result<CommandResult, Rejection>>;

impl Server {
    /// Starts a server on a database of its own.
    pub async fn alone() -> Self {
        Self::start(&MemoryDatabase::new()).await
    }

    /// Starts a server, and returns its database.
    pub async fn with_database() -> (MemoryDatabase, Self) {
        let database = MemoryDatabase::new();
        let server = Self::start(&database).await;
        (database, server)
    }

    /// Starts two servers, and returns their database.
    pub async fn pair() -> (MemoryDatabase, Self, Self) {
        let (database, first) = Self::with_database().await;
        let second = Self::start(&database).await;
        (database, first, second)
    }

    pub async fn start(database: &MemoryDatabase) -> Self {
        Self::start_among(database, None).await
    }

    /// Starts a server with links to its peers.
    pub async fn start_among(database: &MemoryDatabase, peers: Option<&Arc<LabPeers>>) -> Self {
        let store = database.server();
        let clock = LabClock::begin();
        let cancel = CancellationToken::new();
        let (links, metrics) = (peers.cloned().map(|peers| peers as _), Metrics::default());
        let node = Node::new(options(), store.clone(), clock.clone(), links, metrics, cancel.clone());
        if let Some(peers) = peers {
            peers.add(&node);
        }
        let mut heartbeats = Heartbeats::begin(node.clone()).await.expect("registered");
        heartbeats.during(node.namespaces.open_all()).await.expect("alive").expect("opened");
        node.tasks.spawn(follow::run(node.clone()));
        let heartbeats = tokio::spawn(heartbeats.run());
        Self { node, store, clock, heartbeats, cancel }
    }

    /// Ends the server without notice, as a kill does.
    pub fn kill(&self) {
        self.heartbeats.abort();
        self.cancel.cancel();
    }

    /// Waits until the server finds itself marked dead.
    pub async fn marked_dead(self) {
        assert_eq!(within(LEASE * 3, self.heartbeats).await.expect("ran"), HeartbeatsEnd::MarkedDead);
    }

    pub async fn namespace(&self) -> Namespace {
        self.node.namespaces.get("default").await.expect("open")
    }

    pub async fn ask(&self, command: Command) -> Result<CommandResult, Rejection> {
        within(Duration::from_secs(30), self.namespace().await.decide(command)).await
    }

    /// Sends a command without waiting for the reply.
    pub async fn send(&self, command: Command) -> Sent {
        let namespace = self.namespace().await;
        let sent = tokio::spawn(async move { namespace.decide(command).await });
        settle().await;
        sent
    }

    pub fn acquire(&self, session: &str, name: &str) -> Command {
        testing::acquire(session, name).ttl(TTL).at(self.node.id)
    }

    /// An acquire by a plain call, which is received now.
    pub async fn call(&self, session: &str, name: &str) -> Command {
        self.acquire(session, name).received(self.namespace().await.revision())
    }

    /// Makes this server the home of a session.
    pub async fn make_home_of(&self, session: &str) -> Result<CommandResult, Rejection> {
        self.ask(move_to(session, self.node.id)).await
    }

    /// Waits for a lock that is held.
    pub async fn queue(&self, session: &str, name: &str) -> PendingGrant {
        let decided = self.ask(self.acquire(session, name)).await.expect("queued");
        assert!(matches!(decided.outcome, Outcome::Waiting { .. }), "{:?}", decided.outcome);
        decided.pending.expect("waits")
    }

    /// Acquires a free lock.
    pub async fn hold(&self, session: &str, name: &str) -> Revision {
        self.hold_by(self.acquire(session, name)).await
    }

    /// Acquires a free lock by this command.
    pub async fn hold_by(&self, acquire: Command) -> Revision {
        held(self.ask(acquire).await)
    }

    pub async fn release(&self, session: &str, name: &str, token: Revision) -> Result<CommandResult, Rejection> {
        self.ask(release(session, name, token)).await
    }

    /// The holder of a lock, with its token.
    pub async fn holder(&self, name: &str) -> Option<(String, Revision)> {
        let name = name.to_owned();
        let read = self.namespace().await;
        let read = read.read(move |table| {
            let claim = table.claim(*table.lock(&name)?.holders().first()?)?;
            Some((claim.spec.session.to_string(), claim.token()?))
        });
        within(Duration::from_secs(30), read).await.expect("readable")
    }

    /// Whether the session is open at the head of the log.
    pub async fn is_open(&self, session: &str) -> bool {
        let session = session.to_owned();
        self.namespace().await.read(move |table| table.session(&session).is_some()).await.expect("readable")
    }

    /// Renews a session periodically for `time`. Returns whether all renewals were
    /// accepted.
    pub async fn keep_alive_for(&self, session: &str, time: Duration) -> bool {
        let namespace = self.namespace().await;
        let until = Instant::now() + time;
        while Instant::now() < until {
            if !matches!(namespace.renew(session), Ok(Some(_))) {
                return false;
            }
            // In small steps: a jump counts as time in which the server was frozen, and expires no session.
            pass(TTL / 4).await;
        }
        true
    }
}

/// Asserts that a lock was granted at once, and acknowledges that. Returns the token.
pub fn held(decided: Result<CommandResult, Rejection>) -> Revision {
    let decided = decided.expect("decided");
    decided.pending.into_iter().for_each(PendingGrant::acknowledge);
    match decided.outcome {
        Outcome::Held { claim, .. } => claim.token().expect("held"),
        other => panic!("not held: {other:?}"),
    }
}

/// Asserts that a waiter is granted the lock soon, and acknowledges that. Returns the token.
pub async fn granted(mut pending: PendingGrant) -> Revision {
    let end = within(SOON, pending.wait()).await;
    let Some(WaitEnd::Granted(claim)) = end else { panic!("{end:?}") };
    pending.acknowledge();
    claim.token().expect("held")
}

/// Returns the reply to a command.
pub async fn reply(sent: Sent) -> Result<CommandResult, Rejection> {
    within(Duration::from_secs(30), sent).await.expect("ran")
}

/// The tokens that were ever granted to a session.
pub fn grants(database: &MemoryDatabase, session: &str) -> Vec<Revision> {
    let log = database.log("default");
    let granted = log.iter().flat_map(|batch| &batch.events).filter(|recorded| match &recorded.event {
        Event::ClaimGranted { spec, .. } | Event::ClaimTransferred { spec, .. } => *spec.session == *session,
        _ => false,
    });
    granted.map(|recorded| recorded.revision).collect()
}

/// Asserts that the revisions of a log have no gaps.
pub fn assert_no_gaps(database: &MemoryDatabase) {
    let mut last = Revision(0);
    for batch in database.log("default") {
        assert_eq!(batch.previous, last);
        for recorded in &batch.events {
            assert_eq!(recorded.revision, last.next());
            last = recorded.revision;
        }
    }
}

/// Runs everything that can run without time passing.
pub async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Waits for a future; exceeding `limit` is a failure.
pub async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, future).await.expect("in time")
}

/// Waits until a condition holds, while the clock advances. Returns the elapsed time.
pub async fn eventually<F: AsyncFn() -> bool>(limit: Duration, what: &str, condition: F) -> Duration {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::advance(Duration::from_millis(5)).await;
        settle().await;
    }
    start.elapsed()
}

/// Advances time step by step, as for a running server.
pub async fn pass(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        tokio::time::advance(Duration::from_millis(5)).await;
        settle().await;
    }
}
