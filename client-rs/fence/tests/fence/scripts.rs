//! The statements in the scripts' headers.

use sqlx::{Connection, PgConnection, Sqlite};
use tenure_fence::{FenceError, check, install, raise};
use tenure_harness::{Flavour, MySql, MySqlServer, PgBouncer, Postgres, on_mariadb_and_mysql};

use crate::lab::{Database, Lab, NAME, add, on_every_database, read, refused_for};

on_every_database!(installing_again_keeps_the_tokens, what_uninstalls_it_leaves_nothing);
on_mariadb_and_mysql!(a_wait_ends, names_are_compared_in_utf8, there_is_a_way_without_the_procedure);

async fn installing_again_keeps_the_tokens<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    database.attempt(34).await.unwrap();
    install(&mut *database.connection().await).await.unwrap();
    assert_eq!(refused_for(database.attempt(33).await), 34);
    database.attempt(34).await.unwrap();
    database.attempt(35).await.unwrap();
}

async fn what_uninstalls_it_leaves_nothing<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    database.attempt(34).await.unwrap();
    let uninstall = DB::SCRIPT.lines().find_map(|line| line.strip_prefix("-- Uninstall:")).unwrap();
    DB::run(&mut *database.connection().await, uninstall).await.unwrap();
    assert!(matches!(database.attempt(35).await, Err(FenceError::NotInstalled(_))));
    install(&mut *database.connection().await).await.unwrap();
    database.attempt(1).await.unwrap();
}

/// The function uses the table in its own schema, whatever the caller's search path and any other table of that name.
#[tokio::test]
async fn postgres_finds_the_table_of_its_own_schema() {
    let database = Database::<Postgres>::fresh().await;
    let mut connection = database.connection().await;
    let elsewhere = "CREATE SCHEMA kit; SET search_path = kit";
    Postgres::run(&mut connection, elsewhere).await.unwrap();
    install(&mut *connection).await.unwrap();
    Postgres::run(&mut connection, "SELECT tenure_fence('job', 34)").await.unwrap();
    Postgres::run(&mut connection, "RESET search_path; CREATE TEMPORARY TABLE tenure_fences (name text, token bigint)")
        .await
        .unwrap();
    let stale = Postgres::run(&mut connection, "SELECT kit.tenure_fence('job', 33)").await.unwrap_err();
    assert_eq!(stale.as_database_error().unwrap().code().as_deref(), Some("TF001"));
    assert_eq!(Postgres::numbers(&mut connection, "SELECT token FROM kit.tenure_fences").await.unwrap(), [34]);
    // The fence in public is a separate one.
    Postgres::run(&mut connection, "SELECT tenure_fence('job', 33)").await.unwrap();
    assert_eq!(Postgres::numbers(&mut connection, "SELECT token FROM public.tenure_fences").await.unwrap(), [33]);
}

#[tokio::test]
async fn postgres_callers_need_the_rights_that_the_script_names() {
    let database = Database::<Postgres>::fresh().await;
    let mut connection = database.connection().await;
    // Roles are global to the server, which other tests share.
    let role = format!("worker_{}", std::process::id());
    let grant = format!(
        "CREATE ROLE {role}; GRANT SELECT, INSERT, UPDATE ON tenure_fences, counter TO {role}; SET ROLE {role}"
    );
    Postgres::run(&mut connection, &grant).await.unwrap();
    for token in [33, 33, 34] {
        let mut transaction = connection.begin().await.unwrap();
        check(&mut transaction, NAME, token).await.unwrap();
        add::<Postgres>(&mut transaction).await;
        transaction.commit().await.unwrap();
    }
    raise(&mut *connection, NAME, 35).await.unwrap();
    let revoke = format!("RESET ROLE; REVOKE ALL ON tenure_fences FROM {role}; SET ROLE {role}");
    Postgres::run(&mut connection, &revoke).await.unwrap();
    let refused = raise(&mut *connection, NAME, 36).await.unwrap_err();
    assert!(matches!(refused, FenceError::Database(_)), "{refused:?}");
}

