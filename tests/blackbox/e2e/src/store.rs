//! The stores that scenarios run on.

use tenure_harness::{MariaDb, MySql, Postgres, Tenured, TenuredOptions};

/// A store to run a scenario on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// A file of the server.
    Sqlite,
    /// A fresh database in the PostgreSQL that the tests share.
    Postgres,
    /// A fresh database in the MariaDB that the tests share.
    MariaDb,
    /// A fresh database in the MySQL that the tests share.
    MySql,
}

impl Store {
    /// Options for servers on a fresh database.
    ///
    /// # Errors
    /// If the database cannot be started.
    pub async fn fresh(self) -> anyhow::Result<TenuredOptions> {
        Ok(match self {
            Self::Sqlite => TenuredOptions::default(),
            Self::Postgres => TenuredOptions::store(Postgres::shared().await?.create_database().await?),
            Self::MariaDb => TenuredOptions::store(MariaDb::shared().await?.create_database().await?),
            Self::MySql => TenuredOptions::store(MySql::shared().await?.create_database().await?),
        })
    }

    /// A server on a fresh database.
    ///
    /// # Errors
    /// If the database or the server cannot be started.
    pub async fn server(self) -> anyhow::Result<Tenured> {
        Tenured::start(&self.fresh().await?).await
    }
}
