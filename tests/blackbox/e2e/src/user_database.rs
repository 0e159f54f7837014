//! A user's own database, separate from the database of the service.

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{ConnectOptions, Connection, Executor, MySqlConnection, PgConnection, Row, SqliteConnection};
use tempfile::TempDir;
use tenure_fence::install;
use tenure_harness::{MariaDb, MySql, Postgres};

use crate::Store;

const TABLE: &str = "CREATE TABLE counter (value BIGINT NOT NULL)";

const ROW: &str = "INSERT INTO counter (value) VALUES (0)";

const VALUE: &str = "SELECT value FROM counter";

/// A fresh database with a counter and the fence.
#[derive(Debug)]
pub struct UserDatabase {
    store: Store,
    url: String,
    _folder: Option<TempDir>,
}

impl UserDatabase {
    /// Creates one in the same kind of database as the store.
    ///
    /// # Errors
    /// If the database cannot be started.
    pub async fn fresh(store: Store) -> anyhow::Result<Self> {
        let (url, folder) = match store {
            Store::Postgres => (Postgres::shared().await?.create_database().await?, None),
            Store::MariaDb => (MariaDb::shared().await?.create_database().await?, None),
            Store::MySql => (MySql::shared().await?.create_database().await?, None),
            Store::Sqlite => {
                let folder = tempfile::tempdir()?;
                let file = folder.path().join("work.db");
                let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
                options.journal_mode(SqliteJournalMode::Wal).connect().await?.close().await?;
                (format!("sqlite:{}", file.display()), Some(folder))
            }
        };
        let database = Self { store, url, _folder: folder };
        database.set_up().await?;
        Ok(database)
    }

    async fn set_up(&self) -> anyhow::Result<()> {
        match self.store {
            Store::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await?;
                install(&mut connection).await?;
                connection.execute(TABLE).await?;
                connection.execute(ROW).await?;
            }
            Store::MariaDb | Store::MySql => {
                let mut connection = MySqlConnection::connect(&self.url).await?;
                install(&mut connection).await?;
                connection.execute(TABLE).await?;
                connection.execute(ROW).await?;
            }
            Store::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.url).await?;
                install(&mut connection).await?;
                connection.execute(TABLE).await?;
                connection.execute(ROW).await?;
            }
        }
        Ok(())
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The counter, read outside the lock.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn counter(&self) -> anyhow::Result<i64> {
        Ok(match self.store {
            Store::Postgres => PgConnection::connect(&self.url).await?.fetch_one(VALUE).await?.try_get(0)?,
            Store::MariaDb | Store::MySql => {
                MySqlConnection::connect(&self.url).await?.fetch_one(VALUE).await?.try_get(0)?
            }
            Store::Sqlite => SqliteConnection::connect(&self.url).await?.fetch_one(VALUE).await?.try_get(0)?,
        })
    }
}