/// Each transaction may run on another connection.
#[tokio::test]
async fn postgres_is_fenced_behind_pgbouncer() {
    let postgres = Postgres::shared().await.unwrap();
    let pgbouncer = PgBouncer::start(postgres).await.unwrap();
    let url = pgbouncer.create_database(postgres).await.unwrap();
    let (mut older, mut newer) =
        (PgConnection::connect(&url).await.unwrap(), PgConnection::connect(&url).await.unwrap());
    install(&mut older).await.unwrap();
    Postgres::run(&mut older, "BEGIN; SELECT tenure_fence('job', 33)").await.unwrap();
    let attempt = "BEGIN; SET LOCAL lock_timeout = '50ms'; SELECT tenure_fence('job', 34); COMMIT";
    let refused = Postgres::run(&mut newer, attempt).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().as_deref(), Some("55P03"));
    Postgres::run(&mut newer, "ROLLBACK").await.unwrap();
    Postgres::run(&mut older, "COMMIT").await.unwrap();
    Postgres::run(&mut newer, attempt).await.unwrap();
    let stale = Postgres::run(&mut older, "SELECT tenure_fence('job', 33)").await.unwrap_err();
    assert_eq!(stale.as_database_error().unwrap().code().as_deref(), Some("TF001"));
}

/// The wait ends after the time in the settings that the scripts name.
async fn a_wait_has_an_end<DB: Lab>(settings: &str) {
    let database = Database::<DB>::fresh().await;
    let older = database.let_in(33).await;
    let mut connection = database.connection().await;
    DB::run(&mut connection, settings).await.unwrap();
    let refused = raise(&mut *connection, NAME, 34).await.unwrap_err();
    assert!(matches!(refused, FenceError::Conflict(_)), "{refused:?}");
    let mut newer = connection.begin().await.unwrap();
    let refused = check(&mut newer, NAME, 34).await.unwrap_err();
    assert!(matches!(refused, FenceError::Conflict(_)), "{refused:?}");
    newer.rollback().await.unwrap();
    older.commit().await.unwrap();
    raise(&mut *connection, NAME, 34).await.unwrap();
}

#[tokio::test]
async fn a_wait_in_postgres_has_an_end() {
    a_wait_has_an_end::<Postgres>("SET lock_timeout = '50ms'").await;
}

async fn a_wait_ends<F: Flavour>() {
    a_wait_has_an_end::<MySqlServer<F>>("SET SESSION innodb_lock_wait_timeout = 1").await;
}

#[tokio::test]
async fn a_wait_in_sqlite_has_an_end() {
    a_wait_has_an_end::<Sqlite>("PRAGMA busy_timeout = 50").await;
}

/// The same characters are the same name, whatever the client's character set.
async fn names_are_compared_in_utf8<F: Flavour>() {
    let database = Database::<MySqlServer<F>>::fresh().await;
    let mut connection = database.connection().await;
    MySqlServer::<F>::run(&mut connection, "CALL tenure_fence('caf\u{e9}', 34)").await.unwrap();
    let stale = MySqlServer::<F>::run(&mut connection, "CALL tenure_fence(_latin1 x'636166e9', 33)").await.unwrap_err();
    assert!(stale.to_string().contains("34 is the highest seen for caf\u{e9}"), "{stale}");
}

/// The statements for users without the privilege to create routines, concurrently with the procedure.
async fn there_is_a_way_without_the_procedure<F: Flavour>() {
    let database = Database::<MySqlServer<F>>::fresh().await;
    let by_hand = async |token: i64| {
        let mut transaction = database.begin().await;
        let insert = format!("INSERT IGNORE INTO tenure_fences (name, token) VALUES ('{NAME}', {token})");
        MySqlServer::<F>::run(&mut transaction, &insert).await.unwrap();
        let select = format!("SELECT token FROM tenure_fences WHERE name = '{NAME}' LOCK IN SHARE MODE");
        let highest = MySqlServer::<F>::numbers(&mut transaction, &select).await.unwrap()[0];
        if highest < token {
            let update = format!("UPDATE tenure_fences SET token = {token} WHERE name = '{NAME}' AND token < {token}");
            MySqlServer::<F>::run(&mut transaction, &update).await.unwrap();
        }
        transaction.commit().await.unwrap();
        highest <= token
    };
    assert!(by_hand(33).await);
    assert!(by_hand(33).await);
    database.attempt(33).await.unwrap();
    assert!(by_hand(34).await);
    assert_eq!(refused_for(database.attempt(33).await), 34);
    database.attempt(35).await.unwrap();
    assert!(!by_hand(34).await);
}

