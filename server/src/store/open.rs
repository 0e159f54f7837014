//! Opening a store: from options to the database that they name.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::mysql::MySqlHost;
use super::postgres::{PostgresHints, PostgresHost};
use super::sql::{
    Connection, Connector, Hints, Host, Hosts, OpenError, Pool, SqlStore, StoreOptions, Target, UrlFile, migrations,
    restore,
};
use super::sqlite::SqliteConnector;
use super::{Store, StoreCounts};

/// A database, not yet connected to.
struct Database {
    connector: Arc<dyn Connector>,
    exclusive: bool,
    hints: Option<Box<dyn Hints>>,
    /// The server that appends; 0 until it does.
    own: Arc<AtomicU64>,
}

/// Makes a host of a URL that names one.
type MakeHost<C> = fn(&str, &StoreOptions) -> Result<Host<C>, OpenError>;

fn database(options: &StoreOptions) -> Result<Database, OpenError> {
    let own = Arc::<AtomicU64>::default();
    match options.target()? {
        Target::Sqlite(path) => {
            let connector = Arc::new(SqliteConnector::new(path, options)?);
            Ok(Database { connector, exclusive: true, hints: None, own })
        }
        Target::Postgres(urls) => {
            let connector = Arc::new(hosts(options, &urls, PostgresHost::new)?);
            let hints = Box::new(PostgresHints::new(connector.clone(), own.clone()));
            Ok(Database { connector, exclusive: false, hints: Some(hints), own })
        }
        Target::MySql(urls) => {
            let connector = Arc::new(hosts(options, &urls, MySqlHost::new)?);
            Ok(Database { connector, exclusive: false, hints: None, own })
        }
    }
}

/// The hosts that these URLs name, and will name when the file has changed.
fn hosts<C: 'static>(options: &StoreOptions, urls: &[String], host: MakeHost<C>) -> Result<Hosts<C>, OpenError> {
    let hosts = urls.iter().map(|url| host(url, options)).collect::<Result<_, _>>()?;
    let (before, kind) = (options.clone(), options.kind());
    let file = options.url_file.clone().map(|path| UrlFile {
        path,
        parse: Box::new(move |url| {
            let changed = StoreOptions { urls: vec![url.to_owned()], ..before.clone() };
            if changed.kind() != kind {
                return Err(OpenError::Url("it must be of the same kind of database as before"));
            }
            match changed.target()? {
                Target::Sqlite(_) => Err(OpenError::Url("it must name a host")),
                Target::Postgres(urls) | Target::MySql(urls) => urls.iter().map(|url| host(url, &changed)).collect(),
            }
        }),
    });
    Ok(Hosts::new(hosts, options.urls.first().map_or("", String::as_str), file))
}

/// A connection, to tables that are up to date.
async fn connect(options: &StoreOptions) -> Result<Box<dyn Connection>, OpenError> {
    let mut connection = database(options)?.connector.connect().await?;
    migrations::check_migrated(&mut *connection).await?;
    Ok(connection)
}

/// Opens a store. Connects once, to find out whether the database will do.
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
    let size = options.max_connections.max(1);
    let pool = if database.exclusive { "reads" } else { "shared" };
    let readers = Pool::new(database.connector, size, options.statement_timeout, counts.pool(pool, size));
    let (writers, heartbeats) = if database.exclusive {
        let writer = readers.beside(1, counts.pool("writes", 1));
        (writer.clone(), writer)
    } else {
        (readers.clone(), readers.beside(1, counts.pool("heartbeats", 1)))
    };
    Ok(Arc::new(SqlStore {
        writers,
        readers,
        heartbeats,
        exclusive: database.exclusive,
        hints: database.hints,
        own: database.own,
    }))
}

/// Brings the tables and views of a database up to date. Does nothing if they are; several servers may do it at once.
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

/// Has the servers take a database for one that was restored from a backup, since not every way to restore one shows: tokens
/// go on beyond all that can have been given, and watchers are told that history was lost. Returns how many namespaces
/// there are. To do it without need costs nothing but that.
///
/// # Errors
/// See [`OpenError`].
pub async fn mark_restored(options: &StoreOptions) -> Result<u64, OpenError> {
    restore::mark_restored(&mut *connect(options).await?).await
}
