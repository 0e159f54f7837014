//! Which databases a store accepts, and how it creates its tables.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, Executor};
use tenure_core::testing::filler;
use tenure_core::{Recorded, Revision, ServerId};
use tenure_harness::{Flavour, MySqlServer, PgBouncer, Postgres, on_mariadb_and_mysql};
use tenure_server::store::{
    Batch, FIRST_HEARTBEAT, OpenError, ServerRecord, Store, StoreOptions, migrate, open, pending_migrations,
};

pub fn batch(previous: u64) -> Batch {
    let events = vec![Recorded { revision: Revision(previous + 1), event: filler(1) }];
    let namespace = "default".into();
    Batch { namespace, previous: Revision(previous), events, server: ServerId(1), number: previous, at_ms: 0 }
}

pub async fn postgres() -> (&'static Postgres, String, String) {
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is created");
    let name = url.rsplit('/').next().expect("a URL ends with the database's name").to_owned();
    (postgres, url, name)
}

on_mariadb_and_mysql!(
    concurrent_migrations_succeed,
    foreign_tables_are_rejected,
    partial_migration_is_resumed,
    defaults_are_overridden,
    migration_lock_names_are_short_and_distinct,
    database_without_durable_commits_or_read_only_is_rejected,
);

/// A fresh database of the server that the tests share.
async fn shared<F: Flavour>() -> String {
    let server = MySqlServer::<F>::shared().await.expect("it starts");
    server.create_database().await.expect("a database is created")
}

pub fn error(opened: Result<Arc<dyn Store>, OpenError>) -> OpenError {
    match opened {
        Ok(_) => panic!("the store opened"),
        Err(error) => error,
    }
}

/// Several servers that start concurrently on an empty database all find it ready.
async fn migrates_concurrently(url: &str) {
    let options = StoreOptions::new(url);
    assert_eq!(pending_migrations(&options).await.expect("it answers"), ["0001_initial"]);
    assert!(matches!(error(open(&options).await), OpenError::NotMigrated(_)));
    let started: Vec<_> = (0..5)
        .map(|_| {
            let options = options.clone();
            tokio::spawn(async move { migrate(&options).await })
        })
        .collect();
    for migrated in started {
        migrated.await.expect("no panic").expect("the tables are created");
    }
    migrate(&options).await.expect("a repeated migration succeeds");
    assert!(pending_migrations(&options).await.expect("it answers").is_empty());
    open(&options).await.expect("it opens");
}

#[tokio::test]
async fn concurrent_migrations_succeed_on_postgres() {
    migrates_concurrently(&postgres().await.1).await;
}

#[tokio::test]
async fn concurrent_migrations_succeed_through_pgbouncer() {
    let (postgres, _, name) = postgres().await;
    let pgbouncer = PgBouncer::start(postgres).await.expect("PgBouncer starts");
    migrates_concurrently(&pgbouncer.url(&name)).await;
}

async fn concurrent_migrations_succeed<F: Flavour>() {
    migrates_concurrently(&shared::<F>().await).await;
}

/// A database with foreign tables that have our names is rejected, and left unchanged.
async fn rejects_foreign_tables<DB: sqlx::Database>(url: &str, remedy: &str)
where
    for<'a> DB::Arguments<'a>: sqlx::IntoArguments<'a, DB>,
    for<'a> &'a mut DB::Connection: sqlx::Executor<'a, Database = DB>,
{
    let options = StoreOptions::new(url);
    let mut connection = DB::Connection::connect(url).await.expect("it answers");
    connection.execute("CREATE TABLE orders (id INT PRIMARY KEY)").await.expect("it is created");
    connection
        .execute("CREATE TABLE servers (id INT PRIMARY KEY, hostname VARCHAR(100))")
        .await
        .expect("it is created");
    connection.execute("CREATE VIEW events AS SELECT id FROM servers").await.expect("it is created");
    let refusals = [
        migrate(&options).await.expect_err("it is rejected"),
        pending_migrations(&options).await.expect_err("it is rejected"),
        error(open(&options).await),
    ];
    for refusal in refusals {
        let message = refusal.to_string();
        assert!(matches!(refusal, OpenError::Foreign(..)), "{message}");
        assert!(
            message.contains("events, servers,") && message.contains(remedy) && !message.contains("orders"),
            "{message}"
        );
    }
    connection.execute("INSERT INTO servers VALUES (1, 'db-1')").await.expect("the table still has two columns");
    for sql in ["SELECT * FROM tenure_migrations", "SELECT * FROM claims"] {
        assert!(connection.fetch_all(sql).await.is_err(), "nothing was created: {sql}");
    }
    // Tables with other names do not conflict.
    connection.execute("DROP VIEW events").await.expect("it is dropped");
    connection.execute("DROP TABLE servers").await.expect("it is dropped");
    connection.close().await.expect("it is closed");
    migrate(&options).await.expect("the tables are created beside the others");
    open(&options).await.expect("it opens");
}

