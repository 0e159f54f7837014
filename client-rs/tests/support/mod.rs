//! Servers in this process on one database in memory, behind relays that tests can cut and freeze.

#![allow(dead_code, reason = "each test program uses a part of it")]

mod history;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
pub use history::check_history;
use tenure_client::v1::{EvictRequest, Lock, Session, WatchRequest};
use tenure_client::{Client, ClientOptions, SessionState};
use tenure_server::auth::CredentialOptions;
use tenure_server::grpc::TtlBounds;
use tenure_server::node::NodeOptions;
use tenure_server::server::{Server, ServerOptions};
use tenure_server::store::{MemoryDatabase, MemoryStore};
use tenure_server::transport::ConnectionLimits;
use tokio::io::{AsyncReadExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_stream::{Stream, StreamExt};

/// Upper bound of every wait in a test.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The time between two checks of a condition: without it, a test would load the machine that it waits for.
const PAUSE: Duration = Duration::from_millis(2);

/// Servers on one database.
pub struct Cluster {
    pub database: MemoryDatabase,
    pub servers: Vec<Member>,
}

/// A server and the relay in front of it.
pub struct Member {
    server: Option<Server>,
    store: Arc<MemoryStore>,
    relay: Relay,
    killed: AtomicBool,
}

impl Cluster {
    /// Starts `count` servers, and waits until they are ready.
    pub async fn start(count: usize) -> anyhow::Result<Self> {
        Self::start_with(count, Duration::from_secs(5)).await
    }

    /// Starts `count` servers that keep an unattended claim for `reattach`, and waits until they are ready.
    pub async fn start_with(count: usize, reattach: Duration) -> anyhow::Result<Self> {
        let database = MemoryDatabase::new();
        let mut servers = Vec::new();
        for number in 0..count {
            let options = ServerOptions {
                tls: None,
                credentials: CredentialOptions::default(),
                listen: (Ipv4Addr::LOCALHOST, 0).into(),
                connections: ConnectionLimits::default(),
                ttl: TtlBounds { min: Duration::from_millis(100), max: Duration::from_secs(86_400) },
                drain_timeout: Duration::from_secs(5),
                node: NodeOptions {
                    lease: Duration::from_secs(10),
                    label: format!("server-{number}"),
                    address: String::new(),
                    certificate: String::new(),
                    reattach,
                    poll_interval: Duration::from_millis(20),
                    max_namespaces: 10,
                    history_retention: Duration::from_secs(3_600),
                    history_max_bytes: 1 << 30,
                },
            };
            let store = database.server();
            let server = Server::start_with(options, store.clone()).await?;
            let mut readiness = server.readiness();
            tokio::time::timeout(PATIENCE, readiness.wait_for(|readiness| readiness.is_ready())).await??;
            let relay = Relay::start(server.grpc_address).await?;
            servers.push(Member { server: Some(server), store, relay, killed: AtomicBool::new(false) });
        }
        Ok(Self { database, servers })
    }

    /// A client of all servers.
    pub fn client(&self) -> tenure_client::Result<Client> {
        self.options().connect()
    }

    /// A client of one server, bypassing its relay.
    pub fn direct_client(&self, number: usize) -> tenure_client::Result<Client> {
        let server = self.servers[number].server.as_ref().expect("not stopped");
        Client::connect(format!("http://{}", server.grpc_address))
    }

    /// Options for a client of all servers.
    pub fn options(&self) -> ClientOptions {
        Client::builder().endpoints(self.servers.iter().map(|member| member.relay.url()))
    }

    /// The address at which a server itself listens, bypassing its relay.
    pub fn direct_url(&self, number: usize) -> String {
        format!("http://{}", self.servers[number].relay.server)
    }

    /// A client of the servers that are alive, bypassing the relays.
    pub fn bystander(&self) -> tenure_client::Result<Client> {
        let living = self.servers.iter().filter(|member| !member.killed.load(Ordering::SeqCst));
        let urls = living.filter_map(|member| member.server.as_ref());
        Client::builder().endpoints(urls.map(|server| format!("http://{}", server.grpc_address))).connect()
    }

    /// The relay in front of a server.
    pub fn relay(&self, number: usize) -> &Relay {
        &self.servers[number].relay
    }

    /// Connects a server to the database, or disconnects it.
    pub fn set_connected(&self, number: usize, connected: bool) {
        self.servers[number].store.set_connected(connected);
    }

    /// The server with the clients' connections: the only one whose relay has any. A server that a client tried and
    /// left at once keeps its connection for a moment.
    pub async fn serving(&self) -> usize {
        within(async {
            loop {
                let in_use: Vec<usize> =
                    (0..self.servers.len()).filter(|&number| self.relay(number).is_in_use()).collect();
                if let [only] = in_use[..] {
                    return only;
                }
                tokio::time::sleep(PAUSE).await;
            }
        })
        .await
    }

    /// The tokens that were ever granted to sessions, or to one session if named.
    pub fn grants(&self, session: Option<&str>) -> Vec<u64> {
        history::grants(&self.database, session)
    }

    /// Waits for a session's one grant, and returns its token.
    pub async fn granted(&self, session: &str) -> u64 {
        until("it is granted", async || !self.grants(Some(session)).is_empty()).await;
        let grants = self.grants(Some(session));
        assert_eq!(grants.len(), 1, "granted twice: {grants:?}");
        grants[0]
    }

    /// Waits until exactly these locks are held under these tokens, there are no waiters, and only these sessions are
    /// open, so that no orphaned state is left. Checks the whole history.
    pub async fn holds_only(&self, held: &[(&str, u64)], sessions: &[&str]) {
        self.holds_only_in(held, || sessions.iter().copied().collect()).await;
    }

    /// Like [`holds_only`](Self::holds_only), with sessions that may be lost meanwhile.
    pub async fn holds_only_in<'a>(&self, held: &[(&str, u64)], sessions: impl Fn() -> BTreeSet<&'a str>) {
        let observer = self.bystander().expect("URLs");
        let seen = async || {
            let locks: Vec<Lock> = observer.list_locks("").try_collect().await.ok()?;
            let open: Vec<Session> = observer.list_sessions().try_collect().await.ok()?;
            Some((locks, open))
        };
        let expected = |(locks, open): &(Vec<Lock>, Vec<Session>)| {
            let tokens: Vec<(&str, u64)> = locks
                .iter()
                .flat_map(|lock| lock.holders.iter().map(|holder| (lock.name.as_str(), holder.token)))
                .collect();
            let ids: BTreeSet<&str> = open.iter().map(|session| session.id.as_str()).collect();
            tokens == held && ids == sessions() && locks.iter().all(|lock| lock.waiter_count == 0)
        };
        let start = Instant::now();
        loop {
            let found = seen().await;
            if found.as_ref().is_some_and(expected) {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "not {held:?} and {:?} but {found:#?}", sessions());
            tokio::time::sleep(PAUSE).await;
        }
        check_history(&self.database);
    }

    /// Kills a server without notice: nothing that it sends reaches clients or the database any more.
    pub fn kill(&self, number: usize) {
        let member = &self.servers[number];
        member.killed.store(true, Ordering::SeqCst);
        member.store.set_connected(false);
        member.relay.cut();
    }

    /// Drains a server and stops it.
    pub async fn drain(&mut self, number: usize) {
        if let Some(server) = self.servers[number].server.take() {
            server.drain_and_stop().await;
        }
    }
}

