//! The database of a run, of a kind that several servers can share.

use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, Executor, MySqlConnection, PgConnection};
use tenure_harness::{DatabaseOptions, MariaDb, MySql, Postgres};
use tokio::time::sleep;

/// The name of the database in the instance.
const NAME: &str = "tenure";

/// The PostgreSQL user that injects faults, so that one fault does not hit the connections of another.
const APPLICATION: &str = "chaos";

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    Mariadb,
    /// MySQL.
    Mysql,
}

/// A database instance.
#[derive(Debug)]
pub enum Database {
    /// PostgreSQL.
    Postgres(Postgres),
    /// MariaDB.
    MariaDb(MariaDb),
    /// MySQL.
    MySql(MySql),
}

/// Dispatches a call to the instance of any kind.
macro_rules! dispatch {
    ($self:ident, $instance:ident => $call:expr) => {
        match $self {
            Self::Postgres($instance) => $call,
            Self::MariaDb($instance) => $call,
            Self::MySql($instance) => $call,
        }
    };
}

impl Database {
    /// Starts an instance with an empty database.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn start(kind: Kind, options: &DatabaseOptions) -> anyhow::Result<Self> {
        let database = match kind {
            Kind::Postgres => Self::Postgres(Postgres::start_with_options(options).await?),
            Kind::Mariadb => Self::MariaDb(MariaDb::start_with_options(options).await?),
            Kind::Mysql => Self::MySql(MySql::start_with_options(options).await?),
        };
        database.execute(&format!("CREATE DATABASE {NAME}")).await?;
        Ok(database)
    }

    async fn execute(&self, sql: &str) -> anyhow::Result<()> {
        dispatch!(self, instance => instance.execute(sql).await)
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        dispatch!(self, instance => instance.port())
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        dispatch!(self, instance => instance.url(NAME))
    }

    /// Its URL through the port of a proxy.
    #[must_use]
    pub fn url_by(&self, port: u16) -> String {
        self.url().replace(&format!(":{}/", self.port()), &format!(":{port}/"))
    }

    /// Kills it with SIGKILL.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        dispatch!(self, instance => instance.kill().await)
    }

    /// Stops it.
    pub async fn stop(&mut self) -> anyhow::Result<()> {
        dispatch!(self, instance => instance.stop().await)
    }

    /// Restarts it.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        dispatch!(self, instance => instance.start_again().await)
    }

    /// Whether it is running.
    pub fn is_running(&mut self) -> bool {
        dispatch!(self, instance => instance.is_running())
    }

    /// The end of its log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        dispatch!(self, instance => instance.log_tail())
    }

    /// Freezes or resumes it.
    pub async fn freeze(&mut self, freezes: bool) -> anyhow::Result<()> {
        if freezes {
            dispatch!(self, instance => instance.pause().await)
        } else {
            dispatch!(self, instance => instance.resume())
        }
    }

    /// Cancels the statements that servers are executing (or terminates their connections).
    pub async fn disturb(url: &str, ends: bool) -> anyhow::Result<()> {
        if url.starts_with("postgres") {
            let how = if ends { "pg_terminate_backend" } else { "pg_cancel_backend" };
            let sql = format!(
                "SELECT {how}(pid) FROM pg_stat_activity \
                WHERE datname = '{NAME}' AND application_name <> '{APPLICATION}'"
            );
            return execute(url, &sql).await;
        }
        let mut connection = mysql_connection(url).await?;
        // Its type differs: MySQL's has no sign.
        let all = format!("SELECT CAST(id AS SIGNED) FROM information_schema.processlist WHERE db = '{NAME}'");
        let all: Vec<i64> = sqlx::query_scalar(&all).fetch_all(&mut connection).await?;
        let how = if ends { "KILL" } else { "KILL QUERY" };
        for one in all {
            // It may have ended in the meantime.
            let _ = sqlx::raw_sql(&format!("{how} {one}")).execute(&mut connection).await;
        }
        Ok(())
    }

    /// Locks the head rows of all namespaces for a while, as a forgotten transaction would. Measured on this process's
    /// clock, since the database's clock may be set back in the meantime.
    pub async fn lock_heads(url: &str, lasts: Duration) -> anyhow::Result<()> {
        if url.starts_with("postgres") {
            hold(&mut postgres_connection(url).await?, "namespaces", lasts).await
        } else {
            hold(&mut mysql_connection(url).await?, &format!("{NAME}.namespaces"), lasts).await
        }
    }

    /// Returns the current activity of all connections, one line each.
    pub async fn activity(url: &str) -> anyhow::Result<Vec<String>> {
        let postgres = "SELECT row_to_json(a)::text FROM pg_stat_activity AS a";
        let mysql =
            "SELECT CONCAT_WS(' ', id, user, db, command, time, state, info) FROM information_schema.processlist";
        Ok(if url.starts_with("postgres") {
            sqlx::query_scalar(postgres).fetch_all(&mut postgres_connection(url).await?).await?
        } else {
            sqlx::query_scalar(mysql).fetch_all(&mut mysql_connection(url).await?).await?
        })
    }

    /// Makes PostgreSQL delay each commit.
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

/// Executes statements in the database at this URL; with MariaDB or MySQL, through a connection without a database,
/// which faults do not disturb.
pub async fn execute(url: &str, sql: &str) -> anyhow::Result<()> {
    if url.starts_with("postgres") {
        sqlx::raw_sql(sql).execute(&mut postgres_connection(url).await?).await?;
    } else {
        sqlx::raw_sql(sql).execute(&mut mysql_connection(url).await?).await?;
    }
    Ok(())
}

/// A PostgreSQL connection that is not mistaken for a server's.
async fn postgres_connection(url: &str) -> anyhow::Result<PgConnection> {
    let options: PgConnectOptions = url.parse()?;
    Ok(options.application_name(APPLICATION).connect().await?)
}

/// A connection to MariaDB or MySQL that has no database selected.
async fn mysql_connection(url: &str) -> anyhow::Result<MySqlConnection> {
    let instance = url.strip_suffix(NAME).context("a URL ends with the database's name")?;
    Ok(MySqlConnection::connect(instance).await?)
}
