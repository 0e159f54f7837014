//! Tenure: servers on one database, and the ways to connect.

pub mod raw;

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tenure_client::{Attempt, Client, Session, SessionOptions};
use tenure_harness::{Tenured, TenuredOptions};
use tenure_proto::v1::ListSessionsRequest;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tonic::transport::{Channel, Endpoint};

use crate::cpu::Processes;
use crate::lab::Lab;
use crate::measure::User;
use crate::target::store::{Database, Store};
use crate::target::{CONNECTIONS, start_now};

/// Longer than any measurement, so that a session which is renewed only by its plain calls outlives it.
pub const TTL: Duration = Duration::from_secs(600);

/// Servers on one database.
#[derive(Debug)]
pub struct Cluster {
    servers: Vec<Tenured>,
    database: Database,
}

impl Cluster {
    /// Starts `servers` servers, with further arguments for each.
    pub async fn start(database: Database, servers: usize, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = database.url.clone().map_or_else(TenuredOptions::default, TenuredOptions::store);
        options.arguments.extend(arguments.iter().map(ToString::to_string));
        let mut started = Vec::new();
        for _ in 0..servers {
            started.push(Tenured::start(&options).await?);
        }
        Ok(Self { servers: started, database })
    }

    /// Starts one server on fresh data during a measurement.
    pub fn start_now(store: Store, lab: &Lab) -> anyhow::Result<Self> {
        start_now(async { Self::start(store.fresh(lab).await?, 1, &[]).await })
    }

    /// The servers.
    pub fn servers(&self) -> &[Tenured] {
        &self.servers
    }

    /// Kills the first server and restarts it; returns the time from the restart until it was ready.
    pub fn start_again(&mut self) -> anyhow::Result<Duration> {
        let server = self.servers.first_mut().context("no server")?;
        start_now(async {
            server.kill().await?;
            let start = Instant::now();
            server.start_again().await?;
            Ok(start.elapsed())
        })
    }

    /// Kills the first server, which is no part of the cluster from then on.
    pub fn kill_first(&mut self) -> anyhow::Result<()> {
        let mut server = self.servers.remove(0);
        start_now(server.kill())
    }

    /// The processes whose processor time counts.
    pub fn processes(&self) -> Processes {
        Processes {
            server: self.servers.iter().filter_map(|server| server.process_id()).collect(),
            ..self.database.processes()
        }
    }

    /// Connections for plain calls, spread over the servers.
    pub async fn channels(&self) -> anyhow::Result<Vec<Channel>> {
        let mut channels = Vec::new();
        for url in self.spread() {
            channels.push(Endpoint::from_shared(url)?.connect().await?);
        }
        Ok(channels)
    }

    /// The port of the first server, for clients that bring their own connection.
    pub fn port(&self) -> anyhow::Result<u16> {
        let url: http::Uri = self.servers.first().context("no server")?.url().parse()?;
        url.port_u16().context("a URL without a port")
    }

    /// The revision of the default namespace, which counts the changes.
    pub async fn revision(&self) -> anyhow::Result<u64> {
        let url = self.servers.first().context("no server")?.url();
        let request = ListSessionsRequest { page_size: 1, ..ListSessionsRequest::default() };
        let mut sessions = SessionServiceClient::new(tonic::transport::Endpoint::new(url)?.connect().await?);
        Ok(sessions.list_sessions(request).await?.into_inner().revision)
    }

    /// Clients of the library, with one connection and one stream each, spread over the servers.
    pub fn clients(&self) -> anyhow::Result<Vec<Client>> {
        self.spread().map(|url| Ok(Client::connect(url)?)).collect()
    }

    /// The server's URL for each connection, the same number of connections to each server.
    fn spread(&self) -> impl Iterator<Item = String> {
        let number = CONNECTIONS.next_multiple_of(self.servers.len());
        self.servers.iter().cycle().take(number).map(Tenured::url)
    }
}

/// The options of a library user's session: it outlives the measurement without renewals that would disturb it.
pub fn session() -> SessionOptions {
    SessionOptions::new().ttl(TTL)
}

/// A user of the library whose turn acquires and releases its own lock.
pub struct PairUser {
    session: Session,
    name: String,
}

impl PairUser {
    /// Opens a session for the lock of this name.
    pub async fn open(client: &Client, name: String) -> anyhow::Result<Self> {
        Ok(Self { session: client.session(session()).await?, name })
    }

    /// Closes the session.
    pub async fn close(&self) -> anyhow::Result<()> {
        Ok(self.session.close().await?)
    }
}

impl User for PairUser {
    async fn turn(&mut self) -> anyhow::Result<()> {
        match self.session.lock(self.name.as_str()).try_acquire().await? {
            Attempt::Acquired(guard) => Ok(guard.release().await?),
            Attempt::Busy(busy) => bail!("{} is not free: {busy:?}", self.name),
        }
    }
}