/// A relay that forwards bytes to a server.
pub struct Relay {
    address: SocketAddr,
    server: SocketAddr,
    mode: watch::Sender<Mode>,
    /// Counts the pieces of data from the server that were withheld from clients.
    swallowed: watch::Sender<usize>,
    connections: Arc<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Pass,
    /// Accepts connections and keeps open ones, but forwards nothing.
    Freeze,
    /// Forwards data from clients, but never the server's replies.
    Deafen,
    /// Closes connections, open ones too.
    Cut,
}

impl Relay {
    async fn start(server: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let relay = Self {
            address: listener.local_addr()?,
            server,
            mode: watch::Sender::new(Mode::Pass),
            swallowed: watch::Sender::new(0),
            connections: Arc::new(()),
        };
        let (mode, connections) = (relay.mode.subscribe(), Arc::downgrade(&relay.connections));
        let swallowed = relay.swallowed.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Some(connection) = connections.upgrade() else { return };
                let (mode, swallowed) = (mode.clone(), swallowed.clone());
                tokio::spawn(async move {
                    pass(client, server, mode, swallowed).await;
                    drop(connection);
                });
            }
        });
        Ok(relay)
    }

    /// The address at which clients connect.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes all connections, including those accepted later.
    pub fn cut(&self) {
        self.mode.send_replace(Mode::Cut);
    }

    /// Forwards nothing, without closing connections.
    pub fn freeze(&self) {
        self.mode.send_replace(Mode::Freeze);
    }

    /// Forwards data from clients, but not to them. The next change of the mode closes these connections.
    pub fn deafen(&self) {
        self.mode.send_replace(Mode::Deafen);
    }

    /// Returns when more data to clients is withheld.
    pub async fn swallows(&self) {
        let before = *self.swallowed.borrow();
        // The sender lives in `self`, so the wait ends only with the condition.
        let _ = within(self.swallowed.subscribe().wait_for(|count| *count > before)).await;
    }

    /// Closes all connections, and accepts new ones.
    pub async fn interrupt(&self) {
        self.cut();
        until("all connections are closed", async || !self.is_in_use()).await;
        self.heal();
    }

    /// Forwards everything again.
    pub fn heal(&self) {
        self.mode.send_replace(Mode::Pass);
    }

    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.connections) > 1
    }
}

