//! The servers on which scenarios run.

use anyhow::{Context, ensure};
use tenure_harness::{Postgres, Tenured, TenuredOptions};
use tokio::sync::{Mutex, OnceCell};

use crate::secured::Secured;
use crate::step::FaultKind;

/// The server lease: shorter than the default, so that waits for a dead server are short, and long enough for a busy
/// machine.
const SERVER_LEASE: &str = "5s";

/// How long a stopping server waits for its clients to leave: a single server's clients cannot leave.
const DRAIN_TIMEOUT: &str = "3s";

/// More than the number of scenarios for all clients.
const NAMESPACES: &str = "100000";

/// The store and the number of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setup {
    /// The name of the store.
    pub store: &'static str,
    /// The number of servers that share it.
    pub servers: usize,
}

/// The set-ups; each scenario runs on all of them, unless it restricts them.
pub const SETUPS: [Setup; 2] = [Setup { store: "sqlite", servers: 1 }, Setup { store: "postgres", servers: 3 }];

/// Running servers.
pub struct Cluster {
    servers: Vec<Mutex<Tenured>>,
    ports: Vec<u16>,
    database: Option<Mutex<Postgres>>,
    secured: OnceCell<Secured>,
}

impl Cluster {
    /// Starts servers. `own_database`: with a database that can be stopped.
    ///
    /// # Errors
    /// If a process does not start.
    pub async fn start(setup: Setup, own_database: bool) -> anyhow::Result<Self> {
        let (database, url) = match setup.store {
            "sqlite" => (None, None),
            _ if own_database => {
                let database = Postgres::start().await?;
                let url = database.create_database().await?;
                (Some(Mutex::new(database)), Some(url))
            }
            _ => (None, Some(Postgres::shared().await?.create_database().await?)),
        };
        let options = TenuredOptions { store_url: url, ..TenuredOptions::default() }
            .argument(format!("--server-lease={SERVER_LEASE}"))
            .argument(format!("--drain-timeout={DRAIN_TIMEOUT}"))
            .argument(format!("--max-namespaces={NAMESPACES}"));
        let mut servers = Vec::new();
        for _ in 0..setup.servers {
            servers.push(Tenured::start(&options).await?);
        }
        let ports = servers.iter().map(Tenured::port).collect();
        Ok(Self { servers: servers.into_iter().map(Mutex::new).collect(), ports, database, secured: OnceCell::new() })
    }

    /// The ports of the servers.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// The server with TLS and authentication.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn secured(&self) -> anyhow::Result<&Secured> {
        self.secured.get_or_try_init(Secured::start).await
    }

    /// Applies a fault to a server, counted from 0.
    ///
    /// # Errors
    /// If that fails.
    pub async fn inject_server_fault(&self, fault: FaultKind, server: usize) -> anyhow::Result<()> {
        let server = self.servers.get(server).with_context(|| format!("there is no server {}", server + 1))?;
        let mut server = server.lock().await;
        match fault {
            FaultKind::KillServer => server.kill().await,
            FaultKind::FreezeServer => server.pause().await,
            FaultKind::ThawServer => server.resume(),
            FaultKind::StopServer => server.stop().await,
            FaultKind::StartServer => {
                ensure!(!server.is_running(), "the server is running");
                server.start_again().await
            }
            _ => Ok(()),
        }
    }

    /// Applies a fault to the database.
    ///
    /// # Errors
    /// If that fails.
    pub async fn inject_database_fault(&self, fault: FaultKind) -> anyhow::Result<()> {
        let mut database = self.database.as_ref().context("the store is not a database of its own")?.lock().await;
        match fault {
            FaultKind::StopDatabase => database.stop().await,
            FaultKind::StartDatabase => database.start_again().await,
            _ => Ok(()),
        }
    }
}
