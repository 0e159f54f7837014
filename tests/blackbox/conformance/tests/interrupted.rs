//! Databases that cancel a query that the store sends on each new connection. Without the result the store must not use
//! the connection.

use tenure_core::testing::filler;
use tenure_core::{Recorded, Revision, ServerId};
use tenure_harness::{Flavour, MariaDbPrograms, MySqlPrograms, MySqlServer, Postgres};
use tenure_server::store::{Batch, StoreOptions, migrate, open};

use crate::proxy::QueryProxy;

/// PostgreSQL's reply to a cancelled statement, and its readiness for the next.
fn canceled() -> Vec<u8> {
    let mut reply = postgres_error("ERROR", "57014", "canceling statement due to user request");
    reply.extend(b"Z\0\0\0\x05I");
    reply
}

/// PostgreSQL's message before it ends a connection by an administrator's order.
fn terminated() -> Vec<u8> {
    postgres_error("FATAL", "57P01", "terminating connection due to administrator command")
}

fn postgres_error(severity: &str, code: &str, message: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{code}\0M{message}\0\0");
    let length = u32::try_from(fields.len() + 4).expect("it is short").to_be_bytes();
    [b"E", &length[..], fields.as_bytes()].concat()
}

/// MySQL's and MariaDB's reply to a killed statement: error 1317.
fn interrupted() -> Vec<u8> {
    let error = b"\xff\x25\x05#70100Query execution was interrupted";
    let length = u8::try_from(error.len()).expect("it is short");
    [&[length, 0, 0, 1], &error[..]].concat()
}

fn batch() -> Batch {
    let events = vec![Recorded { revision: Revision(1), event: filler(1) }];
    Batch { namespace: "default".into(), previous: Revision(0), events, server: ServerId(1), number: 1, at_ms: 0 }
}

/// The store does not open while the query that contains `pattern` is interrupted, and has the same identity as before
/// when it is not.
async fn interrupted_query_keeps_the_store_closed(url: &str, port: u16, pattern: &'static str, reply: Vec<u8>) {
    let options = StoreOptions::new(url);
    migrate(&options).await.expect("the tables are created");
    open(&options).await.expect("it opens").append(&batch(), false).await.expect("the append is accepted");

    let proxy = QueryProxy::start(port, pattern, reply).await;
    let options = StoreOptions::new(proxy.url(url));
    if let Ok(store) = open(&options).await {
        let head = store.read("default", Revision(0), 1).await.map(|tail| tail.head);
        panic!("the store opened without the result of \"{pattern}\": {head:?}");
    }
    proxy.set_interrupts(false);
    let store = open(&options).await.expect("it opens");
    assert!(store.read("default", Revision(0), 1).await.expect("it can be read").head.intact, "nothing was lost");
}

async fn on_postgres(pattern: &'static str, reply: Vec<u8>) {
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is created");
    interrupted_query_keeps_the_store_closed(&url, postgres.port(), pattern, reply).await;
}

#[tokio::test]
async fn postgres_connection_without_identity_is_rejected() {
    on_postgres("pg_control_system()", canceled()).await;
    on_postgres("pg_control_system()", terminated()).await;
}

#[tokio::test]
async fn postgres_connection_without_durability_setting_is_rejected() {
    on_postgres("synchronous_commit", canceled()).await;
    on_postgres("synchronous_commit", terminated()).await;
}

/// Queries by which servers identify themselves, each of which is interrupted.
async fn on_mysql<F: Flavour>(patterns: &[&'static str]) {
    let server = MySqlServer::<F>::shared().await.expect("it starts");
    for pattern in patterns {
        // The proxy reads what is sent, which MySQL would have encrypted.
        let url = server.create_database().await.expect("a database is created") + "?ssl-mode=DISABLED";
        interrupted_query_keeps_the_store_closed(&url, server.port(), pattern, interrupted()).await;
    }
}

#[tokio::test]
async fn mariadb_connection_without_identity_is_rejected() {
    on_mysql::<MariaDbPrograms>(&["@@server_uuid", "@@server_uid"]).await;
}

#[tokio::test]
async fn mysql_connection_without_identity_is_rejected() {
    on_mysql::<MySqlPrograms>(&["@@server_uuid"]).await;
}
