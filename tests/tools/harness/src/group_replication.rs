//! A throw-away group of MySQL servers with Group Replication, one of which is the primary and takes the writes.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::Signal;
use sqlx::Row;

use crate::folder::Folder;
use crate::galera::PausedReplication;
use crate::mysql::MySqlPrograms;
use crate::mysql_server::{Flavour, common_arguments, connect, initialize};
use crate::port;
use crate::process::Process;
use crate::wait::holds_within;

/// How long a member may take to join, and the others to replace a failed primary.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The name of each group: a UUID.
const GROUP: &str = "8a94f357-aab4-11df-86ab-c80aa9429562";

/// The group (of users) of the first member's process; each other member has the next.
const FIRST_SYSTEM_GROUP: u32 = 61_001;

/// The sources of recovery accept `root` without a password.
const RECOVERY: &str = "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'";

const JOIN: &str = "START GROUP_REPLICATION";

/// Whether a member is the primary of its group and takes writes.
const IS_PRIMARY: &str = "SELECT COUNT(*) FROM performance_schema.replication_group_members \
    WHERE member_id = @@server_uuid AND member_state = 'ONLINE' AND member_role = 'PRIMARY' AND NOT @@super_read_only";

const ONLINE: &str = "SELECT COUNT(*) FROM performance_schema.replication_group_members \
    WHERE member_state = 'ONLINE'";

/// A member.
#[derive(Debug)]
struct Member {
    process: Process,
    port: u16,
    group_port: u16,
}

/// A group on 127.0.0.1 with one primary, whose `root` needs no password.
#[derive(Debug)]
pub struct GroupReplication {
    members: Vec<Member>,
}

impl GroupReplication {
    /// Starts a group of this many members with these settings, and waits until all have joined. The first one is the
    /// primary.
    ///
    /// # Errors
    /// If MySQL is not there, or a member does not start or join.
    pub async fn start(size: usize, settings: &[&str]) -> anyhow::Result<Self> {
        let mut ports = Vec::new();
        for _ in 0..size {
            ports.push((port::free()?, port::free()?));
        }
        let seeds: Vec<String> = ports.iter().map(|(_, group_port)| format!("127.0.0.1:{group_port}")).collect();
        let mut group = Self { members: Vec::new() };
        for (number, (port, group_port)) in ports.into_iter().enumerate() {
            let mut member = Member::new(number, port, group_port, &seeds.join(","), settings).await?;
            member.start().await?;
            group.members.push(member);
            let bootstrap = if number == 0 { "ON" } else { "OFF" };
            group.execute(number, &format!("SET GLOBAL group_replication_bootstrap_group = {bootstrap}")).await?;
            group.execute(number, &format!("{RECOVERY}; {JOIN}")).await?;
            group.execute(number, "SET GLOBAL group_replication_bootstrap_group = OFF").await?;
            group.wait_until_online(number, number + 1).await?;
        }
        Ok(group)
    }

    /// The port of a member for clients.
    #[must_use]
    pub fn port(&self, member: usize) -> u16 {
        self.members[member].port
    }

    /// The port of a member for the other members.
    #[must_use]
    pub fn group_port(&self, member: usize) -> u16 {
        self.members[member].group_port
    }

    /// The group of users that a member's process belongs to, which no other process does. It has one of its own only
    /// if this process is root's.
    #[must_use]
    pub fn system_group(member: usize) -> u32 {
        FIRST_SYSTEM_GROUP + member as u32
    }

    /// The log of a member.
    #[must_use]
    pub fn log_file(&self, member: usize) -> PathBuf {
        self.members[member].process.log_file()
    }

    /// Kills a member with SIGKILL.
    ///
    /// # Errors
    /// If it survives that.
    pub async fn kill(&mut self, member: usize) -> anyhow::Result<()> {
        self.members[member].process.kill().await
    }

    /// Freezes a member.
    ///
    /// # Errors
    /// If it is not running.
    pub async fn pause(&mut self, member: usize) -> anyhow::Result<()> {
        self.members[member].process.pause().await
    }

    /// Resumes a member after [`GroupReplication::pause`].
    ///
    /// # Errors
    /// None that are known.
    pub fn resume(&mut self, member: usize) -> anyhow::Result<()> {
        self.members[member].process.resume()
    }

