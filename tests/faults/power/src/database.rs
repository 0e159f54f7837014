//! The databases whose disk loses its power.

use std::path::Path;

use clap::ValueEnum;
use tenure_harness::{Flavour, MariaDb, MySql, MySqlServer, Postgres};

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A SQLite file of the server's own.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    Mariadb,
    /// MySQL.
    Mysql,
}

impl Kind {
    /// Its display name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Mariadb => "MariaDB",
            Self::Mysql => "MySQL",
        }
    }

    /// Whether its power may fail while tables and views are created. MariaDB does not flush the files of new databases
    /// and views; if one of them is lost, it does not start, or misinterprets a view.
    pub(crate) fn survives_new_tables(self) -> bool {
        self != Self::Mariadb
    }
}

/// The name of the database in an instance.
const NAME: &str = "tenure";
const CREATE: &str = "CREATE DATABASE tenure";

/// Small WAL segments for PostgreSQL, so that a short run sees many segments and checkpoints.
const INITDB: [&str; 1] = ["--wal-segsize=1"];
const SETTINGS: [&str; 3] = ["max_wal_size=2MB", "min_wal_size=2MB", "shared_buffers=1MB"];

/// By default, `O_DIRECT` since 8.4, MySQL does not flush the disk between a page's write to the doublewrite file and its
/// write in place (`is_fsync_required` in `buf0dblwr.cc`): a disk with a cache may tear both, and then it does not start
/// any more.
const MYSQL: [&str; 1] = ["--innodb-flush-method=fsync"];

/// The URL of the SQLite file in this folder.
pub(crate) fn sqlite_url(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("tenure.db").display())
}

/// A running database; for SQLite, just a file.
pub(crate) enum Database {
    Sqlite(String),
    Postgres(Postgres),
    Mariadb(MariaDb),
    Mysql(MySql),
}

impl Database {
    /// Starts a database whose data is in this folder, on this port. Creates it if there is none.
    pub(crate) async fn start(kind: Kind, folder: &Path, port: u16) -> anyhow::Result<Self> {
        let data = folder.join("data");
        Ok(match kind {
            Kind::Sqlite => Self::Sqlite(sqlite_url(folder)),
            Kind::Postgres => {
                let is_new = !data.exists();
                let postgres = Postgres::start_in(&data, port, &INITDB, &SETTINGS).await?;
                if is_new {
                    postgres.execute(CREATE).await?;
                }
                Self::Postgres(postgres)
            }
            Kind::Mariadb => Self::Mariadb(start_in(&data, port, &[]).await?),
            Kind::Mysql => Self::Mysql(start_in(&data, port, &MYSQL).await?),
        })
    }

    /// Its URL for servers.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(url) => url.clone(),
            Self::Postgres(postgres) => postgres.url(NAME),
            Self::Mariadb(mariadb) => mariadb.url(NAME),
            Self::Mysql(mysql) => mysql.url(NAME),
        }
    }

    /// Kills it.
    pub(crate) async fn kill(self) -> anyhow::Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(mut postgres) => postgres.kill().await,
            Self::Mariadb(mut mariadb) => mariadb.kill().await,
            Self::Mysql(mut mysql) => mysql.kill().await,
        }
    }
}

/// Starts a server of the MySQL family as [`Database::start`] does.
async fn start_in<F: Flavour>(data: &Path, port: u16, settings: &[&str]) -> anyhow::Result<MySqlServer<F>> {
    let is_new = !data.exists();
    let server = MySqlServer::start_in(data, port, settings).await?;
    if is_new {
        server.execute(CREATE).await?;
    }
    Ok(server)
}
