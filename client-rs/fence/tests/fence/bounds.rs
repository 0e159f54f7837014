//! Validation of names and tokens, by the library and by the database, which programs may call directly.

use sqlx::Sqlite;
use tenure_fence::{FenceError, check, raise};
use tenure_harness::{Flavour, MySqlServer, Postgres, on_mariadb_and_mysql};

use crate::lab::{Database, Lab, NAME, on_every_database};

on_every_database!(the_library_knows_the_bounds, the_greatest_are_taken, a_database_without_it_says_so);
on_mariadb_and_mysql!(nonsense_is_refused);

async fn the_library_knows_the_bounds<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    let mut transaction = database.begin().await;
    for name in ["", &"x".repeat(256), &"\u{1f512}".repeat(64)] {
        let refused = check(&mut transaction, name, 1).await.unwrap_err();
        assert!(matches!(refused, FenceError::InvalidName { length } if length == name.len()), "{refused:?}");
    }
    for token in [0, 1 << 63, u64::MAX] {
        let refused = check(&mut transaction, NAME, token).await.unwrap_err();
        assert!(matches!(refused, FenceError::InvalidToken { token: invalid } if invalid == token), "{refused:?}");
    }
}

async fn the_greatest_are_taken<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    let most = u64::try_from(i64::MAX).unwrap();
    let mut transaction = database.begin().await;
    check(&mut transaction, &"x".repeat(255), most).await.unwrap();
    check(&mut transaction, NAME, most).await.unwrap();
    transaction.commit().await.unwrap();
    let FenceError::Stale { token, highest, .. } = database.attempt(most - 1).await.unwrap_err() else {
        panic!("not refused as stale")
    };
    assert_eq!((token, highest), (most - 1, most));
}

async fn a_database_without_it_says_so<DB: Lab>() {
    let (pool, _folder) = DB::bare().await;
    let mut transaction = pool.begin_with(DB::BEGIN).await.unwrap();
    let refused = check(&mut transaction, NAME, 1).await.unwrap_err();
    assert!(matches!(refused, FenceError::NotInstalled(_)), "{refused:?}");
    assert!(refused.to_string().contains("tenure fence-sql"), "{refused}");
    transaction.rollback().await.unwrap();
    let refused = raise(&mut *pool.acquire().await.unwrap(), NAME, 1).await.unwrap_err();
    assert!(matches!(refused, FenceError::NotInstalled(_)), "{refused:?}");
}

/// Executes each call, each of which must be rejected by one of these codes, with a message that states the bounds.
async fn each_is_refused<DB: Lab>(calls: &[String], codes: &[&str]) {
    let database = Database::<DB>::fresh().await;
    let mut connection = database.connection().await;
    for call in calls {
        let error = DB::run(&mut connection, call).await.expect_err(call);
        let error = error.as_database_error().unwrap();
        let code = error.code().unwrap_or_default();
        assert!(codes.contains(&code.as_ref()), "{call}: {code}: {error}");
        if code == codes[0] {
            assert!(error.message().contains("1 to "), "{call}: {error}");
        }
    }
    assert!(DB::numbers(&mut connection, "SELECT token FROM tenure_fences").await.unwrap().is_empty());
}

fn calls(call: impl Fn(&str) -> String, arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|arguments| call(arguments)).collect()
}

const NONSENSE: [&str; 6] = ["'job', 0", "'job', -1", "'job', NULL", "NULL, 1", "'', 1", "NULL, NULL"];

#[tokio::test]
async fn postgres_refuses_nonsense() {
    let call = |arguments: &str| format!("SELECT tenure_fence({arguments})");
    let mut all = calls(call, &NONSENSE);
    all.extend(calls(call, &["repeat('x', 256), 1", "repeat('\u{e9}', 128), 1"]));
    each_is_refused::<Postgres>(&all, &["22023"]).await;
}

async fn nonsense_is_refused<F: Flavour>() {
    let call = |arguments: &str| format!("CALL tenure_fence({arguments})");
    let mut all = calls(call, &NONSENSE);
    let more = ["repeat('x', 256), 1", "repeat('\u{e9}', 128), 1", "repeat('x', 300), 1"];
    all.extend(calls(call, &more));
    all.extend(calls(call, &["'job', 9223372036854775808", "'job', 'many'"]));
    // The last codes are for values that do not fit the argument types; MySQL has none of its own for text.
    each_is_refused::<MySqlServer<F>>(&all, &["45000", "22003", "22007", "22001", "HY000"]).await;
}

#[tokio::test]
async fn sqlite_refuses_nonsense() {
    let call = |arguments: &str| format!("INSERT INTO tenure_fence (name, token) VALUES ({arguments})");
    let mut all = calls(call, &NONSENSE);
    let long = format!("'{}', 1", "x".repeat(256));
    all.extend(calls(call, &[&long, "'job', '7'", "'job', 7.0", "'job', 9223372036854775808", "x'6a', 1", "5, 1"]));
    each_is_refused::<Sqlite>(&all, &["1811"]).await;
}
