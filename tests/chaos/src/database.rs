//! The database of a run: one of those that servers share.

use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor, MySqlConnection, PgConnection};
use tenure_harness::{DatabaseOptions, MariaDb, Postgres};
use tokio::time::sleep;

/// The name of the database in the instance.
const NAME: &str = "tenure";

/// As whom faults come to PostgreSQL, so that they spare each other.
const STRANGER: &str = "chaos";

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    Mariadb,
}

/// An instance of one.
#[derive(Debug)]
pub enum Database {
    /// PostgreSQL.
    Postgres(Postgres),
    /// MariaDB.
    MariaDb(MariaDb),
}

/// The same call of either.
macro_rules! either {
    ($self:ident, $instance:ident => $call:expr) => {
        match $self {
            Self::Postgres($instance) => $call,
            Self::MariaDb($instance) => $call,
        }
    };
}

impl Database {
    /// Starts one, with an empty database in it.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn start(kind: Kind, options: &DatabaseOptions) -> anyhow::Result<Self> {
        let database = match kind {
            Kind::Postgres => Self::Postgres(Postgres::start_by(options).await?),
            Kind::Mariadb => Self::MariaDb(MariaDb::start_by(options).await?),
        };
        database.execute(&format!("CREATE DATABASE {NAME}")).await?;
        Ok(database)
    }

    async fn execute(&self, sql: &str) -> anyhow::Result<()> {
        either!(self, instance => instance.execute(sql).await)
    }

    /// Its port of 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        either!(self, instance => instance.port())
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        either!(self, instance => instance.url(NAME))
    }

    /// Its URL by a port that leads to it.
    #[must_use]
    pub fn url_by(&self, port: u16) -> String {
        self.url().replace(&format!(":{}/", self.port()), &format!(":{port}/"))
    }

    /// Kills it with SIGKILL.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        either!(self, instance => instance.kill().await)
    }

    /// Stops it.
    pub async fn stop(&mut self) -> anyhow::Result<()> {
        either!(self, instance => instance.stop().await)
    }

    /// Starts it again.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        either!(self, instance => instance.start_again().await)
    }

    /// Whether it is running.
    pub fn is_running(&mut self) -> bool {
        either!(self, instance => instance.is_running())
    }

    /// The end of what it wrote down about itself.
    #[must_use]
    pub fn log_tail(&self) -> String {
        either!(self, instance => instance.log_tail())
    }

    /// Freezes it, or lets it run on.
    pub fn freeze(&mut self, freezes: bool) -> anyhow::Result<()> {
        if freezes { either!(self, instance => instance.pause()) } else { either!(self, instance => instance.resume()) }
    }

    /// Cancels what servers have under way (or ends their connections).
    pub async fn disturb(url: &str, ends: bool) -> anyhow::Result<()> {
        if url.starts_with("postgres") {
            let how = if ends { "pg_terminate_backend" } else { "pg_cancel_backend" };
            let sql = format!(
                "SELECT {how}(pid) FROM pg_stat_activity WHERE datname = '{NAME}' AND application_name <> '{STRANGER}'"
            );
            return execute(url, &sql).await;
        }
        let mut connection = beside(url).await?;
        let all = format!("SELECT id FROM information_schema.processlist WHERE db = '{NAME}'");
        let all: Vec<i64> = sqlx::query_scalar(&all).fetch_all(&mut connection).await?;
        let how = if ends { "KILL" } else { "KILL QUERY" };
        for one in all {
            // It may have ended by itself.
            let _ = sqlx::raw_sql(&format!("{how} {one}")).execute(&mut connection).await;
        }
        Ok(())
    }

    /// Holds the lock on the heads of all namespaces for a while, as somebody's forgotten transaction would: by this clock, since
    /// the database's may be set back meanwhile.
    pub async fn lock_heads(url: &str, lasts: Duration) -> anyhow::Result<()> {
        if url.starts_with("postgres") {
            hold(&mut stranger(url).await?, "namespaces", lasts).await
        } else {
            hold(&mut beside(url).await?, &format!("{NAME}.namespaces"), lasts).await
        }
    }

    /// What everybody is doing in it, a line each.
    pub async fn activity(url: &str) -> anyhow::Result<Vec<String>> {
        let postgres = "SELECT row_to_json(a)::text FROM pg_stat_activity AS a";
        let mariadb =
            "SELECT CONCAT_WS(' ', id, user, db, command, time, state, info) FROM information_schema.processlist";
        Ok(if url.starts_with("postgres") {
            sqlx::query_scalar(postgres).fetch_all(&mut stranger(url).await?).await?
        } else {
            sqlx::query_scalar(mariadb).fetch_all(&mut beside(url).await?).await?
        })
    }

    /// Makes PostgreSQL wait before each commit.
    pub async fn delay_commits(url: &str, microseconds: u32) -> anyhow::Result<()> {
        for sql in [
            format!("ALTER SYSTEM SET commit_delay = {microseconds}"),
            "ALTER SYSTEM SET commit_siblings = 0".to_owned(),
            "SELECT pg_reload_conf()".to_owned(),
        ] {
            execute(url, &sql).await?;
        }
        Ok(())
    }
}

/// Locks all rows of a table for a while.
async fn hold<C: Connection>(connection: &mut C, table: &str, lasts: Duration) -> anyhow::Result<()>
where
    for<'a> &'a mut C: Executor<'a, Database = C::Database>,
{
    connection.execute("BEGIN").await?;
    connection.execute(&*format!("SELECT revision FROM {table} FOR UPDATE")).await?;
    sleep(lasts).await;
    connection.execute("COMMIT").await?;
    Ok(())
}

/// Executes statements in the database at this URL: of MariaDB beside it, where nobody is disturbed.
pub async fn execute(url: &str, sql: &str) -> anyhow::Result<()> {
    if url.starts_with("postgres") {
        sqlx::raw_sql(sql).execute(&mut stranger(url).await?).await?;
    } else {
        sqlx::raw_sql(sql).execute(&mut beside(url).await?).await?;
    }
    Ok(())
}

/// A connection to PostgreSQL that nobody takes for a server's.
async fn stranger(url: &str) -> anyhow::Result<PgConnection> {
    let options: PgConnectOptions = url.parse()?;
    Ok(options.application_name(STRANGER).connect().await?)
}

/// A connection to MariaDB that is in no database.
async fn beside(url: &str) -> anyhow::Result<MySqlConnection> {
    let instance = url.strip_suffix(NAME).context("a URL ends with the database's name")?;
    Ok(MySqlConnection::connect(instance).await?)
}
