//! A TCP proxy that behaves like a bad network: it cuts connections, refuses new ones, and delays, throttles or drops
//! data in either direction. Delayed data arrives late or never, but always in order.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, watch};

/// The buffer size.
const BUFFER_SIZE: usize = 16 * 1024;

/// The current state of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Direction {
    /// Nothing passes. Data sent in the meantime waits.
    pub is_blocked: bool,
    /// The added delay.
    pub delay: Duration,
    /// The maximum rate in bytes per second; 0: unlimited.
    pub rate: u32,
}

/// The current state of a proxy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions {
    /// It refuses connections.
    pub refuses: bool,
    /// The direction of requests.
    pub to_server: Direction,
    /// The direction of responses.
    pub to_client: Direction,
}

/// A proxy in front of one server.
#[derive(Clone, Debug)]
pub struct Proxy {
    port: u16,
    conditions: watch::Sender<Conditions>,
    target: watch::Sender<Option<SocketAddr>>,
    cuts: broadcast::Sender<()>,
}

impl Proxy {
    /// Starts a proxy that has no target yet.
    ///
    /// # Errors
    /// If it cannot listen.
    pub async fn start() -> anyhow::Result<Self> {
        let port = tenure_harness::free_port()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let proxy = Self {
            port,
            conditions: watch::Sender::default(),
            target: watch::Sender::default(),
            cuts: broadcast::Sender::new(1),
        };
        let accepting = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Some(target) = *accepting.target.borrow() else { continue };
                if accepting.conditions.borrow().refuses {
                    continue;
                }
                let (cuts, conditions) = (accepting.cuts.subscribe(), accepting.conditions.subscribe());
                tokio::spawn(serve(client, target, cuts, conditions));
            }
        });
        Ok(proxy)
    }

    /// Its listening port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL for clients of Tenure.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Directs new connections to this port of 127.0.0.1.
    pub fn set_target(&self, port: u16) {
        self.target.send_replace(Some((Ipv4Addr::LOCALHOST, port).into()));
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        // Fails if there is no connection.
        let _ = self.cuts.send(());
    }

    /// Changes its state.
    pub fn set(&self, conditions: Conditions) {
        self.conditions.send_replace(conditions);
    }
}

async fn serve(
    client: TcpStream,
    target: SocketAddr,
    mut cuts: broadcast::Receiver<()>,
    conditions: watch::Receiver<Conditions>,
) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = async { tokio::join!(
            forward(from_client, to_server, conditions.clone(), |conditions| conditions.to_server),
            forward(from_server, to_client, conditions, |conditions| conditions.to_client),
        ); } => {}
        _ = cuts.recv() => {}
    }
}

/// Forwards data in one direction, until its end.
async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut conditions: watch::Receiver<Conditions>,
    direction: impl Fn(&Conditions) -> Direction,
) {
    let mut buffer = vec![0; BUFFER_SIZE];
    while let Ok(length) = from.read(&mut buffer).await {
        let now = match conditions.wait_for(|conditions| !direction(conditions).is_blocked).await {
            Ok(conditions) => direction(&conditions),
            Err(_) => return,
        };
        let takes = match now.rate {
            0 => Duration::ZERO,
            rate => Duration::from_secs_f64(length as f64 / f64::from(rate)),
        };
        if !(now.delay + takes).is_zero() {
            tokio::time::sleep(now.delay + takes).await;
        }
        if length == 0 || to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proxy in front of an echo server, and a connection through it.
    async fn echo() -> (Proxy, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let proxy = Proxy::start().await.expect("a proxy");
        proxy.set_target(listener.local_addr().expect("an address").port());
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = connection.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        let connection = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).await.expect("a connection");
        (proxy, connection)
    }

    async fn ask(connection: &mut TcpStream, time: Duration) -> std::io::Result<bool> {
        connection.write_all(b"?").await?;
        match tokio::time::timeout(time, connection.read_exact(&mut [0])).await {
            Ok(read) => read.map(|_| true),
            Err(_) => Ok(false),
        }
    }

    #[tokio::test]
    async fn blocked_data_arrives_after_the_block() {
        let (proxy, mut connection) = echo().await;
        assert!(ask(&mut connection, Duration::from_secs(5)).await.expect("an answer"));
        let blocked = Direction { is_blocked: true, ..Direction::default() };
        for conditions in [
            Conditions { to_server: blocked, ..Conditions::default() },
            Conditions { to_client: blocked, ..Conditions::default() },
        ] {
            proxy.set(conditions);
            assert!(!ask(&mut connection, Duration::from_millis(50)).await.expect("no end"));
            proxy.set(Conditions::default());
            let late = tokio::time::timeout(Duration::from_secs(5), connection.read_exact(&mut [0])).await;
            late.expect("late data").expect("an answer");
        }
    }

    #[tokio::test]
    async fn cut_ends_connections_and_refusal_prevents_new_ones() {
        let (proxy, mut connection) = echo().await;
        assert!(ask(&mut connection, Duration::from_secs(5)).await.expect("an answer"));
        proxy.set(Conditions { refuses: true, ..Conditions::default() });
        proxy.cut();
        assert!(ask(&mut connection, Duration::from_secs(5)).await.is_err());
        let mut other = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).await.expect("a connection");
        assert!(ask(&mut other, Duration::from_secs(5)).await.is_err());
    }
}
