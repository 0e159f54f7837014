//! A proxy between a server and its database, which a test can break.

use std::net::Ipv4Addr;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The address prefix of test databases.
const HOST: &str = "127.0.0.1:";

/// A connection to a database, which a test can break.
#[derive(Debug)]
pub struct DatabaseProxy {
    url: String,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Forward,
    /// Requests reach the database, but its replies are held back.
    HoldReplies,
    Cut,
}

impl DatabaseProxy {
    /// Creates a proxy to the database at this URL.
    ///
    /// # Errors
    /// If it cannot listen, or the URL is not one of a database that the harness started.
    pub async fn start(url: &str) -> anyhow::Result<Self> {
        let (before, rest) = url.split_once(HOST).context("not a database of the harness")?;
        let (port, after) = rest.split_once('/').context("no database name")?;
        let port: u16 = port.parse()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("{before}{HOST}{}/{after}", listener.local_addr()?.port());
        let state = watch::Sender::new(State::Forward);
        let states = state.clone();
        tokio::spawn(async move {
            while let Ok((server, _)) = listener.accept().await {
                tokio::spawn(connect(server, port, states.subscribe()));
            }
        });
        Ok(Self { url, state })
    }

    /// The URL of the database through this proxy.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on the database receives requests, but its replies are held back.
    pub fn hold_replies(&self) {
        self.state.send_replace(State::HoldReplies);
    }

    /// Forwards everything again, on new connections.
    pub fn heal(&self) {
        self.state.send_replace(State::Forward);
    }

    /// From now on nothing is forwarded.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }
}

async fn connect(server: TcpStream, port: u16, mut state: watch::Receiver<State>) -> anyhow::Result<()> {
    if *state.borrow() == State::Cut {
        return Ok(());
    }
    let database = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    server.set_nodelay(true)?;
    database.set_nodelay(true)?;
    let (mut from_server, to_server) = server.into_split();
    let (from_database, mut to_database) = database.into_split();
    let replies = forward_replies(from_database, to_server, state.clone());
    tokio::select! {
        sent = copy(&mut from_server, &mut to_database) => drop(sent),
        forwarded = replies => forwarded?,
        _ = state.wait_for(|state| *state == State::Cut) => {}
    }
    Ok(())
}

async fn forward_replies(
    mut from_database: OwnedReadHalf,
    mut to_server: OwnedWriteHalf,
    mut state: watch::Receiver<State>,
) -> anyhow::Result<()> {
    let mut reply = vec![0; 64 * 1024];
    loop {
        let count = from_database.read(&mut reply).await?;
        if count == 0 {
            return Ok(());
        }
        state.wait_for(|state| *state == State::Forward).await?;
        to_server.write_all(&reply[..count]).await?;
    }
}