#[tokio::test]
async fn foreign_tables_are_rejected_on_postgres() {
    let (postgres, url, name) = postgres().await;
    rejects_foreign_tables::<sqlx::Postgres>(&url, "a database or a schema of its own").await;
    // Tables that the user may not see are found, too.
    let other = postgres.create_database().await.expect("a database is created");
    let mut connection = sqlx::PgConnection::connect(&other).await.expect("it answers");
    let user = format!("guest_of_{name}");
    for sql in [
        "CREATE TABLE servers (id bigint)".to_owned(),
        format!("CREATE ROLE {user} LOGIN"),
        format!("GRANT CREATE ON SCHEMA public TO {user}"),
    ] {
        connection.execute(&*sql).await.expect("it is done");
    }
    let as_guest = other.replace("tenure@", &format!("{user}@"));
    assert!(matches!(migrate(&StoreOptions::new(as_guest)).await, Err(OpenError::Foreign(..))));
}

async fn foreign_tables_are_rejected<F: Flavour>() {
    rejects_foreign_tables::<sqlx::MySql>(&shared::<F>().await, "a database of its own").await;
}

#[tokio::test]
async fn foreign_tables_are_rejected_on_sqlite() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("others.db");
    std::fs::write(&file, []).expect("it is created");
    let url = format!("sqlite:{}", file.display());
    rejects_foreign_tables::<sqlx::Sqlite>(&url, "a file of its own").await;
}

/// A partial migration is resumed at any point, since MySQL does not roll back a partial migration.
async fn resumes_a_partial_migration<DB: sqlx::Database>(url: &str)
where
    for<'a> DB::Arguments<'a>: sqlx::IntoArguments<'a, DB>,
    for<'a> &'a mut DB::Connection: sqlx::Executor<'a, Database = DB>,
{
    let options = StoreOptions::new(url);
    migrate(&options).await.expect("the tables are created");
    let mut connection = DB::Connection::connect(url).await.expect("it answers");
    for sql in [
        "DELETE FROM tenure_migrations",
        "DROP VIEW current_settings",
        "DROP VIEW current_waiters",
        "DROP VIEW current_locks",
        "DROP VIEW current_claims",
        "DROP TABLE tenure_identity",
    ] {
        connection.execute(sql).await.expect("the migration is partly undone");
    }
    connection.close().await.expect("it is closed");
    migrate(&options).await.expect("the migration is resumed");
    open(&options).await.expect("it opens");
}

#[tokio::test]
async fn partial_migration_is_resumed_on_postgres() {
    resumes_a_partial_migration::<sqlx::Postgres>(&postgres().await.1).await;
}

async fn partial_migration_is_resumed<F: Flavour>() {
    resumes_a_partial_migration::<sqlx::MySql>(&shared::<F>().await).await;
}

/// Server-wide defaults that would break the store: it overrides them on each connection.
async fn defaults_are_overridden<F: Flavour>() {
    let server = MySqlServer::<F>::start().await.expect("it starts");
    let url = server.create_database().await.expect("a database is created");
    server
        .execute(
            "SET GLOBAL autocommit = 0, GLOBAL completion_type = 'CHAIN', GLOBAL sql_select_limit = 1, GLOBAL sql_safe_updates = 1, \
            GLOBAL max_join_size = 1, \
            GLOBAL sql_mode = 'ANSI,ANSI_QUOTES,NO_BACKSLASH_ESCAPES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,NO_ZERO_DATE'; \
            SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
        )
        .await
        .expect("they are set");
    let options = StoreOptions::new(url);
    migrate(&options).await.expect("the tables are created");
    let (one, two) = (open(&options).await.expect("it opens"), open(&options).await.expect("it opens"));
    let record = |server: u64| ServerRecord {
        server: ServerId(server),
        heartbeat: FIRST_HEARTBEAT,
        lease: Duration::from_secs(10),
        label: "a 'quoted' \"label\" with a \\".to_owned(),
        address: String::new(),
        certificate: String::new(),
        dead: false,
    };
    one.heartbeat(&record(1)).await.expect("it is written");
    assert_eq!(two.heartbeat(&record(2)).await, Ok(vec![record(1), record(2)]), "and committed");
    for previous in 0..3 {
        one.append(&batch(previous), false).await.expect("the append is accepted");
    }
    assert_eq!(two.heads().await, Ok(vec![("default".into(), Revision(3))]));
    assert_eq!(two.read("default", Revision(0), 10).await.expect("it can be read").batches.len(), 3);
    assert_eq!(tenure_server::store::mark_restored(&options).await.expect("it is marked"), 1);
    assert!(!two.read("default", Revision(0), 10).await.expect("it can be read").head.intact);
}

