//! Standbys of PostgreSQL and their promotion.

use std::fs;
use std::process::Command;

use anyhow::Context;

use crate::database::DatabaseOptions;
use crate::postgres::{connect, run};
use crate::process::run_as;
use crate::{Postgres, program};

impl Postgres {
    /// Starts a standby of the primary on this port of 127.0.0.1, and waits until it answers.
    ///
    /// # Errors
    /// If it does not start, or the primary cannot be copied.
    pub async fn start_standby(primary: u16, options: &DatabaseOptions) -> anyhow::Result<Self> {
        let user = program::user_if_root("postgres")?;
        let mut standby = Self::prepare(Self::folder(options, user)?, user, options)?;
        standby.follow(primary).await?;
        Ok(standby)
    }

    /// Makes a stopped instance a standby of the primary on this port of 127.0.0.1, with a fresh copy of the primary's
    /// data.
    ///
    /// # Errors
    /// As of [`Postgres::start_standby`].
    pub async fn follow(&mut self, primary: u16) -> anyhow::Result<()> {
        let data = self.process.folder().join("data");
        if data.exists() {
            fs::remove_dir_all(&data).context("removing a database's files")?;
        }
        let mut copy = Command::new(program::find("pg_basebackup", "postgresql")?);
        copy.args(["--host=127.0.0.1", "--username=tenure", "--checkpoint=fast", "--no-sync", "--write-recovery-conf"]);
        copy.arg(format!("--port={primary}")).arg("--pgdata").arg(&data).current_dir(self.process.folder());
        run_as(&mut copy, self.user);
        run(copy).await?;
        self.start_again().await
    }

    /// Promotes a standby to primary, and waits until it takes writes.
    ///
    /// # Errors
    /// If it is not promoted.
    pub async fn promote(&self) -> anyhow::Result<()> {
        let promoted: bool = self.ask("SELECT pg_promote(true, 30)").await?;
        anyhow::ensure!(promoted, "the standby was not promoted in time");
        Ok(())
    }

    /// Starts it on another, unused port, and waits until it answers, to inspect its data after a kill.
    /// [`Postgres::start_again`] uses the old port again.
    ///
    /// # Errors
    /// If it is running already or does not start; with the end of its log.
    pub async fn start_aside(&mut self) -> anyhow::Result<u16> {
        let port = crate::port::free()?;
        self.process.set_environment("PGPORT", &port.to_string());
        let started = self.process.start(async || connect(port).await.is_ok()).await;
        self.process.set_environment("PGPORT", &self.port.to_string());
        started.map(|()| port)
    }
}
