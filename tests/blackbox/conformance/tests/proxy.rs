//! A proxy of a database, for queries that the database does not answer, or does not receive.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A proxy of a database, which can reply to a query itself.
pub struct QueryProxy {
    database: u16,
    port: u16,
    state: Arc<State>,
}

/// What a proxy does with a query that contains the pattern.
struct State {
    /// The port of the database that new connections lead to.
    database: AtomicU16,
    pattern: &'static str,
    reply: Vec<u8>,
    interrupts: AtomicBool,
    has_interrupted: AtomicBool,
}

impl QueryProxy {
    /// Starts a proxy of the database on a port of this machine; queries that contain `pattern` get this reply. If that
    /// is empty, nothing more of the client arrives, not even that it ends.
    pub async fn start(database: u16, pattern: &'static str, reply: Vec<u8>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let (interrupts, has_interrupted) = (AtomicBool::new(true), AtomicBool::new(false));
        let state = Arc::new(State { database: AtomicU16::new(database), pattern, reply, interrupts, has_interrupted });
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, shared.clone()));
            }
        });
        Self { database, port, state }
    }

    /// The URL of the database by way of the proxy.
    pub fn url(&self, url: &str) -> String {
        url.replace(&format!(":{}/", self.database), &format!(":{}/", self.port))
    }

    /// New connections lead to this database from now on; the others stay where they are.
    pub fn move_to(&self, database: u16) {
        self.state.database.store(database, Ordering::SeqCst);
    }

    /// Whether it interrupts queries from now on. It does so at first.
    pub fn set_interrupts(&self, interrupts: bool) {
        self.state.interrupts.store(interrupts, Ordering::SeqCst);
    }

    /// Whether it has interrupted a query.
    pub fn has_interrupted(&self) -> bool {
        self.state.has_interrupted.load(Ordering::SeqCst)
    }
}

async fn forward(client: TcpStream, state: Arc<State>) -> std::io::Result<()> {
    let (mut from_client, mut to_client) = client.into_split();
    let database = state.database.load(Ordering::SeqCst);
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
        let matches = piece[..length].windows(state.pattern.len()).any(|found| found == state.pattern.as_bytes());
        if matches && state.interrupts.load(Ordering::SeqCst) {
            state.has_interrupted.store(true, Ordering::SeqCst);
            if state.reply.is_empty() {
                std::future::pending::<()>().await;
            }
            let _ = own_replies.send(state.reply.clone());
        } else {
            to_database.write_all(&piece[..length]).await?;
        }
    }
    Ok(())
}
