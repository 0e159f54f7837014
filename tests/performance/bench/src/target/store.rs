//! The databases that hold the state.

use crate::cpu::Processes;
use crate::lab::Lab;

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Store {
    /// SQLite, in the server's own folder.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

/// A fresh database.
#[derive(Clone, Debug)]
pub struct Database {
    /// Its URL. None: a file in the server's own folder.
    pub url: Option<String>,
    /// The database's process, if it has one.
    pub process: Option<u32>,
}

impl Database {
    /// The processes whose processor time counts where clients use the database directly.
    pub fn processes(&self) -> Processes {
        Processes { server: Vec::new(), database: self.process.into_iter().collect() }
    }
}

impl Store {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Sqlite, Self::Postgres, Self::MariaDb, Self::MySql];

    /// The last part of a target's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }

    /// A fresh database of this kind.
    pub async fn fresh(self, lab: &Lab) -> anyhow::Result<Database> {
        Ok(match self {
            Self::Sqlite => Database { url: None, process: None },
            Self::Postgres => {
                let postgres = lab.postgres().await?;
                Database { url: Some(postgres.create_database().await?), process: postgres.process_id() }
            }
            Self::MariaDb => {
                let mariadb = lab.mariadb().await?;
                Database { url: Some(mariadb.create_database().await?), process: mariadb.process_id() }
            }
            Self::MySql => {
                let mysql = lab.mysql().await?;
                Database { url: Some(mysql.create_database().await?), process: mysql.process_id() }
            }
        })
    }
}
