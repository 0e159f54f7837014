//! A throw-away server of the MySQL family.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal;
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{ConnectOptions, Connection, MySqlConnection};
use tokio::sync::OnceCell;

use crate::database::DatabaseOptions;
use crate::folder::{Folder, create_for};
use crate::postgres::run;
use crate::process::{Process, run_as, runs_as_process};
use crate::program::User;
use crate::{port, program};

/// The limit of one attempt to connect.
const CONNECT: Duration = Duration::from_secs(5);

/// A client program.
#[derive(Clone, Copy, Debug)]
pub enum Client {
    /// Executes statements.
    Statements,
    /// Dumps a database.
    Dump,
}

/// The programs of a kind of server. The common arguments come before all others.
pub trait Flavour: Debug + Send + Sync + Sized + 'static {
    /// Its name in messages.
    const NAME: &'static str;

    /// The instance that all tests of this process share.
    fn shared() -> &'static OnceCell<MySqlServer<Self>>;

    /// The user that it runs as where the tests run as root. `None`: it runs as root, too.
    const USER: Option<&'static str>;

    /// The server.
    ///
    /// # Errors
    /// If it is not there.
    fn server(common: &[String]) -> anyhow::Result<Command>;

    /// A client, which reads no file with options.
    ///
    /// # Errors
    /// If it is not there.
    fn client(client: Client) -> anyhow::Result<Command>;

    /// The program that initializes the data, for a server with these settings.
    ///
    /// # Errors
    /// If it is not there.
    fn initializer(common: &[String], settings: &[String]) -> anyhow::Result<Command>;
}

/// Generates a test of each scenario (an async function, generic over a [`Flavour`]) for MariaDB and MySQL.
#[macro_export]
macro_rules! on_mariadb_and_mysql {
    ($($scenario:ident),+ $(,)?) => {
        $(mod $scenario {
            #[tokio::test]
            async fn on_mariadb() {
                super::$scenario::<$crate::MariaDbPrograms>().await;
            }

            #[tokio::test]
            async fn on_mysql() {
                super::$scenario::<$crate::MySqlPrograms>().await;
            }
        })+
    };
}

/// A server with default settings (so commits are durable), on 127.0.0.1, whose `root` needs no password.
#[derive(Debug)]
pub struct MySqlServer<F> {
    process: Process,
    port: u16,
    databases: AtomicU32,
    flavour: PhantomData<F>,
}

runs_as_process!(MySqlServer<F>, F);

impl<F: Flavour> MySqlServer<F> {
    /// The instance that all tests of this process share. Started on first use.
    ///
    /// # Errors
    /// As of [`MySqlServer::start`].
    pub async fn shared() -> anyhow::Result<&'static Self> {
        F::shared().get_or_try_init(Self::start).await
    }

    /// Starts one, and waits until it answers.
    ///
    /// # Errors
    /// If it is not installed or does not start; with the end of its log.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(&[]).await
    }

    /// Starts one with options, such as `--innodb-flush-log-at-trx-commit=2`.
    ///
    /// # Errors
    /// As of [`MySqlServer::start`].
    pub async fn start_with(options: &[&str]) -> anyhow::Result<Self> {
        Self::start_with_options(&DatabaseOptions::settings(options)).await
    }

    /// Starts one with these options.
    ///
    /// # Errors
    /// As of [`MySqlServer::start`].
    pub async fn start_with_options(options: &DatabaseOptions) -> anyhow::Result<Self> {
        let user = user::<F>()?;
        let folder = Folder::create_in(&options.parent(), user, Signal::TERM)?;
        let data = folder.path().join("data");
        initialize::<F>(&folder, &data, user, &options.settings).await?;
        Self::serve(folder, &data, port::free()?, user, options).await
    }

    /// Starts one on this port with its data in this folder, which is initialized if it does not exist.
    ///
    /// # Errors
    /// As of [`MySqlServer::start`].
    pub async fn start_in(data: &Path, port: u16, options: &[&str]) -> anyhow::Result<Self> {
        let user = user::<F>()?;
        let folder = Folder::create(user, Signal::TERM)?;
        let options = DatabaseOptions::settings(options);
        if !data.exists() {
            create_for(data, user)?;
            initialize::<F>(&folder, data, user, &options.settings).await?;
        }
        Self::serve(folder, data, port, user, &options).await
    }

    async fn serve(
        folder: Folder,
        data: &Path,
        port: u16,
        user: Option<User>,
        options: &DatabaseOptions,
    ) -> anyhow::Result<Self> {
        let mut command = F::server(&common_arguments(&folder, data))?;
        command.args(["--bind-address=127.0.0.1", &format!("--port={port}"), "--socket=socket", "--pid-file=pid"]);
        command.args(&options.settings).envs(options.environment.iter().cloned());
        let process = Process::new(F::NAME, command, folder, user, Signal::TERM);
        let mut server = Self { process, port, databases: AtomicU32::new(0), flavour: PhantomData };
        server.start_again().await?;
        Ok(server)
    }

    /// The port of 127.0.0.1 that it listens on, also while it is stopped.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a database in it, whether that exists or not.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("mysql://root@127.0.0.1:{}/{database}", self.port)
    }

    /// Creates a database for a test, and returns its URL.
    ///
    /// # Errors
    /// If the server refuses or is not running.
    pub async fn create_database(&self) -> anyhow::Result<String> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.execute(&format!("CREATE DATABASE {name}")).await?;
        Ok(self.url(&name))
    }

    /// Executes statements as `root`, without a database.
    ///
    /// # Errors
    /// If the server rejects them or is not running.
    pub async fn execute(&self, sql: &str) -> anyhow::Result<()> {
        let mut connection = connect(self.port).await?;
        sqlx::raw_sql(sql).execute(&mut connection).await.with_context(|| sql.to_string())?;
        connection.close().await?;
        Ok(())
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

fn user<F: Flavour>() -> anyhow::Result<Option<User>> {
    F::USER.map_or(Ok(None), program::user_if_root)
}

/// Initializes the data of an instance.
pub(crate) async fn initialize<F: Flavour>(
    folder: &Folder,
    data: &Path,
    user: Option<User>,
    settings: &[String],
) -> anyhow::Result<()> {
    let mut initializer = F::initializer(&common_arguments(folder, data), settings)?;
    initializer.current_dir(folder.path());
    run_as(&mut initializer, user);
    run(initializer).await
}

/// The arguments common to all programs. --no-defaults has to come first.
pub(crate) fn common_arguments(folder: &Folder, data: &Path) -> [String; 3] {
    // MariaDB deletes the temporary tables of other instances that it finds when it starts.
    let temporary = folder.path().display();
    ["--no-defaults".to_owned(), format!("--datadir={}", data.display()), format!("--tmpdir={temporary}")]
}

pub(crate) async fn connect(port: u16) -> anyhow::Result<MySqlConnection> {
    let options =
        MySqlConnectOptions::new().host("127.0.0.1").port(port).username("root").ssl_mode(MySqlSslMode::Disabled);
    Ok(tokio::time::timeout(CONNECT, options.connect()).await??)
}
