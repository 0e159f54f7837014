//! A throw-away PgBouncer.

use std::fs;
use std::process::Command;

use anyhow::Context;
use rustix::process::Signal;
use tokio::net::TcpStream;

use crate::folder::Folder;
use crate::process::{Process, runs_as_process};
use crate::{Postgres, port, program};

/// A PgBouncer in transaction mode in front of a [`Postgres`].
#[derive(Debug)]
pub struct PgBouncer {
    process: Process,
    port: u16,
}

runs_as_process!(PgBouncer);

impl PgBouncer {
    /// Starts one, and waits until it accepts connections.
    ///
    /// # Errors
    /// If PgBouncer is not installed or does not start; with the end of its log.
    pub async fn start(postgres: &Postgres) -> anyhow::Result<Self> {
        let user = program::user_if_root("postgres")?;
        let folder = Folder::create(user, Signal::QUIT)?;
        let port = port::free()?;
        let server = postgres.port();
        // `ignore_startup_parameters` has the parameters that client libraries commonly send, as in common
        // configurations.
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={server} user=tenure\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 5\nignore_startup_parameters = extra_float_digits\n"
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, settings).context("writing pgbouncer.ini")?;
        let mut command = Command::new(program::find("pgbouncer", "pgbouncer")?);
        command.arg(&file);
        // SIGQUIT ends every version at once; newer ones wait on SIGTERM until their clients have disconnected.
        let process = Process::new("PgBouncer", command, folder, user, Signal::QUIT);
        let mut pgbouncer = Self { process, port };
        pgbouncer.start_again().await?;
        Ok(pgbouncer)
    }

    /// The port of 127.0.0.1 that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a database behind it, whether that exists or not.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://tenure@127.0.0.1:{}/{database}", self.port)
    }

    /// Creates a database for a test in that PostgreSQL, and returns its URL through this PgBouncer.
    ///
    /// # Errors
    /// If PostgreSQL refuses or is not running.
    pub async fn create_database(&self, postgres: &Postgres) -> anyhow::Result<String> {
        let name = postgres.create_database_named().await?;
        Ok(self.url(&name))
    }

    /// Restarts it on the same port.
    ///
    /// # Errors
    /// If it is running already or does not start; with the end of its log.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        let port = self.port;
        self.process.start(async || TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await
    }
}
