//! What the targets of one work share: servers and databases on fresh data, started when first asked for.

use std::collections::HashMap;
use std::sync::Arc;

use tenure_harness::{MariaDb, Postgres};
use tokio::sync::{Mutex, OnceCell};

use crate::target::store::Store;
use crate::target::tenure::Cluster;

/// The redo log that MariaDB has by default; the harness makes a smaller one, for tests.
const MARIADB_OPTIONS: [&str; 1] = ["--innodb-log-file-size=96M"];

/// Starts things, each once. All of them end with it.
#[derive(Default)]
pub struct Lab {
    // The servers end before their databases.
    clusters: Mutex<HashMap<(Store, usize), Arc<Cluster>>>,
    postgres: OnceCell<Arc<Postgres>>,
    mariadb: OnceCell<Arc<MariaDb>>,
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

    /// So many Tenure servers on one database of their own.
    pub async fn cluster(&self, store: Store, servers: usize) -> anyhow::Result<Arc<Cluster>> {
        let mut clusters = self.clusters.lock().await;
        if let Some(cluster) = clusters.get(&(store, servers)) {
            return Ok(Arc::clone(cluster));
        }
        let cluster = Arc::new(Cluster::start(store.fresh(self).await?, servers, &[]).await?);
        clusters.insert((store, servers), Arc::clone(&cluster));
        Ok(cluster)
    }
}
