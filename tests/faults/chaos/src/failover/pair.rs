//! A primary, its standby, and the proxy between them.

use std::time::Duration;

use async_trait::async_trait;
use tenure_harness::{DatabaseOptions, Postgres, wait_until};
use tokio::time::sleep;

use super::{Cluster, lost};
use crate::past::LostCommits;
use crate::proxy::{Conditions, Direction, Proxy};

/// The name of the database.
const NAME: &str = "tenure";

/// How long the standby may take to catch up.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(60);

/// A standby that has lost its primary retries at this interval, and cannot be promoted in the meantime. Default: 5 s.
const SETTINGS: [&str; 1] = ["wal_retrieve_retry_interval=100ms"];

/// A primary and its standby.
#[derive(Debug)]
pub struct Pair {
    /// The database that takes writes.
    pub primary: Postgres,
    /// The database that follows it.
    pub standby: Postgres,
    /// The proxy from the standby to the primary.
    proxy: Proxy,
    is_synchronous: bool,
}

impl Pair {
    /// Starts both. If they are synchronous, a commit completes when both have it.
    ///
    /// # Errors
    /// If one does not start.
    pub async fn start(is_synchronous: bool) -> anyhow::Result<Self> {
        let proxy = Proxy::start().await?;
        let primary = Postgres::start_with(&SETTINGS).await?;
        primary.execute(&format!("CREATE DATABASE {NAME}")).await?;
        proxy.set_target(primary.port());
        let standby = Postgres::start_standby(proxy.port(), &DatabaseOptions::settings(&SETTINGS)).await?;
        let pair = Self { primary, standby, proxy, is_synchronous };
        pair.synchronize().await?;
        Ok(pair)
    }

    /// Makes commits wait for the standby once it has caught up, if the pair is synchronous.
    async fn synchronize(&self) -> anyhow::Result<()> {
        if self.is_synchronous {
            self.primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'").await?;
            self.primary.execute("SELECT pg_reload_conf()").await?;
        }
        let state = if self.is_synchronous { "sync" } else { "async" };
        let sql = format!(
            "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '{state}' \
            AND application_name = 'walreceiver' AND replay_lsn IS NOT NULL"
        );
        wait_until(CATCH_UP_TIMEOUT, "the standby follows", async || {
            self.primary.ask::<i64>(&sql).await.is_ok_and(|count| count == 1)
        })
        .await;
        Ok(())
    }

    /// Stops replication to the standby; data sent in the meantime is delayed.
    pub fn disconnect(&self) {
        self.proxy.set(Conditions {
            to_client: Direction { is_blocked: true, ..Direction::default() },
            ..Conditions::default()
        });
    }

    /// Resumes replication to the standby.
    pub fn reconnect(&self) {
        self.proxy.set(Conditions::default());
    }

    /// Promotes the standby and swaps the roles; the old primary is not touched. Data that has not reached the standby
    /// by now never does.
    ///
    /// # Errors
    /// If the standby does not become a primary.
    pub async fn promote(&mut self) -> anyhow::Result<()> {
        // Nothing may follow the old primary any more, and data in transit must not arrive.
        let blocked = Direction { is_blocked: true, ..Direction::default() };
        self.proxy.set(Conditions { refuses: true, to_server: blocked, to_client: blocked });
        self.proxy.cut();
        self.standby.promote().await?;
        std::mem::swap(&mut self.primary, &mut self.standby);
        Ok(())
    }
}

#[async_trait(?Send)]
impl Cluster for Pair {
    fn url(&self, _proxy_port: u16) -> String {
        let (one, other) = (self.primary.port(), self.standby.port());
        format!("postgres://tenure@127.0.0.1:{one},127.0.0.1:{other}/{NAME}")
    }

    fn url_of(&self, port: u16) -> String {
        format!("postgres://tenure@127.0.0.1:{port}/{NAME}")
    }

    fn writer(&self) -> u16 {
        self.primary.port()
    }

    fn may_lose_commits(&self) -> bool {
        !self.is_synchronous
    }

    async fn fall_behind(&mut self, lasts: Duration) {
        self.disconnect();
        sleep(lasts).await;
    }

    async fn kill(&mut self) -> anyhow::Result<()> {
        self.primary.kill().await
    }

    async fn take_over(&mut self) -> anyhow::Result<()> {
        self.promote().await
    }

    async fn lost_commits(&mut self, at: Duration) -> anyhow::Result<Option<LostCommits>> {
        if self.is_synchronous {
            return Ok(None);
        }
        let copy = self.standby.start_aside().await?;
        let lost = lost::compare(&self.url_of(copy), &self.url_of(self.writer()), at).await;
        self.standby.kill().await?;
        lost
    }

    /// Rebuilds it from a fresh copy.
    async fn rebuild(&mut self) -> anyhow::Result<()> {
        self.proxy.set_target(self.primary.port());
        self.proxy.set(Conditions::default());
        self.standby.follow(self.proxy.port()).await?;
        self.synchronize().await
    }
}
