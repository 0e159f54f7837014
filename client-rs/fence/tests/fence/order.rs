//! The order of admission.

use sqlx::Connection;
use tenure_fence::{FenceError, check, raise};
use tenure_harness::{Flavour, MySqlServer, Postgres, on_mariadb_and_mysql};
use tokio::join;

use crate::lab::{Database, Lab, NAME, add, on_every_database, read, refused_for};

on_every_database!(
    an_older_token_is_refused,
    a_newer_token_waits_for_the_older_one_and_sees_its_work,
    a_newer_token_waits_for_the_first_one_ever,
    a_raise_waits_too,
    what_was_rolled_back_raises_nothing,
    names_are_apart,
);
on_mariadb_and_mysql!(the_same_token_is_let_in_in_parallel, latecomers_queue);

async fn an_older_token_is_refused<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    let mut newer = database.let_in(34).await;
    add::<DB>(&mut newer).await;
    newer.commit().await.unwrap();

    let mut older = database.begin().await;
    let refused = check(&mut older, NAME, 33).await.unwrap_err();
    assert_eq!(refused.to_string(), "stale fencing token 33: 34 is the highest seen for nightly-report");
    let FenceError::Stale { name, token, highest } = refused else { panic!("{refused:?}") };
    assert_eq!((name.as_str(), token, highest), (NAME, 33, 34));
    older.rollback().await.unwrap();

    let mut connection = database.connection().await;
    assert_eq!(refused_for(raise(&mut *connection, NAME, 33).await), 34);
    database.attempt(34).await.unwrap();
    assert_eq!(database.counter().await, 1);
}

async fn a_newer_token_waits_for_the_older_one_and_sees_its_work<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    database.attempt(33).await.unwrap();
    takes_over(&database).await;
}

async fn a_newer_token_waits_for_the_first_one_ever<DB: Lab>() {
    takes_over(&Database::<DB>::fresh().await).await;
}

/// A transaction of token 34 begins while one of 33 is open.
async fn takes_over<DB: Lab>(database: &Database<DB>) {
    let mut older = database.let_in(33).await;
    add::<DB>(&mut older).await;

    let mut connection = database.connection().await;
    let id = DB::id(&mut connection).await;
    let newer = async {
        let mut newer = connection.begin_with(DB::BEGIN).await.unwrap();
        check(&mut newer, NAME, 34).await.unwrap();
        let seen = read::<DB>(&mut newer).await;
        newer.commit().await.unwrap();
        seen
    };
    let end = async {
        database.waits(id).await;
        older.commit().await.unwrap();
    };
    let (seen, ()) = join!(newer, end);
    assert_eq!(seen, 1, "it did not wait");
    assert_eq!(refused_for(database.attempt(33).await), 34);
}

async fn a_raise_waits_too<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    let mut older = database.let_in(33).await;
    add::<DB>(&mut older).await;

    let mut connection = database.connection().await;
    let id = DB::id(&mut connection).await;
    let newer = async {
        raise(&mut *connection, NAME, 34).await.unwrap();
        read::<DB>(&mut connection).await
    };
    let end = async {
        database.waits(id).await;
        older.commit().await.unwrap();
    };
    let (seen, ()) = join!(newer, end);
    assert_eq!(seen, 1, "it did not wait");
    assert_eq!(refused_for(database.attempt(33).await), 34);
}

async fn what_was_rolled_back_raises_nothing<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    database.attempt(33).await.unwrap();
    database.let_in(34).await.rollback().await.unwrap();
    database.attempt(33).await.unwrap();
    database.let_in(35).await.rollback().await.unwrap();
    database.attempt(34).await.unwrap();
    assert_eq!(refused_for(database.attempt(33).await), 34);
}

async fn names_are_apart<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    let mut transaction = database.begin().await;
    // Two names differ only in the spelling of the same letter, and two long names differ in their last character.
    let long = "x".repeat(254);
    let (a, b) = (format!("{long}a"), format!("{long}b"));
    let names =
        ["job", "Job", "job ", " job", "jo\u{e9}", "joe\u{301}", "job'\"`\\%_;--$1?", "\u{1f512}", "\u{1f513}", &a, &b];
    for (name, token) in names.into_iter().zip(2..) {
        check(&mut transaction, name, token).await.unwrap();
    }
    transaction.commit().await.unwrap();
    for (name, token) in names.into_iter().zip(2..) {
        let mut transaction = database.begin().await;
        let refused = check(&mut transaction, name, token - 1).await;
        assert_eq!(refused_for(refused), token, "{name}");
        transaction.rollback().await.unwrap();
    }
}

async fn the_same_token_is_let_in_side_by_side<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    for is_new in [true, false] {
        if is_new {
            raise(&mut *database.connection().await, NAME, 33).await.unwrap();
        }
        let mut first = database.let_in(33).await;
        let mut second = database.let_in(33).await;
        // A repeated check in the same transaction has no effect.
        check(&mut first, NAME, 33).await.unwrap();
        check(&mut second, NAME, 33).await.unwrap();
        second.commit().await.unwrap();
        first.commit().await.unwrap();
    }
}

/// A caller with the old token that arrives while a newer one waits is queued behind it. If newcomers could overtake,
/// an old holder with enough threads could block the new one for ever.
async fn who_comes_late_queues_behind_the_newer_token<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    database.attempt(33).await.unwrap();
    let older = database.let_in(33).await;

    let (mut one, mut two) = (database.connection().await, database.connection().await);
    let (newer_id, late_id) = (DB::id(&mut one).await, DB::id(&mut two).await);
    let newer = async {
        let mut newer = one.begin_with(DB::BEGIN).await.unwrap();
        check(&mut newer, NAME, 34).await.unwrap();
        newer.commit().await.unwrap();
    };
    let late = async {
        database.waits(newer_id).await;
        let mut late = two.begin_with(DB::BEGIN).await.unwrap();
        check(&mut late, NAME, 33).await
    };
    let end = async {
        database.waits(newer_id).await;
        database.waits(late_id).await;
        older.commit().await.unwrap();
    };
    let ((), late, ()) = join!(newer, late, end);
    assert_eq!(refused_for(late), 34);
}

#[tokio::test]
async fn postgres_lets_the_same_token_in_side_by_side() {
    the_same_token_is_let_in_side_by_side::<Postgres>().await;
}

async fn the_same_token_is_let_in_in_parallel<F: Flavour>() {
    the_same_token_is_let_in_side_by_side::<MySqlServer<F>>().await;
}

#[tokio::test]
async fn postgres_has_latecomers_queue() {
    who_comes_late_queues_behind_the_newer_token::<Postgres>().await;
}

async fn latecomers_queue<F: Flavour>() {
    who_comes_late_queues_behind_the_newer_token::<MySqlServer<F>>().await;
}
