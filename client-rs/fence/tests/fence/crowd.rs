//! Many concurrent connections.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::join_all;
use sqlx::{Connection, Sqlite};
use tenure_fence::{FenceError, check, raise};
use tenure_harness::{Flavour, MySqlServer, Postgres, on_mariadb_and_mysql};
use tokio::sync::Barrier;

use crate::lab::{Database, Lab, NAME, add, on_every_database};

on_every_database!(first_uses_do_not_collide, a_crowd_gets_in_sooner_or_later, checks_do_not_collide_after_a_raise);
on_mariadb_and_mysql!(what_is_committed_has_rising_tokens_in_order);

const CROWD: usize = 8;

const ROUNDS: u64 = 10;

/// The limit of retries after collisions.
const TRIES: usize = 100;

/// All callers use one name that is new to the database, and then each a new name of its own.
async fn first_uses_do_not_collide<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    for round in 1..=ROUNDS {
        for is_shared in [true, false] {
            let mut connections = Vec::new();
            for _ in 0..CROWD {
                connections.push(database.connection().await);
            }
            let together = Barrier::new(CROWD);
            let work = connections.iter_mut().enumerate().map(async |(number, connection)| {
                let name =
                    if is_shared { format!("round {round}") } else { format!("round {round}, connection {number}") };
                together.wait().await;
                let mut transaction = connection.begin_with(DB::BEGIN).await.unwrap();
                check(&mut transaction, &name, 7).await.unwrap();
                transaction.commit().await.unwrap();
            });
            join_all(work).await;
        }
    }
}

/// All callers use one token that is new to the database, the first time with a new name.
async fn a_crowd_gets_in_sooner_or_later<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    for token in 1..=ROUNDS {
        let mut connections = Vec::new();
        for _ in 0..CROWD {
            connections.push(database.connection().await);
        }
        let together = Barrier::new(CROWD);
        let work = connections.iter_mut().map(async |connection| {
            together.wait().await;
            for _ in 0..TRIES {
                let mut transaction = connection.begin_with(DB::BEGIN).await.unwrap();
                match check(&mut transaction, NAME, token).await {
                    Ok(()) => {
                        add::<DB>(&mut transaction).await;
                        return transaction.commit().await.unwrap();
                    }
                    Err(FenceError::Conflict(_)) => transaction.rollback().await.unwrap(),
                    Err(other) => panic!("{other}"),
                }
            }
            panic!("never let in");
        });
        join_all(work).await;
    }
    assert_eq!(database.counter().await, i64::try_from(CROWD).unwrap() * i64::try_from(ROUNDS).unwrap());
}

async fn checks_do_not_collide_after_a_raise<DB: Lab>() {
    let database = Database::<DB>::fresh().await;
    for token in 1..=ROUNDS {
        let mut connections = Vec::new();
        for _ in 0..CROWD {
            connections.push(database.connection().await);
        }
        join_all(connections.iter_mut().map(async |connection| raise(&mut **connection, NAME, token).await.unwrap()))
            .await;
        let together = Barrier::new(CROWD);
        let work = connections.iter_mut().map(async |connection| {
            let mut transaction = connection.begin_with(DB::BEGIN).await.unwrap();
            check(&mut transaction, NAME, token).await.unwrap();
            if DB::SHARES {
                // No task continues before all are admitted.
                together.wait().await;
            }
            transaction.commit().await.unwrap();
        });
        join_all(work).await;
    }
}

/// Rows committed under the tokens, in write order: no token follows a higher one.
async fn what_is_committed_has_rising_tokens<DB: Lab>(create_log: &str) {
    let database = Database::<DB>::fresh().await;
    DB::run(&mut *database.connection().await, create_log).await.unwrap();
    let newest = AtomicU64::new(2);
    let (let_in, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let workers = (0..CROWD).map(async |worker| {
        let mut connection = database.connection().await;
        for number in 0..40 {
            let token = match (worker + number) % 4 {
                0 => newest.fetch_add(1, Ordering::Relaxed) + 1,
                1 => newest.load(Ordering::Relaxed) - 1,
                _ => newest.load(Ordering::Relaxed),
            };
            for attempt in 0.. {
                assert!(attempt < TRIES, "neither let in nor refused");
                let mut transaction = connection.begin_with(DB::BEGIN).await.unwrap();
                match check(&mut transaction, NAME, token).await {
                    Ok(()) => {
                        DB::run(&mut transaction, &format!("INSERT INTO log (token) VALUES ({token})")).await.unwrap();
                        transaction.commit().await.unwrap();
                        let_in.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    Err(FenceError::Stale { highest, .. }) => {
                        assert!(highest > token);
                        transaction.rollback().await.unwrap();
                        refused.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    Err(FenceError::Conflict(_)) => transaction.rollback().await.unwrap(),
                    Err(other) => panic!("{other}"),
                }
            }
        }
    });
    join_all(workers).await;
    let log = DB::numbers(&mut *database.connection().await, "SELECT token FROM log ORDER BY id").await.unwrap();
    assert_eq!(log.len() as u64, let_in.load(Ordering::Relaxed));
    assert!(log.is_sorted(), "{log:?}");
    let different = log.chunk_by(|a, b| a == b).count();
    println!("{} let in under {different} tokens, {refused:?} refused", log.len());
    assert!(different > 10 && refused.load(Ordering::Relaxed) > 0, "nothing was contested");
}

#[tokio::test]
async fn what_is_committed_in_postgres_has_rising_tokens() {
    what_is_committed_has_rising_tokens::<Postgres>("CREATE TABLE log (id bigserial PRIMARY KEY, token bigint)").await;
}

async fn what_is_committed_has_rising_tokens_in_order<F: Flavour>() {
    let create = "CREATE TABLE log (id BIGINT AUTO_INCREMENT PRIMARY KEY, token BIGINT)";
    what_is_committed_has_rising_tokens::<MySqlServer<F>>(create).await;
}

#[tokio::test]
async fn what_is_committed_in_sqlite_has_rising_tokens() {
    let create = "CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER)";
    what_is_committed_has_rising_tokens::<Sqlite>(create).await;
}
