//! Accepts client and server connections over TCP or TLS, and limits them. TLS files are reloaded when they change.

mod account;
pub(crate) mod answers;
mod calls;
mod certificate;
mod connection_limiter;
pub(crate) mod cooperative_io;
pub(crate) mod counting;
pub(crate) mod frames;
pub(crate) mod grpc_only;
mod io;
mod limiter;
pub(crate) mod metrics;
pub mod peer_tls;
mod plaintext;
mod tls;

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use rustls::server::Acceptor;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::TcpIncoming;

pub(crate) use self::account::{Account, Accounts, Incomplete, Unsent};
pub use self::certificate::certificate_name;
pub use self::connection_limiter::ConnectionLimits;
pub use self::io::{Connection, Peer};
pub(crate) use self::limiter::{Limiter, Permit};
pub use self::tls::{Tls, TlsError, TlsFiles};

use self::connection_limiter::{ConnectionLimiter, ConnectionPermit};
use self::io::TLS_HANDSHAKE;
use self::peer_tls::{PROTOCOL, Proof};
use crate::transport::metrics::Connections;

/// Timeout of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// The maximum number of concurrent handshakes, with a lower limit per address; further connections wait.
const HANDSHAKES: usize = 1_024;

/// The maximum wait for a handshake slot.
const PERMIT_WAIT: Duration = Duration::from_secs(10);

/// The pause after a failed accept, usually for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(20);

/// The capacity of the queue of connections ready to be served.
const READY: usize = 64;

/// The listen backlog, as far as the system allows it (`net.core.somaxconn`): after a server has failed, all clients
/// may reconnect at once. A client that does not fit gets no error and appears to be connected for seconds.
const QUEUE: u32 = 4_096;

/// Listens on this address.
///
/// # Errors
/// If the address cannot be bound.
pub fn on(address: SocketAddr) -> Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Allows binding while connections of a previous server process linger in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(QUEUE)
}

/// Incoming connections, ready to be served. Over TLS, servers are distinguished from clients by ALPN. A peer is
/// disconnected if it does not speak TLS where required, sends nothing, or exceeds a limit; no other connection waits
/// for it.
pub(crate) fn connections(
    listener: TcpListener,
    tls: Option<Configs>,
    limits: ConnectionLimits,
    counts: Connections,
    accounts: Accounts,
) -> impl Stream<Item = Result<Connection>> + Send + 'static {
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let limiter = ConnectionLimiter::new(limits, counts, accounts);
    match tls {
        None => {
            let admit = move |stream: Result<TcpStream>| {
                let admitted =
                    stream.map(|stream| Some(Connection::plain(limiter.acquire(stream.peer_addr().ok())?, stream)));
                std::future::ready(admitted.transpose())
            };
            incoming.filter_map(admit).boxed()
        }
        Some(configs) => {
            let (ready, connections) = mpsc::channel(READY);
            tokio::spawn(shake_hands(incoming, configs, limiter, ready));
            ReceiverStream::new(connections).map(Ok).boxed()
        }
    }
}

/// The TLS configurations for clients and for servers.
type Configs = (Arc<Tls>, Arc<Proof>);

async fn shake_hands(
    mut incoming: TcpIncoming,
    configs: Configs,
    limiter: Arc<ConnectionLimiter>,
    ready: mpsc::Sender<Connection>,
) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        let stream = tokio::select! {
            stream = incoming.next() => stream,
            () = ready.closed() => return,
        };
        let stream = match stream {
            Some(Ok(stream)) => stream,
            Some(Err(error)) => {
                tracing::debug!(%error, "cannot accept a connection");
                sleep(PAUSE).await;
                continue;
            }
            None => return,
        };
        let Some(permit) = limiter.acquire(stream.peer_addr().ok()) else { continue };
        let (handshakes, ready) = (handshakes.clone(), ready.clone());
        let (configs, of_address) = (configs.clone(), permit.handshakes());
        tokio::spawn(async move {
            let permits =
                async { Some((of_address.acquire_owned().await.ok()?, handshakes.acquire_owned().await.ok()?)) };
            let Ok(Some(_permits)) = timeout(PERMIT_WAIT, permits).await else {
                tracing::debug!("too many TLS handshakes in progress");
                permit.note_failed_handshake();
                return;
            };
            match handshake(&configs, stream, &permit).await {
                // A send fails only if the server has stopped.
                Ok(stream) => drop(ready.send(Connection::encrypted(permit, stream)).await),
                Err(error) => {
                    tracing::debug!(%error, "a TLS handshake failed");
                    permit.note_failed_handshake();
                }
            }
        });
    }
}

async fn handshake(
    (tls, proof): &Configs,
    stream: TcpStream,
    permit: &ConnectionPermit,
) -> Result<TlsStream<TcpStream>> {
    let shaking = async {
        let mut first = [0];
        if stream.peek(&mut first).await? == 1 && first != [TLS_HANDSHAKE] {
            permit.note_mismatch("a client speaks plaintext, but this server expects TLS: use https://");
            plaintext::refuse(stream).await?;
            return Err(Error::new(ErrorKind::InvalidData, "the client speaks plaintext"));
        }
        let begun = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        let is_server = begun.client_hello().alpn().is_some_and(|mut spoken| spoken.any(|name| name == PROTOCOL));
        let config = if is_server { proof.server() } else { tls.current() };
        begun.into_stream(config).await
    };
    let late = |_| Error::new(ErrorKind::TimedOut, format!("not completed within {HANDSHAKE:?}"));
    timeout(HANDSHAKE, shaking).await.map_err(late)?
}
