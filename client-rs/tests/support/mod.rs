//! Servers in this process on one database in memory, behind relays that tests can cut and freeze.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tenure_client::{Client, ClientOptions};
use tenure_server::node::NodeOptions;
use tenure_server::server::{Server, ServerOptions};
use tenure_server::service::TtlBounds;
use tenure_server::store::{MemoryDatabase, MemoryStore};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// No wait of a test takes longer.
pub const PATIENCE: Duration = Duration::from_secs(20);

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
}

impl Cluster {
    /// Starts so many servers, and waits until they are ready.
    pub async fn start(count: usize) -> anyhow::Result<Self> {
        let database = MemoryDatabase::new();
        let mut servers = Vec::new();
        for number in 0..count {
            let options = ServerOptions {
                listen: (Ipv4Addr::LOCALHOST, 0).into(),
                ttl: TtlBounds { min: Duration::from_millis(100), max: Duration::from_secs(86_400) },
                drain_timeout: Duration::from_secs(5),
                node: NodeOptions {
                    lease: Duration::from_secs(10),
                    label: format!("server-{number}"),
                    reattach: Duration::from_secs(5),
                    poll_interval: Duration::from_millis(20),
                    max_namespaces: 10,
                    history_retention: Duration::from_secs(3_600),
                },
            };
            let store = database.server();
            let server = Server::start_with(options, store.clone()).await?;
            let mut readiness = server.readiness();
            tokio::time::timeout(PATIENCE, readiness.wait_for(|readiness| readiness.is_ready())).await??;
            let relay = Relay::start(server.grpc_address()).await?;
            servers.push(Member { server: Some(server), store, relay });
        }
        Ok(Self { database, servers })
    }

    /// A client of all servers.
    pub fn client(&self) -> tenure_client::Result<Client> {
        self.options().connect()
    }

    /// A client of one server, without a relay between.
    pub fn direct_client(&self, number: usize) -> tenure_client::Result<Client> {
        let server = self.servers[number].server.as_ref().expect("not stopped");
        Client::connect(format!("http://{}", server.grpc_address()))
    }

    /// Options for a client of all servers.
    pub fn options(&self) -> ClientOptions {
        Client::builder().endpoints(self.servers.iter().map(|member| member.relay.url()))
    }

    /// Where a server itself listens, past its relay.
    pub fn direct_url(&self, number: usize) -> String {
        format!("http://{}", self.servers[number].relay.server)
    }

    /// The relay in front of a server.
    pub fn relay(&self, number: usize) -> &Relay {
        &self.servers[number].relay
    }

    /// Lets a server reach the database, or not.
    pub fn set_connected(&self, number: usize, connected: bool) {
        self.servers[number].store.set_connected(connected);
    }

    /// The server that has the client's connection: the one whose relay has a connection open.
    pub async fn serving(&self) -> usize {
        within(async {
            loop {
                if let Some(number) = self.servers.iter().position(|member| member.relay.is_in_use()) {
                    return number;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    /// Drains a server and stops it.
    pub async fn drain(&mut self, number: usize) {
        if let Some(server) = self.servers[number].server.take() {
            server.drain_and_stop().await;
        }
    }
}

/// What passes bytes on to a server.
pub struct Relay {
    address: SocketAddr,
    server: SocketAddr,
    mode: watch::Sender<Mode>,
    connections: Arc<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Pass,
    /// Connections are taken and open ones stay, but nothing passes.
    Freeze,
    /// Connections are closed, open ones too.
    Cut,
}

impl Relay {
    async fn start(server: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (mode, connections) = (watch::Sender::new(Mode::Pass), Arc::new(()));
        let relay = Self { address: listener.local_addr()?, server, mode, connections };
        let (mode, connections) = (relay.mode.subscribe(), Arc::downgrade(&relay.connections));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Some(connection) = connections.upgrade() else { return };
                let mode = mode.clone();
                tokio::spawn(async move {
                    pass(client, server, mode).await;
                    drop(connection);
                });
            }
        });
        Ok(relay)
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes all connections, and those to come.
    pub fn cut(&self) {
        self.mode.send_replace(Mode::Cut);
    }

    /// Closes all connections, and lets those to come pass again.
    pub async fn interrupt(&self) {
        self.cut();
        within(async {
            while self.is_in_use() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        self.heal();
    }

    /// Lets nothing pass, and says nothing of it.
    pub fn freeze(&self) {
        self.mode.send_replace(Mode::Freeze);
    }

    /// Lets all pass again.
    pub fn heal(&self) {
        self.mode.send_replace(Mode::Pass);
    }

    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.connections) > 1
    }
}

async fn pass(mut client: TcpStream, server: SocketAddr, mut mode: watch::Receiver<Mode>) {
    // Small messages must not wait for each other.
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
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut server) => return,
            changed = mode.changed() => match changed.map(|()| *mode.borrow_and_update()) {
                Ok(Mode::Pass) => {}
                Ok(Mode::Freeze) => {
                    // Held open until that is over.
                    let _ = mode.wait_for(|mode| *mode != Mode::Freeze).await;
                    return;
                }
                Ok(Mode::Cut) | Err(_) => return,
            },
        }
    }
}

/// Waits for something, but not for ever.
pub async fn within<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wait).await.expect("it takes too long")
}