/// Settings of managed databases, and quotes as in standard SQL.
#[tokio::test]
async fn mysql_takes_the_script_under_strict_settings() {
    let (pool, _) = MySql::bare().await;
    let mut connection = pool.acquire().await.unwrap();
    let settings = "SET SESSION sql_require_primary_key = ON, autocommit = 0, \
        sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,NO_BACKSLASH_ESCAPES'";
    MySql::run(&mut connection, settings).await.unwrap();
    install(&mut *connection).await.unwrap();
    for token in [33, 34] {
        let mut transaction = connection.begin_with(MySql::BEGIN).await.unwrap();
        check(&mut transaction, NAME, token).await.unwrap();
        transaction.commit().await.unwrap();
    }
    let mut transaction = connection.begin_with(MySql::BEGIN).await.unwrap();
    assert_eq!(refused_for(check(&mut transaction, NAME, 33).await), 34);
}

/// SQLite admits one writer at a time, whatever its token.
#[tokio::test]
async fn sqlite_has_one_transaction_at_a_time() {
    let database = Database::<Sqlite>::fresh().await;
    let first = database.let_in(33).await;
    let mut connection = database.connection().await;
    Sqlite::run(&mut connection, "PRAGMA busy_timeout = 0").await.unwrap();
    for token in [32, 33, 34] {
        let mut second = connection.begin().await.unwrap();
        let refused = check(&mut second, NAME, token).await.unwrap_err();
        assert!(matches!(refused, FenceError::Conflict(_)), "{refused:?}");
        second.rollback().await.unwrap();
    }
    first.commit().await.unwrap();
    let mut second = connection.begin().await.unwrap();
    check(&mut second, NAME, 34).await.unwrap();
}

/// After a plain BEGIN the call takes the write lock if it is the first statement; after an outdated read it fails.
#[tokio::test]
async fn sqlite_takes_the_write_lock_with_the_call() {
    let database = Database::<Sqlite>::fresh().await;
    let mut plain = database.pool.begin().await.unwrap();
    check(&mut plain, NAME, 33).await.unwrap();
    let mut connection = database.connection().await;
    Sqlite::run(&mut connection, "PRAGMA busy_timeout = 0").await.unwrap();
    assert!(connection.begin_with("BEGIN IMMEDIATE").await.is_err(), "the write lock is free");
    plain.commit().await.unwrap();

    let mut late = connection.begin().await.unwrap();
    read::<Sqlite>(&mut late).await;
    database.attempt(34).await.unwrap();
    let refused = check(&mut late, NAME, 34).await.unwrap_err();
    assert!(matches!(refused, FenceError::Conflict(_)), "{refused:?}");
}

/// `OR IGNORE` and the like apply to row conflicts, and not to the fence.
#[tokio::test]
async fn sqlite_knows_no_way_around() {
    let database = Database::<Sqlite>::fresh().await;
    database.attempt(34).await.unwrap();
    let mut connection = database.connection().await;
    for verb in ["INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL", "INSERT OR ROLLBACK", "REPLACE"] {
        let call = |token| format!("{verb} INTO tenure_fence (name, token) VALUES ('{NAME}', {token})");
        assert!(Sqlite::run(&mut connection, &call(33)).await.is_err(), "{verb}");
        Sqlite::run(&mut connection, &call(34)).await.unwrap();
    }
    assert_eq!(Sqlite::numbers(&mut connection, "SELECT token FROM tenure_fences").await.unwrap(), [34]);
}
