//! Isolation: at no level does a newer token miss writes of older ones.

use sqlx::Connection;
use tenure_fence::{FenceError, check, raise};
use tenure_harness::{Flavour, MariaDb, MariaDbPrograms, MySql, MySqlPrograms, MySqlServer, Postgres};
use tokio::join;

use crate::lab::{Database, Lab, NAME, add, read, refused_for};

/// The limit of retries after concurrent commits of other tests in the same PostgreSQL.
const TRIES: usize = 100;

/// Begins a newer token's transaction while an older one is open, which then commits. Returns the counter as the newer
/// one sees it.
async fn overtake<DB: Lab>(database: &Database<DB>, begin: &'static str, token: u64) -> Result<i64, FenceError> {
    // The older one then finds its row present, and does not modify it in a way for which the database itself would
    // fail the newer one.
    database.attempt(token - 1).await?;
    let mut older = database.let_in(token - 1).await;
    add::<DB>(&mut older).await;
    let mut connection = database.connection().await;
    let id = DB::id(&mut connection).await;
    let newer = async {
        let mut newer = connection.begin_with(begin).await.unwrap();
        check(&mut newer, NAME, token).await?;
        let seen = DB::numbers(&mut newer, "SELECT value FROM counter").await?[0];
        newer.commit().await?;
        Ok(seen)
    };
    let end = async {
        database.waits(id).await;
        older.commit().await.unwrap();
    };
    join!(newer, end).0
}

/// Retries a transaction until it is admitted, and returns the counter as it sees it.
async fn let_in_at_last(database: &Database<Postgres>, begin: &'static str, token: u64) -> i64 {
    for _ in 0..TRIES {
        let mut transaction = database.pool.begin_with(begin).await.unwrap();
        match check(&mut transaction, NAME, token).await {
            Ok(()) => return read::<Postgres>(&mut transaction).await,
            Err(FenceError::Conflict(_)) => transaction.rollback().await.unwrap(),
            Err(other) => panic!("{other}"),
        }
    }
    panic!("never let in");
}

const STRICT: [&str; 2] = ["BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN ISOLATION LEVEL SERIALIZABLE"];

#[tokio::test]
async fn postgres_fails_a_newer_token_whose_snapshot_is_from_before_the_wait() {
    for begin in STRICT {
        let database = Database::<Postgres>::fresh().await;
        let refused = overtake(&database, begin, 34).await;
        assert!(matches!(refused, Err(FenceError::Conflict(_))), "{begin}: {refused:?}");
        assert_eq!(let_in_at_last(&database, begin, 34).await, 1, "{begin}");
    }
}

#[tokio::test]
async fn postgres_fails_an_older_token_whose_snapshot_does_not_show_the_newer_one_yet() {
    for begin in STRICT {
        let database = Database::<Postgres>::fresh().await;
        database.attempt(33).await.unwrap();
        let mut older = database.pool.begin_with(begin).await.unwrap();
        read::<Postgres>(&mut older).await;
        database.attempt(34).await.unwrap();
        let refused = check(&mut older, NAME, 33).await;
        assert!(matches!(refused, Err(FenceError::Conflict(_))), "{begin}: {refused:?}");
        older.rollback().await.unwrap();
        assert_eq!(refused_for(database.attempt(33).await), 34);
    }
}

/// The id of such a transaction is too low to show which commits preceded its admission.
#[tokio::test]
async fn postgres_fails_a_newer_token_after_a_write() {
    for begin in STRICT {
        let database = Database::<Postgres>::fresh().await;
        let mut transaction = database.pool.begin_with(begin).await.unwrap();
        add::<Postgres>(&mut transaction).await;
        let refused = check(&mut transaction, NAME, 33).await;
        assert!(matches!(refused, Err(FenceError::Conflict(_))), "{begin}: {refused:?}");
    }
}

#[tokio::test]
async fn after_a_raise_no_snapshot_of_postgres_is_too_old() {
    for begin in STRICT {
        let database = Database::<Postgres>::fresh().await;
        let mut older = database.let_in(33).await;
        add::<Postgres>(&mut older).await;
        let mut connection = database.connection().await;
        let level = begin.trim_start_matches("BEGIN ISOLATION LEVEL ").to_lowercase();
        Postgres::run(&mut connection, &format!("SET default_transaction_isolation = '{level}'")).await.unwrap();
        let id = Postgres::id(&mut connection).await;
        let newer = async { raise(&mut *connection, NAME, 34).await.unwrap() };
        let end = async {
            database.waits(id).await;
            older.commit().await.unwrap();
        };
        join!(newer, end);
        let (mut one, mut two) = (database.pool.begin_with(begin).await.unwrap(), connection.begin().await.unwrap());
        check(&mut one, NAME, 34).await.unwrap();
        check(&mut two, NAME, 34).await.unwrap();
        assert_eq!((read::<Postgres>(&mut one).await, read::<Postgres>(&mut two).await), (1, 1));
    }
}

/// A database whose connections all have these settings.
async fn with<F: Flavour>(settings: &str) -> Database<MySqlServer<F>> {
    let database = Database::<MySqlServer<F>>::fresh().await;
    let mut all = Vec::new();
    for _ in 0..database.pool.options().get_max_connections() {
        let mut connection = database.connection().await;
        MySqlServer::<F>::run(&mut connection, settings).await.unwrap();
        all.push(connection);
    }
    database
}

const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

fn level(level: &str) -> String {
    format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")
}

#[tokio::test]
async fn mysql_has_a_newer_token_see_everything_under_every_isolation() {
    for isolation in LEVELS {
        let database = with::<MySqlPrograms>(&level(isolation)).await;
        assert_eq!(overtake(&database, MySql::BEGIN, 34).await.unwrap(), 1, "{isolation}");
        let mut again = database.let_in(34).await;
        assert_eq!(read::<MySql>(&mut again).await, 1, "{isolation}");
    }
}

#[tokio::test]
async fn mariadb_has_a_newer_token_see_everything_under_every_isolation() {
    for isolation in LEVELS {
        // ON is the default from MariaDB 11.6 on.
        for strict in ["OFF", "ON"] {
            let settings = format!("{}; SET SESSION innodb_snapshot_isolation = {strict}", level(isolation));
            let database = with::<MariaDbPrograms>(&settings).await;
            let seen = overtake(&database, MariaDb::BEGIN, 34).await;
            if (isolation, strict) == ("SERIALIZABLE", "ON") {
                // Only in this mode is a change during the wait an error.
                let Err(FenceError::Conflict(error) | FenceError::Database(error)) = seen else { panic!("{seen:?}") };
                assert!(error.to_string().starts_with("error returned from database: 1020 "), "{error}");
            } else {
                assert_eq!(seen.unwrap(), 1, "{isolation}, {strict}");
            }
            let mut again = database.let_in(34).await;
            assert_eq!(read::<MariaDb>(&mut again).await, 1, "{isolation}, {strict}");
        }
    }
}
