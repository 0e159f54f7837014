//! Handover with Redis, as Redisson locks: the releasing client publishes the release, and in each of 8 client
//! processes one waiter tries to acquire.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use async_trait::async_trait;
use futures::StreamExt;
use redis::Script;
use redis::aio::MultiplexedConnection;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

use super::name;
use super::relay::{Contender, relay};
use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::target::redis::{Fsync, Product, Redis};
use crate::work::{Candidate, Subject};

/// The TTL, in milliseconds: longer than any measurement.
const TTL: u64 = 600_000;

/// Redisson's script, reduced to a lock that is not reentrant.
const ACQUIRE: &str = "if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[2], 1); \
                       redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; return redis.call('pttl', KEYS[1])";
const RELEASE: &str = "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil; end; \
                       redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], 0); return 1";

/// The target with a sync before each answer.
pub fn candidate() -> Candidate {
    Candidate::new("redis-redisson", async |lab: Arc<Lab>| {
        let redis = lab.redis(Product::Redis, Fsync::Always).await?;
        Ok(Locks { connections: redis.connections().await?, redis })
    })
}

struct Locks {
    redis: Arc<Redis>,
    connections: Vec<MultiplexedConnection>,
}

#[async_trait]
impl Subject for Locks {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let name = name(load);
        let channel = format!("redisson_lock__channel:{{{name}}}");
        let mut listeners = JoinSet::new();
        let mut processes = Vec::new();
        for connection in &self.connections {
            let mut messages = self.redis.subscribe(&channel).await?;
            let released = Arc::new(Semaphore::new(0));
            let notified = Arc::clone(&released);
            let _: AbortHandle = listeners.spawn(async move {
                while messages.next().await.is_some() {
                    notified.add_permits(1);
                }
            });
            processes.push((connection.clone(), released));
        }
        let scripts = Arc::new((Script::new(ACQUIRE), Script::new(RELEASE)));
        let contenders =
            processes.iter().cycle().take(load.level + 1).enumerate().map(|(number, (connection, released))| {
                let (connection, released, scripts) = (connection.clone(), Arc::clone(released), Arc::clone(&scripts));
                Client {
                    connection,
                    released,
                    scripts,
                    name: name.clone(),
                    channel: channel.clone(),
                    owner: number.to_string(),
                }
            });
        // The listeners end with their set.
        Ok(relay(load, &self.redis.processes(), contenders.collect()).await?.0)
    }
}

struct Client {
    connection: MultiplexedConnection,
    /// One permit for each release that its process was notified of.
    released: Arc<Semaphore>,
    scripts: Arc<(Script, Script)>,
    name: String,
    channel: String,
    owner: String,
}

impl Contender for Client {
    async fn acquire(&mut self) -> anyhow::Result<()> {
        loop {
            let mut acquire = self.scripts.0.key(&self.name);
            acquire.arg(TTL).arg(&self.owner);
            let left: Option<u64> = acquire.invoke_async(&mut self.connection).await?;
            let Some(left) = left else { return Ok(()) };
            if let Ok(permit) = tokio::time::timeout(Duration::from_millis(left), self.released.acquire()).await {
                permit?.forget();
            }
        }
    }

    async fn release(&mut self) -> anyhow::Result<()> {
        let mut release = self.scripts.1.key(&self.name);
        release.key(&self.channel).arg(&self.owner);
        let released: Option<u64> = release.invoke_async(&mut self.connection).await?;
        ensure!(released == Some(1), "{} was lost", self.name);
        Ok(())
    }
}
