//! Pairs with Redis and Valkey, as their documentation recommends: a key is set with a TTL if it does not exist, and a
//! script deletes it if its value is still the client's own.

use std::sync::Arc;

use anyhow::ensure;
use async_trait::async_trait;
use redis::Script;
use redis::aio::MultiplexedConnection;

use super::name;
use crate::measure::{Figures, Load, User, closed_loop};
use crate::target::redis::{Fsync, Product, Redis};
use crate::work::{Candidate, Subject};

/// The TTL, in milliseconds: longer than any measurement.
const TTL: u64 = 600_000;

const RELEASE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/// The target with this product and durability.
pub fn candidate(product: Product, fsync: Fsync) -> Candidate {
    Candidate::new(format!("{}-{}", product.word(), fsync.word()), async move |lab| {
        let redis = lab.redis(product, fsync).await?;
        Ok(Locks { connections: redis.connections().await?, redis, release: Arc::new(Script::new(RELEASE)) })
    })
}

struct Locks {
    redis: Arc<Redis>,
    connections: Vec<MultiplexedConnection>,
    release: Arc<Script>,
}

#[async_trait]
impl Subject for Locks {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let connections = self.connections.iter().cycle().take(load.level).cloned().enumerate();
        let users = connections.map(|(client, connection)| Client {
            connection,
            release: Arc::clone(&self.release),
            name: name(load, client),
            owner: format!("client-{client}"),
        });
        Ok(closed_loop(load, &self.redis.processes(), users.collect()).await?.0)
    }
}

struct Client {
    connection: MultiplexedConnection,
    release: Arc<Script>,
    name: String,
    owner: String,
}

impl User for Client {
    async fn turn(&mut self) -> anyhow::Result<()> {
        let mut set = redis::cmd("SET");
        set.arg(&self.name).arg(&self.owner).arg("NX").arg("PX").arg(TTL);
        let acquired: Option<String> = set.query_async(&mut self.connection).await?;
        ensure!(acquired.is_some(), "{} is not free", self.name);
        let mut release = self.release.key(&self.name);
        let released: u64 = release.arg(&self.owner).invoke_async(&mut self.connection).await?;
        ensure!(released == 1, "{} was lost", self.name);
        Ok(())
    }
}
