//! Databases that cancel a query that the store sends on each new connection. Without the result the store must not use
//! the connection.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_core::testing::filler;
use tenure_core::{Recorded, Revision, ServerId};
use tenure_harness::{MariaDb, Postgres};
use tenure_server::store::{Batch, StoreOptions, migrate, open};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

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

/// MariaDB's reply to a killed statement: error 1317.
fn interrupted() -> Vec<u8> {
    let error = b"\xff\x25\x05#70100Query execution was interrupted";
    let length = u8::try_from(error.len()).expect("it is short");
    [&[length, 0, 0, 1], &error[..]].concat()
}

/// A proxy of a database, which can reply to a query itself.
struct QueryProxy {
    port: u16,
    interrupts: Arc<AtomicBool>,
}

impl QueryProxy {
    /// Starts a proxy of the database on a port of this machine; queries that contain `pattern` get this reply.
    async fn start(database: u16, pattern: &'static str, reply: Vec<u8>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let interrupts = Arc::new(AtomicBool::new(true));
        let flag = interrupts.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, database, pattern, reply.clone(), flag.clone()));
            }
        });
        Self { port, interrupts }
    }
}

async fn forward(
    client: TcpStream,
    database: u16,
    pattern: &'static str,
    reply: Vec<u8>,
    interrupts: Arc<AtomicBool>,
) -> std::io::Result<()> {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_database, mut to_database) = TcpStream::connect((Ipv4Addr::LOCALHOST, database)).await?.into_split();
    let (replies, mut pending) = tokio::sync::mpsc::unbounded_channel();
    let own_replies = replies.clone();
    tokio::spawn(async move {
        let mut piece = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from_database.read(&mut piece).await {
            let _ = replies.send(piece[..length].to_vec());
        }
    });
    tokio::spawn(async move {
        while let Some(piece) = pending.recv().await {
            to_client.write_all(&piece).await?;
        }
        std::io::Result::Ok(())
    });
    let mut piece = vec![0; 1 << 16];
    while let length @ 1.. = from_client.read(&mut piece).await? {
        let matches = piece[..length].windows(pattern.len()).any(|found| found == pattern.as_bytes());
        if matches && interrupts.load(Ordering::SeqCst) {
            let _ = own_replies.send(reply.clone());
        } else {
            to_database.write_all(&piece[..length]).await?;
        }
    }
    Ok(())
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
    let options = StoreOptions::new(url.replace(&format!(":{port}/"), &format!(":{}/", proxy.port)));
    if let Ok(store) = open(&options).await {
        let head = store.read("default", Revision(0), 1).await.map(|tail| tail.head);
        panic!("the store opened without the result of \"{pattern}\": {head:?}");
    }
    proxy.interrupts.store(false, Ordering::SeqCst);
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

#[tokio::test]
async fn mariadb_connection_without_identity_is_rejected() {
    let mariadb = MariaDb::shared().await.expect("MariaDB starts");
    for pattern in ["@@server_uuid", "@@server_uid"] {
        let url = mariadb.create_database().await.expect("a database is created");
        interrupted_query_keeps_the_store_closed(&url, mariadb.port(), pattern, interrupted()).await;
    }
}