/// MySQL limits the names of locks to 64 characters.
async fn migration_lock_names_are_short_and_distinct<F: Flavour>() {
    let statement = include_str!("../../../../server/src/store/mysql/sql/lock_migrations.sql");
    let expression =
        statement.lines().find_map(|line| line.strip_prefix("DO GET_LOCK(")?.strip_suffix(", 100)")).expect("a name");
    let server = MySqlServer::<F>::shared().await.expect("it starts");
    let mut names = std::collections::BTreeSet::new();
    let databases = ["l".repeat(57), "l".repeat(58), format!("{}x", "l".repeat(63)), format!("{}y", "l".repeat(63))];
    for database in &databases {
        server.execute(&format!("CREATE DATABASE {database}")).await.expect("a database is created");
        let url = server.url(database);
        migrate(&StoreOptions::new(&url)).await.expect("the tables are created");
        open(&StoreOptions::new(&url)).await.expect("it opens");
        let mut connection = sqlx::MySqlConnection::connect(&url).await.expect("it answers");
        let sql = format!("SELECT {expression}");
        let name: String = sqlx::query_scalar(&sql).fetch_one(&mut connection).await.expect("it is a name");
        assert!(name.chars().count() <= 64, "{name}");
        names.insert(name);
    }
    assert_eq!(names.len(), databases.len(), "{names:?}");
}

#[tokio::test]
async fn postgres_without_durable_commits_is_rejected() {
    let (postgres, url, name) = postgres().await;
    let options = StoreOptions::new(&url);
    migrate(&options).await.expect("the tables are created");
    postgres.execute(&format!("ALTER DATABASE {name} SET synchronous_commit = off")).await.expect("it is set");
    let refusal = error(open(&options).await);
    assert!(matches!(refusal, OpenError::UnsafeDurability(_)));
    assert!(refusal.to_string().contains("synchronous_commit is off"), "{refusal}");
    assert!(matches!(migrate(&options).await, Err(OpenError::UnsafeDurability(_))));
    open(&StoreOptions { allow_unsafe_durability: true, ..options }).await.expect("it opens if that is allowed");
}

async fn database_without_durable_commits_or_read_only_is_rejected<F: Flavour>() {
    let server = MySqlServer::<F>::start_with(&["--log-bin=log", "--sync-binlog=1"]).await.expect("it starts");
    let options = StoreOptions::new(server.create_database().await.expect("a database is created"));
    migrate(&options).await.expect("the tables are created");
    for (setting, unsafe_value) in [("innodb_flush_log_at_trx_commit", 2), ("sync_binlog", 0)] {
        server.execute(&format!("SET GLOBAL {setting} = {unsafe_value}")).await.expect("it is set");
        let refusal = error(open(&options).await);
        assert!(matches!(refusal, OpenError::UnsafeDurability(_)));
        assert!(refusal.to_string().contains(&format!("{setting} is {unsafe_value}, not 1")), "{refusal}");
        assert!(matches!(migrate(&options).await, Err(OpenError::UnsafeDurability(_))));
        let allowed = StoreOptions { allow_unsafe_durability: true, ..options.clone() };
        open(&allowed).await.expect("it opens if that is allowed");
        server.execute(&format!("SET GLOBAL {setting} = 1")).await.expect("it is set");
    }
    open(&options).await.expect("it opens");
    server.execute("SET GLOBAL read_only = 1").await.expect("it is set");
    let refusal = error(open(&options).await);
    assert!(refusal.to_string().contains("rejects writes"), "{refusal}");
}

/// A file has one owner, and the next owner finds the state that the last one left.
#[tokio::test]
async fn sqlite_file_is_exclusive_to_one_process() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = StoreOptions::new(format!("sqlite:{}", folder.path().join("tenure.db").display()));
    assert!(matches!(error(open(&options).await), OpenError::NotMigrated(_)));
    migrate(&options).await.expect("the tables are created");
    let store = open(&options).await.expect("it opens");
    store.append(&batch(0), false).await.expect("the append is accepted");
    let refusal = error(open(&options).await);
    assert!(matches!(refusal, OpenError::InUse(_)));
    assert!(refusal.to_string().contains("in use by another process"), "{refusal}");
    assert!(matches!(migrate(&options).await, Err(OpenError::InUse(_))));
    drop(store);
    let again = open(&options).await.expect("it opens again");
    assert_eq!(again.heads().await, Ok(vec![("default".into(), Revision(1))]));
}

/// An unreachable database is an error, in time, without the password in its message.
#[tokio::test]
async fn unreachable_database_is_an_error_without_the_password() {
    for url in ["postgres://me:secret@127.0.0.1:1/db", "mysql://me:secret@127.0.0.1:1/db"] {
        let refusal = error(open(&StoreOptions::new(url)).await);
        assert!(matches!(refusal, OpenError::Unavailable(_)), "{refusal}");
        assert!(refusal.to_string().contains("127.0.0.1:1: "), "{refusal}");
        assert!(!format!("{refusal} {refusal:?}").contains("secret"), "{refusal}");
    }
    let refusal = error(open(&StoreOptions::new("sqlite:/nowhere/tenure.db")).await);
    assert!(matches!(refusal, OpenError::Unavailable(_)), "{refusal}");
}
