//! Redis, as Debian ships it, with the append-only file for durability, full or partial.

use std::path::Path;
use std::process::Command;

use redis::aio::{MultiplexedConnection, PubSubStream};
use tenure_harness::{Served, find};

use crate::cpu::Processes;
use crate::target::{CONNECTIONS, accepts};

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
    pub async fn start(fsync: Fsync) -> anyhow::Result<Self> {
        let command = |folder: &Path, port: u16| {
            let mut command = Command::new(find("redis-server", "redis-server")?);
            command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]).arg(folder);
            // Snapshots beside the append-only file would only cost time.
            command.args(["--appendonly", "yes", "--appendfsync", fsync.word(), "--save", ""]);
            Ok(command)
        };
        Ok(Self(Served::start("Redis", command, accepts).await?))
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