    /// Starts a killed member again, and waits until all members are in the group.
    ///
    /// # Errors
    /// If it does not start, or does not join.
    pub async fn start_again(&mut self, member: usize) -> anyhow::Result<()> {
        self.members[member].start().await?;
        self.execute(member, JOIN).await?;
        self.wait_until_online(member, self.members.len()).await
    }

    /// Waits until a member other than this one is the primary and takes writes, and returns it.
    ///
    /// # Errors
    /// If that does not happen in time.
    pub async fn primary_instead_of(&self, old: usize) -> anyhow::Result<usize> {
        let mut found = None;
        let others: Vec<usize> = (0..self.members.len()).filter(|member| *member != old).collect();
        holds_within(TIMEOUT, async || {
            for member in &others {
                if self.count(*member, IS_PRIMARY).await.is_ok_and(|count| count == 1) {
                    found = Some(*member);
                }
            }
            found.is_some()
        })
        .await;
        found.with_context(|| format!("no other member is the primary after {TIMEOUT:?}: {}", self.log_tails()))
    }

    /// Waits until a member is in the group, with this many members.
    ///
    /// # Errors
    /// If that does not happen in time.
    pub async fn wait_until_online(&self, member: usize, size: usize) -> anyhow::Result<()> {
        let size = i64::try_from(size)?;
        if holds_within(TIMEOUT, async || self.count(member, ONLINE).await.is_ok_and(|count| count == size)).await {
            return Ok(());
        }
        bail!("member {member} is not in a group of {size} after {TIMEOUT:?}: {}", self.log_tails());
    }

    /// Executes statements as `root`, without a database, at a member.
    ///
    /// # Errors
    /// If the member rejects them or is not running.
    pub async fn execute(&self, member: usize, sql: &str) -> anyhow::Result<()> {
        let mut connection = connect(self.port(member)).await?;
        sqlx::raw_sql(sql).execute(&mut connection).await.with_context(|| sql.to_owned())?;
        Ok(())
    }

    /// The single number of a query at a member, as `root` without a database.
    ///
    /// # Errors
    /// If the result is something else, or the member rejects it or is not running.
    pub async fn count(&self, member: usize, sql: &str) -> anyhow::Result<i64> {
        let mut connection = connect(self.port(member)).await?;
        Ok(sqlx::raw_sql(sql).fetch_one(&mut connection).await?.try_get(0)?)
    }

    /// Makes a member stop applying the others' commits, until the returned value is dropped.
    ///
    /// # Errors
    /// If the member refuses or is not running.
    pub async fn pause_replication(&self, member: usize) -> anyhow::Result<PausedReplication> {
        PausedReplication::start(self.port(member)).await
    }

    /// The ends of all logs.
    fn log_tails(&self) -> String {
        self.members.iter().map(|member| member.process.log_tail()).collect::<Vec<_>>().join("\n---\n")
    }
}

impl Member {
    /// Prepares a member with empty data.
    async fn new(number: usize, port: u16, group_port: u16, seeds: &str, settings: &[&str]) -> anyhow::Result<Self> {
        // By the gentler signal it would first leave the group, which takes long without the others.
        let folder = Folder::create(None, Signal::KILL)?;
        let data = folder.path().join("data");
        initialize::<MySqlPrograms>(&folder, &data, None, &[]).await?;
        let mut command = MySqlPrograms::server(&common_arguments(&folder, &data))?;
        command.args(["--bind-address=127.0.0.1", "--socket=socket", "--pid-file=pid"]);
        command.args(["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--report-host=127.0.0.1"]);
        command.args(["--plugin-load-add=group_replication.so", "--group-replication-start-on-boot=OFF"]);
        // Before it has joined, it takes no writes that the others would not get.
        command.arg("--super-read-only=ON");
        command.args([
            format!("--port={port}"),
            format!("--server-id={}", number + 1),
            format!("--group-replication-group-name={GROUP}"),
            format!("--group-replication-local-address=127.0.0.1:{group_port}"),
            format!("--group-replication-group-seeds={seeds}"),
        ]);
        command.args(settings);
        if rustix::process::geteuid().is_root() {
            command.gid(GroupReplication::system_group(number));
        }
        let process = Process::new(MySqlPrograms::NAME, command, folder, None, Signal::KILL);
        Ok(Self { process, port, group_port })
    }

    async fn start(&mut self) -> anyhow::Result<()> {
        let port = self.port;
        self.process.start(async || connect(port).await.is_ok()).await
    }
}
