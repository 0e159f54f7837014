//! All processes that take part in a run.

use std::path::Path;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_harness::{DatabaseOptions, PgBouncer, Served};
use tokio::sync::Mutex;

use crate::client_process::{ClientConfig, ClientProcess};
use crate::database::{Database, Kind};
use crate::faults::{Disk, WallClock, has_own_namespaces};
use crate::servers::Server;

/// The number of servers.
const SERVERS: usize = 3;

/// The number of Rust client processes.
const CLIENTS: usize = 3;

/// The number of programs in each client that use locks, and the number of locks.
const WORKERS: usize = 4;
const LOCKS: u32 = 16;

/// All processes of a run. Each is locked by at most one fault at a time.
#[derive(Debug)]
pub struct Deployment {
    /// The database's URL, without a proxy.
    pub url: String,
    /// The database.
    pub database: Mutex<Database>,
    /// The connection pooler of the last server.
    pub pooler: Option<Mutex<PgBouncer>>,
    /// A load balancer that clients can use besides the servers: it connects to one server or another.
    pub balancer: Mutex<Served>,
    /// The servers.
    pub servers: Vec<Server>,
    /// The clients.
    pub clients: Vec<Mutex<ClientProcess>>,
    /// The separate disk of the database, if it has one.
    pub disk: Option<Mutex<Disk>>,
    /// The separate wall clocks of the database and of a server, if they have them.
    pub clocks: Vec<Mutex<WallClock>>,
    /// Serializes faults that affect the whole machine.
    pub machine: Mutex<()>,
}

impl Deployment {
    /// Starts all processes; besides the Rust clients, one client in each of these languages.
    ///
    /// # Errors
    /// If a process does not start.
    pub async fn start(kind: Kind, folder: &Path, languages: &[String], rng: &mut StdRng) -> anyhow::Result<Self> {
        let disk = if has_own_namespaces() { Disk::mount(folder)? } else { None };
        let clocks = WallClock::two(folder)?;
        let environment = |clock: usize| clocks.get(clock).map(WallClock::environment).unwrap_or_default();
        let options = DatabaseOptions {
            environment: environment(0),
            parent: disk.as_ref().map(|disk| disk.folder().to_owned()),
            ..DatabaseOptions::default()
        };
        let database = Database::start(kind, &options).await?;
        let pooler = match &database {
            Database::Postgres(postgres) => Some(PgBouncer::start(postgres).await?),
            Database::MariaDb(_) | Database::MySql(_) => None,
        };
        let mut servers = Vec::new();
        for number in 0..SERVERS {
            let last = number + 1 == SERVERS;
            let pooled = pooler.as_ref().filter(|_| last).map(PgBouncer::port);
            let server = Server::start(
                pooled.unwrap_or(database.port()),
                |port| database.url_by(port),
                if number == 0 { environment(1) } else { Vec::new() },
            );
            servers.push(server.await?);
        }
        let mut urls: Vec<String> = servers.iter().map(|server| server.url.clone()).collect();
        let balancer = crate::faults::balancer(&urls).await?;
        urls.push(format!("http://127.0.0.1:{}", balancer.port()));
        let others = languages.iter().cloned().map(Some);
        let clients = std::iter::repeat_n(None, CLIENTS).chain(others).enumerate().map(|(number, language)| {
            let (servers, seed) = (urls.clone(), rng.random());
            let config = ClientConfig { servers, seed, workers: WORKERS, locks: LOCKS, language };
            ClientProcess::start(folder, number, config).map(Mutex::new)
        });
        let clients = clients.collect::<anyhow::Result<_>>()?;
        Ok(Self {
            url: database.url(),
            database: Mutex::new(database),
            pooler: pooler.map(Mutex::new),
            balancer: Mutex::new(balancer),
            servers,
            clients,
            disk: disk.map(Mutex::new),
            clocks: clocks.into_iter().map(Mutex::new).collect(),
            machine: Mutex::new(()),
        })
    }
}
