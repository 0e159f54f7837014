//! A throw-away Galera cluster of MariaDB nodes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::Signal;
use sqlx::{MySqlConnection, Row};

use crate::folder::Folder;
use crate::mariadb::MariaDb;
use crate::mysql_server::connect;
use crate::wait::{holds_within, wait_until};
use crate::{port, program};

/// The library's locations in distributions; Debian's `mariadb-server` installs it.
const LIBRARIES: [&str; 3] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib/x86_64-linux-gnu/galera/libgalera_smm.so",
];

/// How long a node may take to join.
const JOINS: Duration = Duration::from_secs(120);

/// A node.
#[derive(Debug)]
struct Node {
    data: PathBuf,
    /// Ports for clients, replication, incremental state transfer and full state transfer.
    ports: [u16; 4],
    mariadb: Option<MariaDb>,
}

/// A node that does not apply the others' commits.
#[derive(Debug)]
pub struct PausedReplication {
    _connection: MySqlConnection,
}

impl PausedReplication {
    pub(crate) async fn start(port: u16) -> anyhow::Result<Self> {
        let mut connection = connect(port).await?;
        sqlx::raw_sql("FLUSH TABLES WITH READ LOCK").execute(&mut connection).await?;
        Ok(Self { _connection: connection })
    }
}

/// A cluster, on 127.0.0.1, with Galera's default settings, whose `root` needs no password.
#[derive(Debug)]
pub struct Galera {
    nodes: Vec<Node>,
    /// Declared after the nodes, so that it is removed after they have ended.
    _folder: Folder,
}

impl Galera {
    /// Starts a cluster of this many nodes, and waits until all have joined.
    ///
    /// # Errors
    /// If MariaDB or Galera is not installed, or a node does not start.
    pub async fn start(size: usize) -> anyhow::Result<Self> {
        let folder = Folder::create(program::user_if_root("mysql")?, Signal::TERM)?;
        let mut nodes = Vec::new();
        for number in 0..size {
            let ports = [port::free()?, port::free()?, port::free()?, port::free()?];
            nodes.push(Node { data: folder.path().join(format!("node-{number}")), ports, mariadb: None });
        }
        let mut cluster = Self { nodes, _folder: folder };
        for number in 0..size {
            cluster.start_node(number, number == 0).await?;
            cluster.wait_for_size(number, number + 1).await?;
        }
        Ok(cluster)
    }

    /// The port of a node for clients.
    #[must_use]
    pub fn port(&self, node: usize) -> u16 {
        self.nodes[node].ports[0]
    }

    /// Kills a node with SIGKILL.
    ///
    /// # Errors
    /// If it is not running, or survives that.
    pub async fn kill(&mut self, node: usize) -> anyhow::Result<()> {
        let mut mariadb = self.nodes[node].mariadb.take().context("the node is not running")?;
        mariadb.kill().await
    }

    /// Restarts a killed node, and waits until all nodes have joined again.
    ///
    /// # Errors
    /// If it does not start, or does not join.
    pub async fn start_again(&mut self, node: usize) -> anyhow::Result<()> {
        self.start_node(node, false).await?;
        self.wait_for_size(node, self.nodes.len()).await
    }

    /// Waits until a node is in a cluster of this size, and accepts statements.
    ///
    /// # Errors
    /// If that does not happen in time.
    pub async fn wait_for_size(&self, node: usize, size: usize) -> anyhow::Result<()> {
        let expected = [("wsrep_cluster_size", size.to_string()), ("wsrep_ready", "ON".to_owned())];
        let mut seen = Vec::new();
        let joined = holds_within(JOINS, async || {
            seen = self.status(node).await.unwrap_or_default();
            expected.iter().all(|(name, value)| seen.iter().any(|(is, of)| is == name && of == value))
        })
        .await;
        if joined {
            return Ok(());
        }
        bail!("node {node} is not in a cluster of {size} after {JOINS:?}: {seen:?}");
    }

    async fn status(&self, node: usize) -> anyhow::Result<Vec<(String, String)>> {
        let mut connection = connect(self.port(node)).await?;
        let rows = sqlx::raw_sql("SHOW STATUS LIKE 'wsrep_%'").fetch_all(&mut connection).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    /// Executes statements as `root`, without a database, at a node.
    ///
    /// # Errors
    /// If the node rejects them or is not running.
    pub async fn execute(&self, node: usize, sql: &str) -> anyhow::Result<()> {
        self.nodes[node].mariadb.as_ref().context("the node is not running")?.execute(sql).await
    }

    /// The single text value of a query at a node, as `root` without a database.
    ///
    /// # Errors
    /// If the result is empty, or the node rejects it or is not running.
    pub async fn ask(&self, node: usize, sql: &str) -> anyhow::Result<String> {
        let mut connection = connect(self.port(node)).await?;
        Ok(sqlx::query_scalar(sql).fetch_one(&mut connection).await?)
    }

    /// Makes a node stop applying the others' commits, until the returned value is dropped.
    ///
    /// # Errors
    /// If the node refuses or is not running.
    pub async fn pause_replication(&self, node: usize) -> anyhow::Result<PausedReplication> {
        PausedReplication::start(self.port(node)).await
    }

    /// Waits until a node executes a statement.
    pub async fn wait_for_statement(&self, node: usize) {
        let busy = "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Execute' AND db IS NOT NULL";
        let count = async || {
            let mut connection = connect(self.port(node)).await?;
            anyhow::Ok(sqlx::query_scalar::<_, i64>(busy).fetch_one(&mut connection).await?)
        };
        wait_until(JOINS, "a statement waits", async || count().await.is_ok_and(|count| count > 0)).await;
    }

    async fn start_node(&mut self, number: usize, is_first: bool) -> anyhow::Result<()> {
        let [clients, cluster, ist, sst] = self.nodes[number].ports;
        let all: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.ports[1])).collect();
        let mut options = vec![
            "--wsrep-on=ON".to_owned(),
            format!("--wsrep-provider={}", library()?),
            format!("--wsrep-cluster-address=gcomm://{}", all.join(",")),
            format!(
                "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{cluster};ist.recv_addr=127.0.0.1:{ist}"
            ),
            format!("--wsrep-node-address=127.0.0.1:{cluster}"),
            format!("--wsrep-sst-receive-address=127.0.0.1:{sst}"),
            "--wsrep-sst-method=rsync".to_owned(),
            "--binlog-format=ROW".to_owned(),
            "--innodb-autoinc-lock-mode=2".to_owned(),
        ];
        if is_first {
            options.push("--wsrep-new-cluster".to_owned());
        }
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let node = &mut self.nodes[number];
        node.mariadb = Some(MariaDb::start_in(&node.data, clients, &options).await?);
        Ok(())
    }
}

fn library() -> anyhow::Result<&'static str> {
    let found = LIBRARIES.into_iter().find(|library| Path::new(library).exists());
    found.with_context(|| format!("Galera is not installed (Debian: galera-4): none of {LIBRARIES:?} exists"))
}
