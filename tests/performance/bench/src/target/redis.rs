//! Redis, and Valkey, which has the same protocol, with the append-only file for durability, full or partial.

use std::path::Path;
use std::process::Command;

use redis::aio::{MultiplexedConnection, PubSubStream};
use tenure_harness::Served;

use crate::cpu::Processes;
use crate::target::{CONNECTIONS, accepts, peer};

/// The product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// Redis.
    Redis,
    /// Valkey.
    Valkey,
}

impl Product {
    /// The name of its targets, program and package begin with this.
    pub fn word(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Valkey => "valkey",
        }
    }

    /// The command that runs a server.
    pub fn command(self) -> anyhow::Result<Command> {
        let server = format!("{}-server", self.word());
        peer(&server, &server)
    }
}

/// When the append-only file is synced to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fsync {
    /// Before each answer: as durable as the other targets.
    Always,
    /// Once a second, the default: a crash of the machine loses up to two seconds of locks.
    EverySecond,
}

impl Fsync {
    /// The value in Redis' configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::EverySecond => "everysec",
        }
    }
}

/// One server.
#[derive(Debug)]
pub struct Redis(Served);

impl Redis {
    /// Starts one on fresh data.
    pub async fn start(product: Product, fsync: Fsync) -> anyhow::Result<Self> {
        let command = |folder: &Path, port: u16| {
            let mut command = product.command()?;
            command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]).arg(folder);
            // Snapshots beside the append-only file would only cost time.
            command.args(["--appendonly", "yes", "--appendfsync", fsync.word(), "--save", ""]);
            command.args(["--io-threads", &io_threads().to_string()]);
            Ok(command)
        };
        Ok(Self(Served::start(product.word(), command, accepts).await?))
    }

    /// The processes whose processor time counts.
    pub fn processes(&self) -> Processes {
        Processes { server: self.0.process_id().into_iter().collect(), database: Vec::new() }
    }

    /// The messages on a channel, on a dedicated connection.
    pub async fn subscribe(&self, channel: &str) -> anyhow::Result<PubSubStream> {
        let mut subscriber = self.client()?.get_async_pubsub().await?;
        subscriber.subscribe(channel).await?;
        Ok(subscriber.into_on_message())
    }

    /// Opens the connections that all clients share. Each pipelines concurrent requests of several clients.
    pub async fn connections(&self) -> anyhow::Result<Vec<MultiplexedConnection>> {
        let client = self.client()?;
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(client.get_multiplexed_async_connection().await?);
        }
        Ok(connections)
    }

    fn client(&self) -> anyhow::Result<redis::Client> {
        Ok(redis::Client::open(format!("redis://127.0.0.1:{}", self.0.port()))?)
    }
}

/// The number of threads for connections that the configuration files of both products advise: none beside the main
/// one with fewer than four cores, else as many as leave two cores free.
fn io_threads() -> usize {
    match std::thread::available_parallelism().map_or(1, Into::into) {
        ..4 => 1,
        cores => cores - 2,
    }
}
