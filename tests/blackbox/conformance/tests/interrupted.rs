//! Databases that cancel the first query of a new connection. An unanswered query leaves its value unknown.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_core::testing::filler;
use tenure_core::{Recorded, Revision, ServerId};
use tenure_harness::{MariaDb, Postgres};
use tenure_server::store::{Batch, StoreOptions, migrate, open};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// PostgreSQL's answer to a cancelled statement, and its readiness for the next.
fn canceled() -> Vec<u8> {
    let mut answer = postgres_error("ERROR", "57014", "canceling statement due to user request");
    answer.extend(b"Z\0\0\0\x05I");
    answer
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

/// MariaDB's answer to a killed statement: error 1317.
fn interrupted() -> Vec<u8> {
    let error = b"\xff\x25\x05#70100Query execution was interrupted";
    let length = u8::try_from(error.len()).expect("it is short");
    [&[length, 0, 0, 1], &error[..]].concat()
}

/// A proxy of a database, which can answer a query itself.
struct Way {
    port: u16,
    interrupts: Arc<AtomicBool>,
}

impl Way {
    /// Starts a proxy of the database on a port of this machine; queries that contain `words` get this answer.
    async fn to(database: u16, words: &'static str, answer: Vec<u8>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let interrupts = Arc::new(AtomicBool::new(true));
        let flag = interrupts.clone();
        tokio::spawn(async move {
            while let Ok((asker, _)) = listener.accept().await {
                tokio::spawn(lead(asker, database, words, answer.clone(), flag.clone()));
            }
        });
        Self { port, interrupts }
    }
}

async fn lead(
    asker: TcpStream,
    database: u16,
    words: &'static str,
    answer: Vec<u8>,
    interrupts: Arc<AtomicBool>,
) -> std::io::Result<()> {
    let (mut asks, mut hears) = asker.into_split();
    let (mut answers, mut asked) = TcpStream::connect((Ipv4Addr::LOCALHOST, database)).await?.into_split();
    let (say, mut said) = tokio::sync::mpsc::unbounded_channel();
    let own = say.clone();
    tokio::spawn(async move {
        let mut piece = vec![0; 1 << 16];
        while let Ok(length @ 1..) = answers.read(&mut piece).await {
            let _ = say.send(piece[..length].to_vec());
        }
    });
    tokio::spawn(async move {
        while let Some(piece) = said.recv().await {
            hears.write_all(&piece).await?;
        }
        std::io::Result::Ok(())
    });
    let mut piece = vec![0; 1 << 16];
    while let length @ 1.. = asks.read(&mut piece).await? {
        let is_asked = piece[..length].windows(words.len()).any(|found| found == words.as_bytes());
        if is_asked && interrupts.load(Ordering::SeqCst) {
            let _ = own.send(answer.clone());
        } else {
            asked.write_all(&piece[..length]).await?;
        }
    }
    Ok(())
}

fn batch() -> Batch {
    let events = vec![Recorded { revision: Revision(1), event: filler(1) }];
    Batch { namespace: "default".into(), previous: Revision(0), events, server: ServerId(1), number: 1, at_ms: 0 }
}

/// The store does not open while the query that contains these words is interrupted, and has the same identity as
/// before when it is not.
async fn a_connection_waits_for_its_answer(url: &str, port: u16, words: &'static str, answer: Vec<u8>) {
    let options = StoreOptions::new(url);
    migrate(&options).await.expect("the tables are made");
    open(&options).await.expect("it opens").append(&batch(), false).await.expect("the append is accepted");

    let way = Way::to(port, words, answer).await;
    let options = StoreOptions::new(url.replace(&format!(":{port}/"), &format!(":{}/", way.port)));
    if let Ok(store) = open(&options).await {
        let head = store.read("default", Revision(0), 1).await.map(|tail| tail.head);
        panic!("a connection that does not know \"{words}\" was believed: {head:?}");
    }
    way.interrupts.store(false, Ordering::SeqCst);
    let store = open(&options).await.expect("it opens");
    assert!(store.read("default", Revision(0), 1).await.expect("it can be read").head.intact, "nothing was lost");
}

async fn on_postgres(words: &'static str, answer: Vec<u8>) {
    let postgres = Postgres::shared().await.expect("PostgreSQL starts");
    let url = postgres.create_database().await.expect("a database is made");
    a_connection_waits_for_its_answer(&url, postgres.port(), words, answer).await;
}

#[tokio::test]
async fn postgres_says_who_it_is_or_is_not_believed() {
    on_postgres("pg_control_system()", canceled()).await;
    on_postgres("pg_control_system()", terminated()).await;
}

#[tokio::test]
async fn postgres_says_how_durable_it_is_or_is_not_believed() {
    on_postgres("synchronous_commit", canceled()).await;
    on_postgres("synchronous_commit", terminated()).await;
}

#[tokio::test]
async fn mariadb_says_who_it_is_or_is_not_believed() {
    let mariadb = MariaDb::shared().await.expect("MariaDB starts");
    for words in ["@@server_uuid", "@@server_uid"] {
        let url = mariadb.create_database().await.expect("a database is made");
        a_connection_waits_for_its_answer(&url, mariadb.port(), words, interrupted()).await;
    }
}
