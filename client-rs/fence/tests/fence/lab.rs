//! Databases to test the fence in, each with a one-row counter table.

use std::time::Duration;

use sqlx::mysql::MySqlPoolOptions;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{Executor, Pool, Row, Sqlite, Transaction};
use tenure_fence::{FenceDatabase, FenceError, check, install, scripts};
use tenure_harness::{Flavour, MySqlServer, Postgres, wait_until};

/// The limit of each wait in the tests.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The lock that most tests fence.
pub const NAME: &str = "nightly-report";

const CONNECTIONS: u32 = 20;

/// A kind of database under test, with statements that are the same for all kinds.
#[allow(async_fn_in_trait, reason = "tests join futures; they send none")]
pub trait Lab: Sized {
    /// Its driver.
    type Sql: FenceDatabase<Connection = Self::Connection>;

    /// A connection to it.
    type Connection: sqlx::Connection<Database = Self::Sql> + 'static;

    /// The script that installs the fence.
    const SCRIPT: &'static str;

    /// Whether transactions of the same token run concurrently.
    const SHARES: bool;

    /// The statement by which programs begin a fenced transaction.
    const BEGIN: &'static str;

    /// A fresh database without the fence. The second value must live as long as the pool.
    async fn bare() -> (Pool<Self::Sql>, Option<tempfile::TempDir>);

    /// Executes statements.
    async fn run(connection: &mut Self::Connection, sql: &str) -> Result<(), sqlx::Error>;

    /// The numbers returned by a query.
    async fn numbers(connection: &mut Self::Connection, sql: &str) -> Result<Vec<i64>, sqlx::Error>;

    /// The connection's id, if the database can report whether a connection waits.
    async fn id(connection: &mut Self::Connection) -> Option<i64>;

    /// Whether a connection waits for a lock.
    async fn is_waiting(pool: &Pool<Self::Sql>, id: i64) -> bool;
}

/// A fresh database with the fence and a counter.
pub struct Database<DB: Lab> {
    pub pool: Pool<DB::Sql>,
    _folder: Option<tempfile::TempDir>,
}

impl<DB: Lab> Database<DB> {
    pub async fn fresh() -> Self {
        let (pool, folder) = DB::bare().await;
        let database = Self { pool, _folder: folder };
        let mut connection = database.connection().await;
        install(&mut *connection).await.unwrap();
        DB::run(&mut connection, "CREATE TABLE counter (value BIGINT NOT NULL)").await.unwrap();
        DB::run(&mut connection, "INSERT INTO counter (value) VALUES (0)").await.unwrap();
        database
    }

    pub async fn connection(&self) -> PoolConnection<DB::Sql> {
        self.pool.acquire().await.unwrap()
    }

    pub async fn begin(&self) -> Transaction<'static, DB::Sql> {
        self.pool.begin_with(DB::BEGIN).await.unwrap()
    }

    /// A transaction that has been admitted.
    pub async fn let_in(&self, token: u64) -> Transaction<'static, DB::Sql> {
        let mut transaction = self.begin().await;
        check(&mut transaction, NAME, token).await.unwrap();
        transaction
    }

    /// Checks a token in a transaction that does nothing else.
    pub async fn attempt(&self, token: u64) -> Result<(), FenceError> {
        let mut transaction = self.begin().await;
        check(&mut transaction, NAME, token).await?;
        Ok(transaction.commit().await?)
    }

    /// The counter, as a new transaction sees it.
    pub async fn counter(&self) -> i64 {
        read::<DB>(&mut *self.connection().await).await
    }

    /// Waits until a connection waits for a lock, where the database reports that.
    pub async fn waits(&self, id: Option<i64>) {
        let Some(id) = id else { return };
        wait_until(PATIENCE, "the connection waits for a lock", async || DB::is_waiting(&self.pool, id).await).await;
    }
}

/// Adds one to the counter.
pub async fn add<DB: Lab>(connection: &mut DB::Connection) {
    DB::run(connection, "UPDATE counter SET value = value + 1").await.unwrap();
}

/// The counter, as the connection's transaction sees it.
pub async fn read<DB: Lab>(connection: &mut DB::Connection) -> i64 {
    DB::numbers(connection, "SELECT value FROM counter").await.unwrap()[0]
}

/// The higher token reported by a rejection as stale.
pub fn refused_for(result: Result<(), FenceError>) -> u64 {
    match result {
        Err(FenceError::Stale { highest, .. }) => highest,
        other => panic!("not refused as stale: {other:?}"),
    }
}

