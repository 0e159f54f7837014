//! A Patroni cluster, which promotes a standby by itself when the primary fails.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use async_trait::async_trait;
use tenure_harness::{Patroni, PatroniPorts, free_port};
use tokio::time::sleep;

use super::{Cluster, lost};
use crate::past::LostCommits;
use crate::proxy::{Conditions, Direction, Proxy};

/// The name of the database.
const NAME: &str = "tenure";

/// The number of nodes: with one down, a commit can still wait for another.
const NODES: usize = 3;

pub(super) struct PatroniCluster {
    nodes: Patroni,
    /// The proxies through which the other nodes reach each node.
    proxies: Vec<Proxy>,
    primary: usize,
    /// The previous primary.
    old: usize,
    timeline: i32,
    is_synchronous: bool,
    /// Whether only the primary's Patroni is killed: its PostgreSQL keeps running, and believes to be the primary.
    orphans: bool,
}

impl PatroniCluster {
    pub(super) async fn start(is_synchronous: bool, orphans: bool) -> anyhow::Result<Self> {
        let (mut proxies, mut ports) = (Vec::new(), Vec::new());
        for _ in 0..NODES {
            let (proxy, port) = (Proxy::start().await?, free_port()?);
            proxy.set_target(port);
            ports.push(PatroniPorts { port, proxy_port: proxy.port() });
            proxies.push(proxy);
        }
        let nodes = Patroni::start(&ports, is_synchronous).await?;
        let primary = nodes.wait_until_complete().await?;
        nodes.execute(primary, &format!("CREATE DATABASE {NAME}")).await?;
        let timeline = nodes.timeline(primary).await?;
        Ok(Self { nodes, proxies, primary, old: primary, timeline, is_synchronous, orphans })
    }
}

#[async_trait(?Send)]
impl Cluster for PatroniCluster {
    fn url(&self, _proxy_port: u16) -> String {
        let hosts: Vec<String> = (0..NODES).map(|node| format!("127.0.0.1:{}", self.nodes.port(node))).collect();
        format!("postgres://tenure@{}/{NAME}", hosts.join(","))
    }

    fn url_of(&self, port: u16) -> String {
        format!("postgres://tenure@127.0.0.1:{port}/{NAME}")
    }

    fn writer(&self) -> u16 {
        self.nodes.port(self.primary)
    }

    fn may_lose_commits(&self) -> bool {
        !self.is_synchronous
    }

    async fn fall_behind(&mut self, lasts: Duration) {
        let blocked = Direction { is_blocked: true, ..Direction::default() };
        self.proxies[self.primary].set(Conditions { to_client: blocked, ..Conditions::default() });
        sleep(lasts).await;
    }

    async fn kill(&mut self) -> anyhow::Result<()> {
        if self.orphans {
            return self.nodes.kill_patroni(self.primary).await;
        }
        self.nodes.kill(self.primary).await?;
        // Data in transit must not arrive.
        let blocked = Direction { is_blocked: true, ..Direction::default() };
        self.proxies[self.primary].set(Conditions { refuses: true, to_server: blocked, to_client: blocked });
        self.proxies[self.primary].cut();
        Ok(())
    }

    async fn take_over(&mut self) -> anyhow::Result<()> {
        self.old = self.primary;
        self.primary = self.nodes.primary().await?;
        Ok(())
    }

    async fn wait_for_commits(&mut self) -> anyhow::Result<()> {
        if self.is_synchronous { self.nodes.wait_for_standby(self.primary).await } else { Ok(()) }
    }

    async fn lost_commits(&mut self, at: Duration) -> anyhow::Result<Option<LostCommits>> {
        if self.is_synchronous {
            return Ok(None);
        }
        let mut copy = self.nodes.start_aside(self.old).await?;
        let lost = lost::compare(&self.url_of(copy.port()), &self.url_of(self.writer()), at).await;
        copy.stop().await?;
        lost
    }

    fn logs(&self) -> Vec<(String, PathBuf)> {
        (0..NODES).map(|node| (format!("node-{node}"), self.nodes.log_file(node))).collect()
    }

    /// Patroni rewinds it to the point of the promotion, or copies it anew.
    async fn rebuild(&mut self) -> anyhow::Result<()> {
        self.proxies[self.old].set(Conditions::default());
        self.nodes.start_again(self.old).await?;
        let primary = self.nodes.wait_until_complete().await?;
        let promotions = self.nodes.timeline(primary).await? - self.timeline;
        ensure!(promotions == 1, "the machine is too busy for Patroni: it promoted {promotions} times, for one kill");
        self.timeline += promotions;
        Ok(())
    }
}
