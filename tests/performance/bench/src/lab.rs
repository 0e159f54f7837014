//! Servers and databases shared by the targets of one work, started on fresh data on first use.

use std::collections::HashMap;
use std::sync::Arc;

use tenure_harness::{MariaDb, MySql, Postgres};
use tokio::sync::{Mutex, OnceCell};

use crate::target::empty::Empty;
use crate::target::etcd::Etcd;
use crate::target::redis::{Fsync, Product, Redis};
use crate::target::store::Store;
use crate::target::tenure::Cluster;
use crate::target::zookeeper::ZooKeeper;

/// MariaDB's default redo log size; the harness uses a smaller one for tests.
const MARIADB_OPTIONS: [&str; 1] = ["--innodb-log-file-size=96M"];

/// Starts servers and databases, each once. Dropping it stops all of them.
#[derive(Default)]
pub struct Lab {
    // Declared first, so that the servers stop before their databases.
    clusters: Mutex<HashMap<(Store, usize), Arc<Cluster>>>,
    postgres: OnceCell<Arc<Postgres>>,
    mariadb: OnceCell<Arc<MariaDb>>,
    mysql: OnceCell<Arc<MySql>>,
    etcd: OnceCell<Arc<Etcd>>,
    zookeeper: OnceCell<Arc<ZooKeeper>>,
    redis: Mutex<HashMap<(Product, Fsync), Arc<Redis>>>,
    empty: OnceCell<Arc<Empty>>,
}

impl Lab {
    /// The PostgreSQL of this work, with Debian's settings.
    pub async fn postgres(&self) -> anyhow::Result<Arc<Postgres>> {
        self.postgres.get_or_try_init(async || Ok(Arc::new(Postgres::start().await?))).await.cloned()
    }

    /// The MariaDB of this work, with Debian's settings.
    pub async fn mariadb(&self) -> anyhow::Result<Arc<MariaDb>> {
        let start = async || Ok(Arc::new(MariaDb::start_with(&MARIADB_OPTIONS).await?));
        self.mariadb.get_or_try_init(start).await.cloned()
    }

    /// The MySQL of this work, with its default settings.
    pub async fn mysql(&self) -> anyhow::Result<Arc<MySql>> {
        self.mysql.get_or_try_init(async || Ok(Arc::new(MySql::start().await?))).await.cloned()
    }

    /// This number of Tenure servers on a database of their own.
    pub async fn cluster(&self, store: Store, servers: usize) -> anyhow::Result<Arc<Cluster>> {
        let mut clusters = self.clusters.lock().await;
        if let Some(cluster) = clusters.get(&(store, servers)) {
            return Ok(Arc::clone(cluster));
        }
        let cluster = Arc::new(Cluster::start(store.fresh(self).await?, servers, &[]).await?);
        clusters.insert((store, servers), Arc::clone(&cluster));
        Ok(cluster)
    }

    /// The etcd of this work.
    pub async fn etcd(&self) -> anyhow::Result<Arc<Etcd>> {
        self.etcd.get_or_try_init(async || Ok(Arc::new(Etcd::start().await?))).await.cloned()
    }

    /// The ZooKeeper of this work.
    pub async fn zookeeper(&self) -> anyhow::Result<Arc<ZooKeeper>> {
        self.zookeeper.get_or_try_init(async || Ok(Arc::new(ZooKeeper::start().await?))).await.cloned()
    }

    /// The Redis or Valkey of this work with this durability.
    pub async fn redis(&self, product: Product, fsync: Fsync) -> anyhow::Result<Arc<Redis>> {
        let mut all = self.redis.lock().await;
        if let Some(redis) = all.get(&(product, fsync)) {
            return Ok(Arc::clone(redis));
        }
        let redis = Arc::new(Redis::start(product, fsync).await?);
        all.insert((product, fsync), Arc::clone(&redis));
        Ok(redis)
    }

    /// The no-op server of this work.
    pub async fn empty(&self) -> anyhow::Result<Arc<Empty>> {
        self.empty.get_or_try_init(async || Ok(Arc::new(Empty::start().await?))).await.cloned()
    }
}
