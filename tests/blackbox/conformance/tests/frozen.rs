//! Servers that are frozen while they save rows, which must not delay the others.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::testing::filler;
use tenure_core::{Recorded, Revision, ServerId};
use tenure_harness::{Flavour, MariaDbPrograms, MySqlServer, Postgres, on_mariadb_and_mysql, wait_until};
use tenure_server::store::{Batch, RowChanges, Store, StoreOptions, migrate, open};

use crate::proxy::QueryProxy;

const NAMESPACE: &str = "default";

/// Longer than any operation in these tests.
const DEADLINE: Duration = Duration::from_secs(60);

fn batch(previous: u64) -> Batch {
    let events = vec![Recorded { revision: Revision(previous + 1), event: filler(1) }];
    let (namespace, previous) = (NAMESPACE.into(), Revision(previous));
    Batch { namespace, previous, events, server: ServerId(1), number: previous.0, at_ms: 0 }
}

/// The rows of the first batch.
fn changes() -> RowChanges {
    RowChanges { to: Revision(1), ..RowChanges::default() }
}

/// A database with a batch, its port, and a part of the message that commits a transaction.
struct Database {
    url: String,
    port: u16,
    commit: &'static str,
}

impl Database {
    async fn postgres() -> Self {
        let postgres = Postgres::shared().await.expect("PostgreSQL starts");
        let url = postgres.create_database().await.expect("a database is created");
        Self { url, port: postgres.port(), commit: "COMMIT\0" }
    }

    async fn mysql<F: Flavour>() -> Self {
        let server = MySqlServer::<F>::shared().await.expect("it starts");
        let url = server.create_database().await.expect("a database is created");
        // The proxy reads what is sent, which MySQL would have encrypted.
        Self { url: url + "?ssl-mode=DISABLED", port: server.port(), commit: "\u{3}COMMIT" }
    }

    /// Has a server with this timeout frozen before it commits its rows. Returns another server's store.
    async fn with_frozen_server(&self, statement_timeout: Duration) -> Arc<dyn Store> {
        let options = StoreOptions::new(&self.url);
        migrate(&options).await.expect("the tables are created");
        let store = open(&options).await.expect("it opens");
        store.append(&batch(0), false).await.expect("the first append is accepted");

        let proxy = QueryProxy::start(self.port, self.commit, Vec::new()).await;
        let options = StoreOptions { statement_timeout, ..StoreOptions::new(proxy.url(&self.url)) };
        let frozen = open(&options).await.expect("it opens");
        tokio::spawn(async move { frozen.save(NAMESPACE, &changes()).await });
        wait_until(DEADLINE, "the commit", async || proxy.has_interrupted()).await;
        store
    }
}

async fn delays_no_append(database: Database) {
    let store = database.with_frozen_server(10 * DEADLINE).await;
    store.append(&batch(1), false).await.expect("the append does not wait for the frozen server");
    let head = store.read(NAMESPACE, Revision(0), 1).await.expect("the log can be read").head;
    assert_eq!((head.revision, head.rows_revision), (Revision(2), Revision(0)));
}

#[tokio::test]
async fn frozen_save_in_postgres_delays_no_append() {
    delays_no_append(Database::postgres().await).await;
}

async fn frozen_save_delays_no_append<F: Flavour>() {
    delays_no_append(Database::mysql::<F>().await).await;
}

on_mariadb_and_mysql!(frozen_save_delays_no_append);

async fn is_undone(database: Database) {
    let store = database.with_frozen_server(Duration::from_secs(1)).await;
    wait_until(DEADLINE, "rows saved", async || store.save(NAMESPACE, &changes()).await.is_ok()).await;
    let head = store.read(NAMESPACE, Revision(0), 1).await.expect("the log can be read").head;
    assert_eq!(head.rows_revision, Revision(1));
}

#[tokio::test]
async fn frozen_save_in_postgres_is_undone() {
    is_undone(Database::postgres().await).await;
}

#[tokio::test]
async fn frozen_save_in_mariadb_is_undone() {
    is_undone(Database::mysql::<MariaDbPrograms>().await).await;
}
