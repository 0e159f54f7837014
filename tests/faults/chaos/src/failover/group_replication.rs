//! A group of MySQL servers with Group Replication, which elects another primary by itself when the primary fails.

use std::path::PathBuf;

use anyhow::ensure;
use async_trait::async_trait;
use clap::ValueEnum;
use tenure_harness::GroupReplication;

use super::Cluster;
use crate::faults::{has_own_namespaces, isolate, reconnect};

/// The name of the database, and of the servers' user, who cannot do what only administrators can.
const NAME: &str = "tenure";

/// The number of members: the minimum that tolerates one failure.
const MEMBERS: usize = 3;

/// How the primary fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Failure {
    /// It is killed.
    Killed,
    /// It is frozen.
    Frozen,
    /// It is cut off from the other members, and continues to serve its clients.
    Partitioned,
}

pub(super) struct Group {
    members: GroupReplication,
    primary: usize,
    /// The previous primary.
    old: usize,
    failure: Failure,
}

impl Group {
    pub(super) async fn start(failure: Failure, settings: &[String]) -> anyhow::Result<Self> {
        let is_possible = failure != Failure::Partitioned || has_own_namespaces();
        ensure!(is_possible, "only root can cut a member off, by nft in a network namespace");
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let members = GroupReplication::start(MEMBERS, &settings).await?;
        let sql = format!("CREATE DATABASE {NAME}; CREATE USER {NAME}; GRANT ALL ON {NAME}.* TO {NAME}");
        members.execute(0, &sql).await?;
        Ok(Self { members, primary: 0, old: 0, failure })
    }
}

#[async_trait(?Send)]
impl Cluster for Group {
    fn url(&self, _proxy_port: u16) -> String {
        let hosts: Vec<String> =
            (0..MEMBERS).map(|member| format!("127.0.0.1:{}", self.members.port(member))).collect();
        format!("mysql://{NAME}@{}/{NAME}", hosts.join(","))
    }

    fn url_of(&self, port: u16) -> String {
        format!("mysql://{NAME}@127.0.0.1:{port}/{NAME}")
    }

    fn writer(&self) -> u16 {
        self.members.port(self.primary)
    }

    async fn kill(&mut self) -> anyhow::Result<()> {
        match self.failure {
            Failure::Killed => self.members.kill(self.primary).await,
            Failure::Frozen => self.members.pause(self.primary).await,
            Failure::Partitioned => {
                let others = (0..MEMBERS).filter(|member| *member != self.primary);
                let others: Vec<u16> = others.map(|member| self.members.group_port(member)).collect();
                let port = self.members.group_port(self.primary);
                isolate(port, &others, GroupReplication::system_group(self.primary))
            }
        }
    }

    async fn take_over(&mut self) -> anyhow::Result<()> {
        self.old = self.primary;
        self.primary = self.members.primary_instead_of(self.old).await?;
        Ok(())
    }

    fn logs(&self) -> Vec<(String, PathBuf)> {
        (0..MEMBERS).map(|member| (format!("member-{member}"), self.members.log_file(member))).collect()
    }

    /// It gets from the others what it lacks.
    async fn rebuild(&mut self) -> anyhow::Result<()> {
        if self.failure == Failure::Partitioned {
            reconnect()?;
        }
        self.members.resume(self.old)?;
        self.members.kill(self.old).await?;
        self.members.start_again(self.old).await
    }
}