/// The part of the implementation that is textually the same for every connection type, but cannot be expressed as a
/// generic.
macro_rules! speak {
    () => {
        async fn run(connection: &mut Self::Connection, sql: &str) -> Result<(), sqlx::Error> {
            connection.execute(sqlx::raw_sql(sql)).await.map(|_| ())
        }

        async fn numbers(connection: &mut Self::Connection, sql: &str) -> Result<Vec<i64>, sqlx::Error> {
            connection.fetch_all(sql).await?.iter().map(|row| row.try_get(0)).collect()
        }
    };
}

impl Lab for Postgres {
    type Sql = sqlx::Postgres;
    type Connection = sqlx::PgConnection;

    const SCRIPT: &'static str = scripts::POSTGRES;
    const SHARES: bool = true;
    const BEGIN: &'static str = "BEGIN";

    async fn bare() -> (Pool<Self::Sql>, Option<tempfile::TempDir>) {
        let url = tenure_harness::Postgres::shared().await.unwrap().create_database().await.unwrap();
        (PgPoolOptions::new().max_connections(CONNECTIONS).connect(&url).await.unwrap(), None)
    }

    speak!();

    async fn id(connection: &mut Self::Connection) -> Option<i64> {
        Some(Self::numbers(connection, "SELECT pg_backend_pid()::bigint").await.unwrap()[0])
    }

    async fn is_waiting(pool: &Pool<Self::Sql>, id: i64) -> bool {
        let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {id} AND wait_event_type = 'Lock'");
        Self::numbers(&mut *pool.acquire().await.unwrap(), &sql).await.unwrap()[0] == 1
    }
}

impl<F: Flavour> Lab for MySqlServer<F> {
    type Sql = sqlx::MySql;
    type Connection = sqlx::MySqlConnection;

    const SCRIPT: &'static str = scripts::MYSQL;
    const SHARES: bool = true;
    const BEGIN: &'static str = "START TRANSACTION";

    async fn bare() -> (Pool<Self::Sql>, Option<tempfile::TempDir>) {
        let url = Self::shared().await.unwrap().create_database().await.unwrap();
        (MySqlPoolOptions::new().max_connections(CONNECTIONS).connect(&url).await.unwrap(), None)
    }

    speak!();

    async fn id(connection: &mut Self::Connection) -> Option<i64> {
        Some(Self::numbers(connection, "SELECT CAST(connection_id() AS SIGNED)").await.unwrap()[0])
    }

    async fn is_waiting(pool: &Pool<Self::Sql>, id: i64) -> bool {
        // Unlike information_schema.innodb_trx, this is never served from an outdated cache.
        let mut connection = pool.acquire().await.unwrap();
        let status: String = connection.fetch_one("SHOW ENGINE INNODB STATUS").await.unwrap().get(2);
        let of_this = format!("thread id {id},");
        status.split("---TRANSACTION").any(|one| one.contains(&of_this) && one.contains("LOCK WAIT"))
    }
}

impl Lab for Sqlite {
    type Sql = Self;
    type Connection = sqlx::SqliteConnection;

    const SCRIPT: &'static str = scripts::SQLITE;
    const SHARES: bool = false;
    const BEGIN: &'static str = "BEGIN IMMEDIATE";

    async fn bare() -> (Pool<Self::Sql>, Option<tempfile::TempDir>) {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteConnectOptions::new().filename(folder.path().join("work.db")).create_if_missing(true);
        let options = options.journal_mode(SqliteJournalMode::Wal).busy_timeout(PATIENCE);
        let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS).connect_with(options).await.unwrap();
        (pool, Some(folder))
    }

    speak!();

    async fn id(_: &mut Self::Connection) -> Option<i64> {
        None
    }

    async fn is_waiting(_: &Pool<Self::Sql>, _: i64) -> bool {
        unreachable!("connections to a file have no name in it")
    }
}

/// Generates a test of each scenario (generic over a [`Lab`]) for each kind of database.
macro_rules! on_every_database {
    ($($scenario:ident),+ $(,)?) => {
        $(mod $scenario {
            #[tokio::test]
            async fn on_postgres() {
                super::$scenario::<tenure_harness::Postgres>().await;
            }

            #[tokio::test]
            async fn on_mariadb() {
                super::$scenario::<tenure_harness::MariaDb>().await;
            }

            #[tokio::test]
            async fn on_mysql() {
                super::$scenario::<tenure_harness::MySql>().await;
            }

            #[tokio::test]
            async fn on_sqlite() {
                super::$scenario::<sqlx::Sqlite>().await;
            }
        })+
    };
}
pub(crate) use on_every_database;
