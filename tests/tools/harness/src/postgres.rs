//! A throw-away PostgreSQL.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::Signal;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::sync::OnceCell;

use crate::database::DatabaseOptions;
use crate::folder::{Folder, create_for};
use crate::process::{Process, run_as, runs_as_process};
use crate::program::User;
use crate::{port, program};

/// The limit of one attempt to connect.
const CONNECT: Duration = Duration::from_secs(5);

/// A PostgreSQL with default settings (so commits are durable), on 127.0.0.1, whose superuser `tenure` needs no
/// password.
#[derive(Debug)]
pub struct Postgres {
    pub(crate) process: Process,
    pub(crate) port: u16,
    pub(crate) user: Option<User>,
    databases: AtomicU32,
}

runs_as_process!(Postgres);

impl Postgres {
    /// The instance that all tests of this process share. Started on first use.
    ///
    /// # Errors
    /// As of [`Postgres::start`].
    pub async fn shared() -> anyhow::Result<&'static Self> {
        static SHARED: OnceCell<Postgres> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    /// Starts one, and waits until it answers.
    ///
    /// # Errors
    /// If PostgreSQL is not installed or does not start; with the end of its log.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(&[]).await
    }

    /// Starts one with settings, such as `synchronous_commit=off`.
    ///
    /// # Errors
    /// As of [`Postgres::start`].
    pub async fn start_with(settings: &[&str]) -> anyhow::Result<Self> {
        Self::start_with_options(&DatabaseOptions::settings(settings)).await
    }

    /// Starts one with these options.
    ///
    /// # Errors
    /// As of [`Postgres::start`].
    pub async fn start_with_options(options: &DatabaseOptions) -> anyhow::Result<Self> {
        let user = program::user_if_root("postgres")?;
        let folder = Self::folder(options, user)?;
        let data = folder.path().join("data");
        initialize(&data, user, &["--no-sync"]).await?;
        let mut postgres = Self::prepare(folder, user, options)?;
        postgres.start_again().await?;
        Ok(postgres)
    }

    /// Starts one on this port with its data in this folder, which is initialized, with these options of `initdb`, if
    /// it does not exist. If it exists, the machine must have gone down since its last use.
    ///
    /// # Errors
    /// As of [`Postgres::start`].
    pub async fn start_in(data: &Path, port: u16, initdb: &[&str], settings: &[&str]) -> anyhow::Result<Self> {
        let user = program::user_if_root("postgres")?;
        let options = DatabaseOptions::settings(settings);
        if data.exists() {
            // It names a process of an earlier run, by an id that another process may have by now.
            let _ = fs::remove_file(data.join("postmaster.pid"));
        } else {
            create_for(data, user)?;
            initialize(data, user, initdb).await?;
        }
        let mut postgres = Self::on(Self::folder(&options, user)?, data, port, user, &options)?;
        postgres.start_again().await?;
        Ok(postgres)
    }

    /// SIGINT is the fast shutdown, SIGQUIT the immediate one, which needs recovery but leaves no shared memory.
    pub(crate) fn folder(options: &DatabaseOptions, user: Option<User>) -> anyhow::Result<Folder> {
        Folder::create_in(&options.parent(), user, Signal::QUIT)
    }

    /// An instance that is not started yet, with its data in the folder's `data`.
    pub(crate) fn prepare(folder: Folder, user: Option<User>, options: &DatabaseOptions) -> anyhow::Result<Self> {
        let data = folder.path().join("data");
        Self::on(folder, &data, port::free()?, user, options)
    }

    /// An instance that is not started yet, on this port, with its data in this folder.
    fn on(
        folder: Folder,
        data: &Path,
        port: u16,
        user: Option<User>,
        options: &DatabaseOptions,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program::find("postgres", "postgresql")?);
        command.arg("-D").arg(data);
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
        for setting in &options.settings {
            command.args(["-c", setting]);
        }
        command.env("PGPORT", port.to_string()).envs(options.environment.iter().cloned());
        let process = Process::new("PostgreSQL", command, folder, user, Signal::INT);
        Ok(Self { process, port, user, databases: AtomicU32::new(0) })
    }

    /// The port of 127.0.0.1 that it listens on, also while it is stopped.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a database in it, whether that exists or not.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://tenure@127.0.0.1:{}/{database}", self.port)
    }

    /// The folder with its data.
    #[must_use]
    pub fn data_folder(&self) -> PathBuf {
        self.process.folder().join("data")
    }

    /// Creates a database for a test, and returns its URL.
    ///
    /// # Errors
    /// If PostgreSQL refuses or is not running.
    pub async fn create_database(&self) -> anyhow::Result<String> {
        let name = self.create_database_named().await?;
        Ok(self.url(&name))
    }

    /// Creates a database and returns its name.
    pub(crate) async fn create_database_named(&self) -> anyhow::Result<String> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.execute(&format!("CREATE DATABASE {name}")).await?;
        Ok(name)
    }

    /// Executes statements as superuser in the database `postgres`.
    ///
    /// # Errors
    /// If PostgreSQL rejects them or is not running.
    pub async fn execute(&self, sql: &str) -> anyhow::Result<()> {
        execute(self.port, sql).await
    }

    /// Runs a query with one row and column, as superuser in the database `postgres`.
    ///
    /// # Errors
    /// If PostgreSQL rejects it or is not running.
    pub async fn ask<T: Answer>(&self, sql: &str) -> anyhow::Result<T> {
        ask(self.port, sql).await
    }

    /// Restarts it on the same port with the same data, and waits until it answers.
    ///
    /// # Errors
    /// If it is running already or does not start; with the end of its log.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        let port = self.port;
        self.process.start(async || connect(port).await.is_ok()).await
    }
}

