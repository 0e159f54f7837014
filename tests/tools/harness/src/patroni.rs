//! A throw-away Patroni cluster: PostgreSQL nodes whose primary is elected through an etcd.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::Signal;
use sqlx::PgConnection;
use tokio::time::timeout;

use crate::folder::Folder;
use crate::postgres::{self, Answer, connect};
use crate::process::Process;
use crate::tenured::status;
use crate::wait::holds_within;
use crate::{Postgres, Served, port, program};

/// Patroni's `ttl` (how long a primary's key outlives it), `loop_wait` (the pause between two checks), and the time for
/// which it tolerates an etcd or a PostgreSQL that does not answer, in s. With a TTL of 6, a busy machine had one
/// unwanted election in a hundred: when it has chosen a synchronous standby, Patroni sleeps for 2 s while it holds the
/// key.
const TTL: u32 = 10;
const LOOP_WAIT: u32 = 1;
const RETRY_TIMEOUT: u32 = 3;

/// The limit of the wait until another node takes writes, or until all follow it.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The limit of a node's answer.
const ANSWER: Duration = Duration::from_secs(5);

/// The ports of a node, on 127.0.0.1.
#[derive(Clone, Copy, Debug)]
pub struct PatroniPorts {
    /// The port of its PostgreSQL.
    pub port: u16,
    /// The port by which the other nodes reach its PostgreSQL.
    pub proxy_port: u16,
}

/// A node.
#[derive(Debug)]
struct Node {
    process: Process,
    port: u16,
    /// The port of Patroni's REST API, which reports the node's state.
    rest: u16,
    is_running: bool,
}

/// A cluster, on 127.0.0.1, whose superuser `tenure` needs no password. A node's PostgreSQL stops and starts with it.
#[derive(Debug)]
pub struct Patroni {
    nodes: Vec<Node>,
    is_synchronous: bool,
    /// Declared after the nodes, so that it ends after them.
    _etcd: Served,
}

impl Patroni {
    /// Starts a node on each of these ports, the first as the primary, and waits until all others follow it. If the
    /// cluster is synchronous, a commit is acknowledged when another node has it, and waits while there is none
    /// (`synchronous_mode_strict`).
    ///
    /// # Errors
    /// If Patroni, etcd or PostgreSQL is not installed, or a node does not start.
    pub async fn start(all_ports: &[PatroniPorts], is_synchronous: bool) -> anyhow::Result<Self> {
        let etcd = Served::start_etcd(Command::new(program::find("etcd", "etcd-server")?)).await?;
        let mut nodes = Vec::new();
        for (number, ports) in all_ports.iter().enumerate() {
            nodes.push(Node::new(number, *ports, etcd.port(), is_synchronous)?);
        }
        let mut cluster = Self { nodes, is_synchronous, _etcd: etcd };
        for number in 0..all_ports.len() {
            cluster.start_again(number).await?;
            cluster.primary().await?;
        }
        cluster.wait_until_complete().await?;
        Ok(cluster)
    }

    /// The port of a node's PostgreSQL.
    #[must_use]
    pub fn port(&self, node: usize) -> u16 {
        self.nodes[node].port
    }

    /// The log of a node's Patroni and PostgreSQL.
    #[must_use]
    pub fn log_file(&self, node: usize) -> PathBuf {
        self.nodes[node].process.log_file()
    }

    /// Kills a node, its Patroni and its PostgreSQL, with SIGKILL.
    ///
    /// # Errors
    /// If it survives that.
    pub async fn kill(&mut self, node: usize) -> anyhow::Result<()> {
        let node = &mut self.nodes[node];
        node.is_running = false;
        node.process.kill().await
    }

    /// Kills a node's Patroni with SIGKILL. Its PostgreSQL keeps running, unaware that another node has taken over.
    ///
    /// # Errors
    /// If it survives that.
    pub async fn kill_patroni(&mut self, node: usize) -> anyhow::Result<()> {
        let node = &mut self.nodes[node];
        node.is_running = false;
        node.process.kill_alone().await
    }

