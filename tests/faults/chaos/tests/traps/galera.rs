//! Tests of Galera's pitfalls: nodes commit together, but they neither make commits visible at the same time nor create
//! tables together.

use std::pin::pin;

use tenure_core::Revision;
use tenure_harness::{Galera, wait_until};
use tokio::time::timeout;

use super::{DEADLINE, batch, store};

fn url(galera: &Galera, node: usize) -> String {
    format!("mysql://root@127.0.0.1:{}/tenure", galera.port(node))
}

/// A reader that looked for a batch there after a failover would conclude that it was never committed.
#[tokio::test(flavor = "multi_thread")]
async fn lagging_node_shows_all_commits() {
    let galera = Galera::start(2).await.expect("a cluster");
    galera.execute(0, "CREATE DATABASE tenure").await.expect("the database is created");
    let writer = store(url(&galera, 0)).await;
    writer.append(&batch(Revision(0), 1), false).await.expect("it is appended");
    let other = store(url(&galera, 1)).await;
    let read = async || timeout(DEADLINE, other.read("default", Revision(0), 10)).await.expect("in time");
    assert_eq!(read().await.expect("an answer").head.revision, Revision(1));

    let held = galera.pause_replication(1).await.expect("it applies nothing");
    writer.append(&batch(Revision(1), 2), false).await.expect("it is appended");
    let mut reading = pin!(read());
    let answer = tokio::select! {
        answer = &mut reading => answer,
        () = galera.wait_for_statement(1) => {
            drop(held);
            reading.await
        }
    };
    // No answer would also be correct; an outdated one is not.
    assert!(answer.is_err() || answer.is_ok_and(|tail| tail.head.revision == Revision(2)), "outdated state");
    assert_eq!(read().await.expect("an answer").head.revision, Revision(2));
}

/// A server detects a restored dump by the creation time of the tables.
#[tokio::test(flavor = "multi_thread")]
async fn opening_another_node_declares_no_lost_history() {
    let galera = Galera::start(2).await.expect("a cluster");
    galera.execute(0, "CREATE DATABASE tenure").await.expect("the database is created");
    let writer = store(url(&galera, 0)).await;
    writer.append(&batch(Revision(0), 1), false).await.expect("it is appended");
    let created_at = async |node| {
        galera
            .ask(
                node,
                "SELECT CAST(UNIX_TIMESTAMP(create_time) AS CHAR) FROM \
        information_schema.tables WHERE table_schema = 'tenure' AND table_name = 'tenure_migrations'",
            )
            .await
            .expect("it answers")
    };
    let recreate = "SET SESSION wsrep_on = OFF; ALTER TABLE tenure.tenure_migrations FORCE";
    wait_until(DEADLINE, "one node has created the table later", async || {
        galera.execute(1, recreate).await.expect("the table is recreated");
        created_at(0).await != created_at(1).await
    })
    .await;
    for _ in 0..2 {
        for node in [1, 0] {
            store(url(&galera, node)).await;
        }
    }
    let head = writer.read("default", Revision(0), 10).await.expect("an answer").head;
    assert!(head.intact, "the database was mistaken for a restored one");
    writer.append(&batch(Revision(1), 2), false).await.expect("it is appended");
}
