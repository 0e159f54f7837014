//! Servers on a database.

use clap::ValueEnum;
use tempfile::TempDir;
use tenure_harness::{MariaDb, Postgres, Tenured, TenuredOptions};

/// The kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Base {
    /// SQLite: for one server.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    Mariadb,
}

impl Base {
    /// Its name as an argument.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
        }
    }
}

/// Resources that must live as long as the database is used.
#[derive(Debug)]
enum Instance {
    Folder(#[expect(dead_code, reason = "it is removed when it is dropped")] TempDir),
    Postgres(#[expect(dead_code, reason = "it ends when it is dropped")] Postgres),
    MariaDb(#[expect(dead_code, reason = "it ends when it is dropped")] MariaDb),
}

/// Servers on one database. They stop before it does.
#[derive(Debug)]
pub struct Service {
    /// The servers.
    pub servers: Vec<Tenured>,
    /// The database's URL.
    pub store_url: String,
    _database: Instance,
}

impl Service {
    /// Starts the database and the servers.
    ///
    /// # Errors
    /// If one of them does not start.
    pub async fn start(base: Base, servers: usize) -> anyhow::Result<Self> {
        let (database, store_url) = match base {
            Base::Sqlite => {
                let folder = tempfile::Builder::new().prefix("tenure-load-").tempdir()?;
                let url = format!("sqlite:{}", folder.path().join("tenure.db").display());
                (Instance::Folder(folder), url)
            }
            Base::Postgres => {
                let postgres = Postgres::start().await?;
                let url = postgres.create_database().await?;
                (Instance::Postgres(postgres), url)
            }
            Base::Mariadb => {
                let mariadb = MariaDb::start().await?;
                let url = mariadb.create_database().await?;
                (Instance::MariaDb(mariadb), url)
            }
        };
        let mut service = Self { servers: Vec::new(), store_url, _database: database };
        for _ in 0..servers {
            service.servers.push(Tenured::start(&TenuredOptions::store(service.store_url.clone())).await?);
        }
        Ok(service)
    }

    /// The URLs for clients.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.servers.iter().map(Tenured::url).collect()
    }
}
