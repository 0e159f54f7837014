//! The network between one client and one server.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::step::Cut;

/// The size of a read.
const PIECE: usize = 16 * 1024;

/// How often a free port is tried.
const TRIES: usize = 10;

/// The state of the network: intact, or cut.
type Disruption = Option<Cut>;

/// A relay on a port of its own, in front of one server.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    disruption: watch::Sender<Disruption>,
    connections: Connections,
    accepting: JoinHandle<()>,
}

/// The open connections, each with the time of the server's last traffic.
#[derive(Clone, Debug, Default)]
struct Connections(Arc<Mutex<BTreeMap<u64, Instant>>>);

impl Connections {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay {
    /// Starts a relay to a port of 127.0.0.1.
    ///
    /// # Errors
    /// If it cannot listen.
    pub async fn start(to: u16) -> anyhow::Result<Self> {
        let listener = listen().await?;
        let port = listener.local_addr()?.port();
        let (disruption, connections) = (watch::Sender::new(None), Connections::default());
        let accepting = tokio::spawn(accept(
            listener,
            (Ipv4Addr::LOCALHOST, to).into(),
            disruption.subscribe(),
            connections.clone(),
        ));
        Ok(Self { port, disruption, connections, accepting })
    }

    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Stops all traffic from now on.
    pub fn cut(&self, how: Cut) {
        self.disruption.send_replace(Some(how));
    }

    /// Lets all traffic pass from now on, including the held back data.
    pub fn heal(&self) {
        self.disruption.send_replace(None);
    }

    /// The time of the server's last traffic on an open connection, if there is one.
    #[must_use]
    pub fn last_traffic(&self) -> Option<Instant> {
        self.connections.lock().values().max().copied()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
        self.disruption.send_replace(Some(Cut::Close));
    }
}

/// Listens on a free port. Other programs may take it first, so it tries several.
async fn listen() -> anyhow::Result<TcpListener> {
    for _ in 1..TRIES {
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, tenure_harness::free_port()?)).await {
            return Ok(listener);
        }
    }
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, tenure_harness::free_port()?)).await?)
}

async fn accept(
    listener: TcpListener,
    to: SocketAddr,
    disruption: watch::Receiver<Disruption>,
    connections: Connections,
) {
    let mut number = 0;
    while let Ok((client, _)) = listener.accept().await {
        if *disruption.borrow() == Some(Cut::Close) {
            continue;
        }
        number += 1;
        tokio::spawn(relay(client, to, disruption.clone(), connections.clone(), number));
    }
}

/// Relays one connection until either side or a cut ends it.
async fn relay(
    client: TcpStream,
    to: SocketAddr,
    disruption: watch::Receiver<Disruption>,
    connections: Connections,
    number: u64,
) {
    let Ok(server) = TcpStream::connect(to).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    connections.lock().insert(number, Instant::now());
    let on_traffic = || {
        connections.lock().insert(number, Instant::now());
    };
    let mut closed = disruption.clone();
    tokio::select! {
        () = async { tokio::join!(
            forward(from_client, to_server, disruption.clone(), &[Cut::Hold], || {}),
            forward(from_server, to_client, disruption, &[Cut::Hold, Cut::HoldReplies], on_traffic),
        ); } => {}
        _ = closed.wait_for(|disruption| *disruption == Some(Cut::Close)) => {}
    }
    connections.lock().remove(&number);
}

/// Relays one direction until its end. What one of the `holds` holds back is delivered later, in order, and so is the
/// end.
async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut disruption: watch::Receiver<Disruption>,
    holds: &[Cut],
    on_traffic: impl Fn(),
) {
    let mut piece = vec![0; PIECE];
    loop {
        let length = from.read(&mut piece).await.unwrap_or(0);
        if disruption.wait_for(|disruption| !disruption.is_some_and(|cut| holds.contains(&cut))).await.is_err() {
            return;
        }
        if length == 0 || to.write_all(&piece[..length]).await.is_err() {
            // The shutdown passes the end on to the other side, which then ends its direction.
            let _ = to.shutdown().await;
            return;
        }
        on_traffic();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(10);

    /// An echo server, a relay in front of it, and a connection.
    async fn echo() -> (Relay, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let relay = Relay::start(listener.local_addr().unwrap().port()).await.unwrap();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = connection.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        let connection = connect(&relay).await;
        (relay, connection)
    }

    async fn connect(relay: &Relay) -> TcpStream {
        TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port)).await.unwrap()
    }

    async fn answer(connection: &mut TcpStream) -> Option<u8> {
        tokio::time::timeout(LONG, connection.read_u8()).await.expect("a reply or an end").ok()
    }

    #[tokio::test]
    async fn held_back_data_is_delivered_after_healing() {
        let (relay, mut connection) = echo().await;
        connection.write_u8(1).await.unwrap();
        assert_eq!(answer(&mut connection).await, Some(1));
        relay.cut(Cut::Hold);
        connection.write_u8(2).await.unwrap();
        let early = tokio::time::timeout(Duration::from_millis(100), connection.read_u8()).await;
        assert!(early.is_err(), "data was delivered: {early:?}");
        relay.heal();
        assert_eq!(answer(&mut connection).await, Some(2));
    }

    #[tokio::test]
    async fn replies_alone_are_held_back() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let relay = Relay::start(listener.local_addr().unwrap().port()).await.unwrap();
        let mut client = connect(&relay).await;
        let (mut server, _) = listener.accept().await.unwrap();
        relay.cut(Cut::HoldReplies);
        client.write_u8(1).await.unwrap();
        assert_eq!(answer(&mut server).await, Some(1));
        server.write_u8(2).await.unwrap();
        let early = tokio::time::timeout(Duration::from_millis(100), client.read_u8()).await;
        assert!(early.is_err(), "data was delivered: {early:?}");
        relay.heal();
        assert_eq!(answer(&mut client).await, Some(2));
    }

    #[tokio::test]
    async fn closed_relay_ends_connections_and_accepts_none_until_healed() {
        let (relay, mut connection) = echo().await;
        connection.write_u8(1).await.unwrap();
        assert_eq!(answer(&mut connection).await, Some(1));
        relay.cut(Cut::Close);
        assert_eq!(answer(&mut connection).await, None);
        assert_eq!(answer(&mut connect(&relay).await).await, None);
        relay.heal();
        let mut other = connect(&relay).await;
        other.write_u8(3).await.unwrap();
        assert_eq!(answer(&mut other).await, Some(3));
    }

    #[tokio::test]
    async fn last_traffic_is_that_of_open_connections() {
        let (relay, mut connection) = echo().await;
        connection.write_u8(1).await.unwrap();
        answer(&mut connection).await;
        let first = relay.last_traffic().expect("a connection is open");
        let mut other = connect(&relay).await;
        other.write_u8(1).await.unwrap();
        answer(&mut other).await;
        assert!(relay.last_traffic().is_some_and(|last| last > first));
        drop((connection, other));
        tenure_harness::wait_until(LONG, "both have ended", async || relay.last_traffic().is_none()).await;
    }

    #[tokio::test]
    async fn absent_server_ends_the_connection() {
        let relay = Relay::start(tenure_harness::free_port().unwrap()).await.unwrap();
        assert_eq!(answer(&mut connect(&relay).await).await, None);
    }
}
