//! Opening a store: from options to the database that they name.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::mysql::MySqlHost;
use super::postgres::{PostgresHints, PostgresHost};
use super::sql::{Connector, Hints, Hosts, OpenError, Pool, SqlStore, StoreOptions, Target, migrations, restore};
use super::sqlite::SqliteConnector;
use super::{Store, StoreCounts};

/// A database, not yet connected to.
struct Database {
    connector: Arc<dyn Connector>,
    exclusive: bool,
    hints: Option<Box<dyn Hints>>,
    /// The server that appends; 0 before its first append.
    own: Arc<AtomicU64>,
}

fn database(options: &StoreOptions) -> Result<Database, OpenError> {
    let own = Arc::<AtomicU64>::default();
    match options.target()? {
        Target::Sqlite(path) => {
            let connector = Arc::new(SqliteConnector::new(path, options)?);
            Ok(Database { connector, exclusive: true, hints: None, own })
        }
        Target::Postgres(_) => {
            let connector = Arc::new(Hosts::new(options, PostgresHost::new)?);
            let hints = Box::new(PostgresHints::new(connector.clone(), own.clone()));
            Ok(Database { connector, exclusive: false, hints: Some(hints), own })
        }
        Target::MySql(_) => {
            let connector = Arc::new(Hosts::new(options, MySqlHost::new)?);
            Ok(Database { connector, exclusive: false, hints: None, own })
        }
    }
}

/// Opens a store. Connects once, to check that the database is usable.
///
/// # Errors
/// See [`OpenError`].
pub async fn open(options: &StoreOptions) -> Result<Arc<dyn Store>, OpenError> {
    open_counted(options, &StoreCounts::default()).await
}

/// [`open`], with its connections counted.
pub(crate) async fn open_counted(options: &StoreOptions, counts: &StoreCounts) -> Result<Arc<dyn Store>, OpenError> {
    let database = database(options)?;
    let mut connection = database.connector.connect().await?;
    migrations::check_migrated(&mut *connection).await?;
    restore::notice_restore(&mut *connection).await?;
    drop(connection);
    let generation = Arc::<AtomicU64>::default();
    let pool = |name, size| {
        let (connector, generation) = (database.connector.clone(), generation.clone());
        Pool::new(connector, size, options.statement_timeout, generation, counts.pool(name, size))
    };
    let size = options.max_connections.max(1);
    let (writers, readers, heartbeats) = if database.exclusive {
        let writer = pool("writes", 1);
        (writer.clone(), pool("reads", size), writer)
    } else {
        let shared = pool("shared", size);
        (shared.clone(), shared, pool("heartbeats", 1))
    };
    let Database { exclusive, hints, own, .. } = database;
    Ok(Arc::new(SqlStore { writers, readers, heartbeats, exclusive, hints, own, semi_sync: counts.semi_sync() }))
}

/// Brings the tables and views of a database up to date, if they are not. Several servers may do so at once.
///
/// # Errors
/// See [`OpenError`].
pub async fn migrate(options: &StoreOptions) -> Result<(), OpenError> {
    migrations::migrate(&*database(options)?.connector).await
}

/// The names of the migrations that a database still needs, oldest first.
///
/// # Errors
/// See [`OpenError`].
pub async fn pending_migrations(options: &StoreOptions) -> Result<Vec<String>, OpenError> {
    let mut connection = database(options)?.connector.connect().await?;
    let missing = migrations::pending(&mut *connection).await?;
    Ok(missing.iter().map(|migration| migration.to_string()).collect())
}

/// Marks a database as restored from a backup, since not every restore can be detected: tokens continue beyond all that
/// may have been granted, and watchers are notified that history was lost. Returns the number of namespaces. An
/// unnecessary call has no other cost.
///
/// # Errors
/// See [`OpenError`].
pub async fn mark_restored(options: &StoreOptions) -> Result<u64, OpenError> {
    let mut connection = database(options)?.connector.connect().await?;
    migrations::check_migrated(&mut *connection).await?;
    restore::mark_restored(&mut *connection).await
}