/// Initializes the data of an instance.
async fn initialize(data: &Path, user: Option<User>, options: &[&str]) -> anyhow::Result<()> {
    let mut initdb = Command::new(program::find("initdb", "postgresql")?);
    initdb.args(["--auth=trust", "--username=tenure", "--encoding=UTF8", "--locale=C"]).args(options);
    initdb.arg("-D").arg(data).current_dir(data.parent().context("a folder in another one")?);
    run_as(&mut initdb, user);
    run(initdb).await
}

pub(crate) async fn connect(port: u16) -> anyhow::Result<PgConnection> {
    let options = PgConnectOptions::new_without_pgpass()
        .host("127.0.0.1")
        .port(port)
        .username("tenure")
        .database("postgres")
        .ssl_mode(PgSslMode::Disable);
    Ok(tokio::time::timeout(CONNECT, options.connect()).await??)
}

/// Executes statements as superuser in the database `postgres`.
pub(crate) async fn execute(port: u16, sql: &str) -> anyhow::Result<()> {
    let mut connection = connect(port).await?;
    sqlx::raw_sql(sql).execute(&mut connection).await.with_context(|| sql.to_owned())?;
    // The statements have succeeded: an error of the close does not matter.
    let _ = connection.close().await;
    Ok(())
}

/// A value that a query returns.
pub trait Answer: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres> + Send + Unpin {}

impl<T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres> + Send + Unpin> Answer for T {}

/// Runs a query with one row and column, as superuser in the database `postgres`.
pub(crate) async fn ask<T: Answer>(port: u16, sql: &str) -> anyhow::Result<T> {
    let mut connection = connect(port).await?;
    let answer = sqlx::query_scalar(sql).fetch_one(&mut connection).await.with_context(|| sql.to_owned())?;
    let _ = connection.close().await;
    Ok(answer)
}

/// Runs a command to its end, without blocking the runtime.
pub(crate) async fn run(mut command: Command) -> anyhow::Result<()> {
    let name = command.get_program().display().to_string();
    let output = tokio::task::spawn_blocking(move || command.output()).await?.with_context(|| name.clone())?;
    if !output.status.success() {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("{name} failed ({}):\n{out}{err}", output.status);
    }
    Ok(())
}