    /// Restarts a killed node, or its Patroni, and waits until its PostgreSQL answers.
    ///
    /// # Errors
    /// If it does not start; with the end of its log.
    pub async fn start_again(&mut self, node: usize) -> anyhow::Result<()> {
        let node = &mut self.nodes[node];
        let port = node.port;
        node.process.start(async || connect(port).await.is_ok()).await?;
        node.is_running = true;
        Ok(())
    }

    /// Starts the PostgreSQL of a killed node alone, on an unused port, to inspect its data.
    ///
    /// # Errors
    /// If it does not start; with the end of its log.
    pub async fn start_aside(&self, node: usize) -> anyhow::Result<Postgres> {
        let port = port::free()?;
        let own_port = format!("port={port}");
        // It has no standbys.
        let settings = [own_port.as_str(), "synchronous_standby_names="];
        Postgres::start_in(&data_of(self.nodes[node].process.folder()), port, &[], &settings).await
    }

    /// Waits until a node takes writes, and returns it. Its commits may still have to wait.
    ///
    /// # Errors
    /// If none does in time.
    pub async fn primary(&self) -> anyhow::Result<usize> {
        let mut connections: Vec<Option<PgConnection>> = self.nodes.iter().map(|_| None).collect();
        let mut primary = None;
        let found = holds_within(TIMEOUT, async || {
            for (number, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.is_running) {
                let standby = is_standby(&mut connections[number], node.port).await;
                if standby.is_ok_and(|is_standby| !is_standby) {
                    primary = Some(number);
                }
            }
            primary.is_some()
        })
        .await;
        match primary {
            Some(primary) if found => Ok(primary),
            _ => bail!("no node takes writes within {TIMEOUT:?}: {}", self.logs()),
        }
    }

    /// Waits until commits at the primary no longer have to wait for a standby.
    ///
    /// An acknowledged commit does not prove that: PostgreSQL counts a standby as having the commit if it is ahead of
    /// the primary on the previous timeline and is about to be rewound.
    ///
    /// # Errors
    /// If that does not happen in time.
    pub async fn wait_for_standby(&self, primary: usize) -> anyhow::Result<()> {
        let timeline = self.timeline(primary).await?;
        let follows = format!(
            "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming' AND received_tli = {timeline}"
        );
        let others = || (0..self.nodes.len()).filter(|node| *node != primary && self.nodes[*node].is_running);
        let followed = holds_within(TIMEOUT, async || {
            for node in others() {
                if self.ask::<i64>(node, &follows).await.is_ok_and(|count| count > 0) {
                    return true;
                }
            }
            false
        })
        .await;
        let commit = self.execute(primary, "SELECT pg_logical_emit_message(true, 'harness', 'a commit')");
        match timeout(TIMEOUT, commit).await {
            Ok(committed) if followed => committed,
            _ => bail!("no standby follows the primary within {TIMEOUT:?}: {}", self.logs()),
        }
    }

    /// The timeline on which a primary writes its log: each promotion begins a new one.
    ///
    /// # Errors
    /// If it does not answer, or is not a primary.
    pub async fn timeline(&self, primary: usize) -> anyhow::Result<i32> {
        let sql = "SELECT ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int";
        self.ask(primary, sql).await
    }

    /// Waits until one node is the primary, all others follow it, and if the cluster is synchronous, one of them may
    /// take over. Returns the primary.
    ///
    /// # Errors
    /// If that does not happen in time.
    pub async fn wait_until_complete(&self) -> anyhow::Result<usize> {
        let follow = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn IS NOT NULL";
        let others = self.nodes.len() - 1;
        let mut found = None;
        let whole = holds_within(TIMEOUT, async || {
            let Ok(primary) = self.primary().await else { return false };
            found = Some(primary);
            self.count_of("/primary").await == 1
                && self.count_of("/replica").await == others
                && self.count_of("/synchronous").await == usize::from(self.is_synchronous)
                && self.ask::<i64>(primary, follow).await.is_ok_and(|count| usize::try_from(count) == Ok(others))
        })
        .await;
        match found {
            Some(primary) if whole => Ok(primary),
            _ => bail!("not all follow one primary within {TIMEOUT:?}: {}", self.logs()),
        }
    }