async fn pass(
    mut client: TcpStream,
    server: SocketAddr,
    mut mode: watch::Receiver<Mode>,
    swallowed: watch::Sender<usize>,
) {
    // Small messages must not be delayed to be combined with others.
    if client.set_nodelay(true).is_err() {
        return;
    }
    if mode.wait_for(|mode| *mode != Mode::Freeze).await.is_err() || *mode.borrow() == Mode::Cut {
        return;
    }
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    if server.set_nodelay(true).is_err() {
        return;
    }
    loop {
        let now = *mode.borrow_and_update();
        match now {
            Mode::Pass => tokio::select! {
                _ = copy_bidirectional(&mut client, &mut server) => return,
                changed = mode.changed() => if changed.is_err() {
                    return;
                },
            },
            Mode::Freeze => {
                // Held open until the freeze is over.
                let _ = mode.wait_for(|mode| *mode != Mode::Freeze).await;
                return;
            }
            Mode::Deafen => {
                let (mut from_client, _) = client.split();
                let (mut from_server, mut to_server) = server.split();
                let mut lost = [0; 1_024];
                let swallow = async {
                    while from_server.read(&mut lost).await.is_ok_and(|count| count > 0) {
                        swallowed.send_modify(|count| *count += 1);
                    }
                };
                tokio::select! {
                    _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
                    () = swallow => {}
                    _ = mode.wait_for(|mode| *mode != Mode::Deafen) => {}
                }
                return;
            }
            Mode::Cut => return,
        }
    }
}

/// Waits until a condition holds.
pub async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns when `count` claims wait for a lock.
pub async fn waiters(client: &Client, name: &str, count: u64) {
    until("they wait", async || client.get_lock(name).await.is_ok_and(|lock| lock.waiter_count == count)).await;
}

/// Waits for a future, with a bound.
pub async fn within<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wait).await.expect("it takes too long")
}

/// A request to watch this lock.
pub fn watching(name: &str) -> WatchRequest {
    WatchRequest { names: vec![name.to_owned()], ..WatchRequest::default() }
}

/// The eviction of all holders of this lock, by an operator.
pub fn eviction(name: &str) -> EvictRequest {
    EvictRequest { name: name.to_owned(), operator: "ops".to_owned(), ..EvictRequest::default() }
}

/// Waits for this state of a session.
pub async fn reaches(states: &mut (impl Stream<Item = SessionState> + Unpin), wanted: SessionState) {
    while states.next().await.expect("it has not ended") != wanted {}
}

/// Waits for the first change of a session's state, in the background.
pub fn state_change(session: &tenure_client::Session) -> JoinHandle<Option<SessionState>> {
    let mut changes = session.states().skip(1);
    tokio::spawn(async move { changes.next().await })
}
