//! Tenure: servers on one database, and the two ways in.

use std::time::Duration;

use tenure_client::{Client, SessionOptions};
use tenure_harness::{Tenured, TenuredOptions};
use tonic::transport::{Channel, Endpoint};

use crate::cpu::Processes;
use crate::target::CONNECTIONS;
use crate::target::store::Database;

/// Longer than any measurement, so that a session which renews itself only through plain calls outlives it.
pub const TTL: Duration = Duration::from_secs(600);

/// Servers on one database.
#[derive(Debug)]
pub struct Cluster {
    servers: Vec<Tenured>,
    database: Database,
}

impl Cluster {
    /// Starts `servers` of them, with more arguments for each.
    pub async fn start(database: Database, servers: usize, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = database.url.clone().map_or_else(TenuredOptions::default, TenuredOptions::store);
        options.arguments.extend(arguments.iter().map(ToString::to_string));
        let mut started = Vec::new();
        for _ in 0..servers {
            started.push(Tenured::start(&options).await?);
        }
        Ok(Self { servers: started, database })
    }

    /// The servers.
    pub fn servers(&self) -> &[Tenured] {
        &self.servers
    }

    /// Whose processor time counts.
    pub fn processes(&self) -> Processes {
        Processes { server: self.servers.iter().filter_map(Tenured::process_id).collect(), ..self.database.processes() }
    }

    /// Connections for plain calls, spread over the servers.
    pub async fn channels(&self) -> anyhow::Result<Vec<Channel>> {
        let mut channels = Vec::new();
        for url in self.spread() {
            channels.push(Endpoint::from_shared(url)?.connect().await?);
        }
        Ok(channels)
    }

    /// Clients of the library, one connection and one stream each, spread over the servers.
    pub fn clients(&self) -> anyhow::Result<Vec<Client>> {
        self.spread().map(|url| Ok(Client::connect(url)?)).collect()
    }

    /// The URL of the server for each connection: as many connections to each.
    fn spread(&self) -> impl Iterator<Item = String> {
        let number = CONNECTIONS.next_multiple_of(self.servers.len());
        self.servers.iter().cycle().take(number).map(Tenured::url)
    }
}

/// The session of a user of the library: it outlives the measurement without a renewal that would disturb it.
pub fn session() -> SessionOptions {
    SessionOptions::new().ttl(TTL)
}