    /// The number of nodes for which a health check of load balancers succeeds.
    async fn count_of(&self, path: &str) -> usize {
        let mut count = 0;
        for node in &self.nodes {
            let status = timeout(ANSWER, status(node.rest, path)).await;
            count += usize::from(status.is_ok_and(|status| status == Some(200)));
        }
        count
    }

    /// Executes statements as superuser in the database `postgres`, at a node.
    ///
    /// # Errors
    /// If the node rejects them or is not running.
    pub async fn execute(&self, node: usize, sql: &str) -> anyhow::Result<()> {
        postgres::execute(self.port(node), sql).await
    }

    /// Runs a query with one row and column at a node, as superuser in the database `postgres`.
    ///
    /// # Errors
    /// If the node rejects it or is not running.
    pub async fn ask<T: Answer>(&self, node: usize, sql: &str) -> anyhow::Result<T> {
        postgres::ask(self.port(node), sql).await
    }

    fn logs(&self) -> String {
        self.nodes.iter().enumerate().fold(String::new(), |mut all, (number, node)| {
            let _ = write!(all, "\n--- node {number}:\n{}", node.process.log_tail());
            all
        })
    }
}

impl Node {
    fn new(number: usize, ports: PatroniPorts, etcd: u16, is_synchronous: bool) -> anyhow::Result<Self> {
        let user = program::user_if_root("postgres")?;
        // On SIGQUIT Patroni ends at once, and its PostgreSQL ends without leaving shared memory behind.
        let folder = Folder::create(user, Signal::QUIT)?;
        let rest = port::free()?;
        let settings = folder.path().join("patroni.yml");
        fs::write(&settings, settings_of(number, ports, rest, etcd, is_synchronous, folder.path())?)
            .context("writing Patroni's settings")?;
        let mut command = Command::new(program::find("patroni", "patroni")?);
        command.arg(settings);
        let process = Process::new("Patroni", command, folder, user, Signal::TERM);
        Ok(Self { process, port: ports.port, rest, is_running: false })
    }
}

fn data_of(folder: &Path) -> PathBuf {
    folder.join("data")
}

/// The settings of Patroni in Debian 12 (3.0). Those in `bootstrap` are kept in etcd from the first start on.
fn settings_of(
    number: usize,
    ports: PatroniPorts,
    rest: u16,
    etcd: u16,
    is_synchronous: bool,
    folder: &Path,
) -> anyhow::Result<String> {
    // The folder with all PostgreSQL programs.
    let programs = fs::canonicalize(program::find("pg_rewind", "postgresql")?)?;
    let programs = programs.parent().context("a program is in a folder")?.display();
    let (PatroniPorts { port, proxy_port }, data, folder) = (ports, data_of(folder), folder.display());
    let data = data.display();
    Ok(format!(
        "\
scope: tenure
name: node_{number}
restapi:
  listen: 127.0.0.1:{rest}
  connect_address: 127.0.0.1:{rest}
etcd3:
  host: 127.0.0.1:{etcd}
bootstrap:
  dcs:
    ttl: {TTL}
    loop_wait: {LOOP_WAIT}
    retry_timeout: {RETRY_TIMEOUT}
    # A standby that lacks the last commits is to be promoted, too.
    maximum_lag_on_failover: 1073741824
    synchronous_mode: {is_synchronous}
    synchronous_mode_strict: {is_synchronous}
    postgresql:
      use_pg_rewind: true
      parameters:
        wal_retrieve_retry_interval: 100ms
  initdb: [auth: trust, encoding: UTF8, locale: C, no-sync]
postgresql:
  listen: 127.0.0.1:{port}
  connect_address: 127.0.0.1:{proxy_port}
  data_dir: {data}
  bin_dir: {programs}
  pgpass: {folder}/pgpass
  authentication:
    superuser:
      username: tenure
    replication:
      username: tenure
  pg_hba:
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
  parameters:
    unix_socket_directories: ''
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
"
    ))
}

/// Queries over a connection, which is reopened after a failure.
async fn is_standby(connection: &mut Option<PgConnection>, port: u16) -> anyhow::Result<bool> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => connect(port).await?,
    };
    let answer = timeout(ANSWER, sqlx::query_scalar("SELECT pg_is_in_recovery()").fetch_one(&mut open)).await??;
    *connection = Some(open);
    Ok(answer)
}
