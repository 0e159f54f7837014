//! Lower bound of pairs: a commit of each database.

use std::sync::Arc;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, MySqlConnection, PgConnection, SqliteConnection};
use tempfile::TempDir;

use super::ALONE;
use crate::lab::Lab;
use crate::measure::{Figures, Load, User, closed_loop};
use crate::target::store::{Database, Store};
use crate::work::{Candidate, Subject};

/// A turn updates the only row of a table, in a transaction of its own.
pub fn candidate(store: Store) -> Candidate {
    let start = async move |lab: Arc<Lab>| Commits::prepare(store, store.fresh(&lab).await?).await;
    Candidate::new(format!("commit-{}", store.name()), start).only_at(ALONE)
}

const CREATE: &str = "CREATE TABLE one (number bigint NOT NULL)";
const FILL: &str = "INSERT INTO one VALUES (0)";
const CHANGE: &str = "UPDATE one SET number = number + 1";

struct Commits {
    database: Database,
    // None while a measurement uses it.
    connection: Option<Committer>,
    _folder: TempDir,
}

impl Commits {
    async fn prepare(store: Store, database: Database) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("tenure-").tempdir()?;
        let url = database.url.clone().unwrap_or_default();
        let mut connection = match store {
            // The options that Tenure uses.
            Store::Sqlite => {
                let options =
                    SqliteConnectOptions::new().filename(folder.path().join("one.db")).create_if_missing(true);
                let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
                Committer::Sqlite(options.connect().await?)
            }
            Store::Postgres => Committer::Postgres(PgConnection::connect(&url).await?),
            Store::MariaDb | Store::MySql => Committer::MySql(MySqlConnection::connect(&url).await?),
        };
        connection.execute(CREATE).await?;
        connection.execute(FILL).await?;
        Ok(Self { database, connection: Some(connection), _folder: folder })
    }
}

#[async_trait]
impl Subject for Commits {
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures> {
        let connection = self.connection.take().context("the connection broke")?;
        let (figures, mut users) = closed_loop(load, &self.database.processes(), vec![connection]).await?;
        self.connection = users.pop();
        Ok(figures)
    }
}

enum Committer {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
    MySql(MySqlConnection),
}

impl Committer {
    /// Returns the number of changed rows.
    async fn execute(&mut self, sql: &'static str) -> sqlx::Result<u64> {
        Ok(match self {
            Self::Sqlite(connection) => sqlx::query(sql).execute(connection).await?.rows_affected(),
            Self::Postgres(connection) => sqlx::query(sql).execute(connection).await?.rows_affected(),
            Self::MySql(connection) => sqlx::query(sql).execute(connection).await?.rows_affected(),
        })
    }
}

impl User for Committer {
    async fn turn(&mut self) -> anyhow::Result<()> {
        ensure!(self.execute(CHANGE).await? == 1, "the row is gone");
        Ok(())
    }
}
