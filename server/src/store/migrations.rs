//! The tables and views, brought up to date. The scripts have the same numbers and names for every database, and each can be
//! run again, since MySQL does not undo half of one, or is undone as a whole (SQLite).

use std::fmt;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::connection::{Arg, Connection, Failure};
use super::options::{OpenError, StoreOptions};
use super::restore::notice_restore;

/// How long all migrations together may take.
pub(super) const BOUND: Duration = Duration::from_secs(120);

/// How often to try, when several servers start at once and get into each other's way, and how long to wait between.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// A script.
#[derive(Debug)]
pub(super) struct Migration {
    number: i64,
    name: &'static str,
    pub(super) script: &'static str,
}

impl fmt::Display for Migration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}_{}", self.number, self.name)
    }
}

macro_rules! migrations {
    ($folder:literal) => {
        &[
            Migration {
                number: 1,
                name: "tables",
                script: include_str!(concat!("../../../migrations/", $folder, "/0001_tables.sql")),
            },
            Migration {
                number: 2,
                name: "views",
                script: include_str!(concat!("../../../migrations/", $folder, "/0002_views.sql")),
            },
            Migration {
                number: 3,
                name: "attachments",
                script: include_str!(concat!("../../../migrations/", $folder, "/0003_attachments.sql")),
            },
            Migration {
                number: 4,
                name: "identities",
                script: include_str!(concat!("../../../migrations/", $folder, "/0004_identities.sql")),
            },
            Migration {
                number: 5,
                name: "certificates",
                script: include_str!(concat!("../../../migrations/", $folder, "/0005_certificates.sql")),
            },
            Migration {
                number: 6,
                name: "birth",
                script: include_str!(concat!("../../../migrations/", $folder, "/0006_birth.sql")),
            },
            Migration {
                number: 9,
                name: "granted_at",
                script: include_str!(concat!("../../../migrations/", $folder, "/0009_granted_at.sql")),
            },
        ]
    };
}

pub(super) const POSTGRES: &[Migration] = migrations!("postgres");
pub(super) const MYSQL: &[Migration] = migrations!("mysql");
pub(super) const SQLITE: &[Migration] = migrations!("sqlite");

/// The migrations that the database still needs.
pub(super) async fn pending(connection: &mut dyn Connection) -> Result<Vec<&'static Migration>, Failure> {
    let sql = connection.sql();
    let there = connection.fetch(sql.migrations_exist, &[]).await?;
    let done: Vec<i64> = if there.is_empty() {
        Vec::new()
    } else {
        let found = connection.fetch(sql.migrations, &[]).await?;
        found.iter().map(|row| row.int(0)).collect::<Result<_, _>>()?
    };
    Ok(sql.scripts.iter().filter(|migration| !done.contains(&migration.number)).collect())
}

async fn run(connection: &mut dyn Connection) -> Result<(), Failure> {
    if pending(connection).await?.is_empty() {
        return notice_restore(connection).await;
    }
    let sql = connection.sql();
    connection.script(sql.create_migrations).await?;
    connection.script(sql.begin).await?;
    connection.script(sql.lock_migrations).await?;
    for migration in pending(connection).await? {
        connection.script(migration.script).await?;
        let args = [Arg::Int(migration.number), Arg::Text(migration.name)];
        connection.execute(sql.record_migration, &args).await?;
    }
    connection.script("COMMIT").await?;
    if let Some(tuning) = sql.tune_tables
        && let Err(failure) = connection.script(tuning).await
    {
        tracing::info!(reason = failure.reason(), "this database stores the log as it does by default");
    }
    notice_restore(connection).await
}

/// Brings the tables and views of a database up to date. Does nothing if they are; several servers may do it at once.
///
/// # Errors
/// See [`OpenError`].
pub async fn migrate(options: &StoreOptions) -> Result<(), OpenError> {
    let database = options.database()?;
    let mut attempt = 1;
    loop {
        let mut connection = database.connector.connect().await?;
        let failure = match timeout(BOUND, run(&mut *connection)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(failure)) => failure,
            Err(_) => return Err(OpenError::Unavailable(format!("the migrations took longer than {BOUND:?}"))),
        };
        if attempt == ATTEMPTS {
            return Err(failure.into());
        }
        attempt += 1;
        drop(connection);
        sleep(PAUSE).await;
    }
}

/// The names of the migrations that a database still needs, oldest first.
///
/// # Errors
/// See [`OpenError`].
pub async fn pending_migrations(options: &StoreOptions) -> Result<Vec<String>, OpenError> {
    let mut connection = options.database()?.connector.connect().await?;
    let missing = pending(&mut *connection).await?;
    Ok(missing.iter().map(|migration| migration.to_string()).collect())
}
