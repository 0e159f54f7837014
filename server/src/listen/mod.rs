//! Connections from clients: over TCP, or over TLS whose files are read again when they change.

mod io;
mod tls;

use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::TcpIncoming;

pub use self::io::{Connection, Peer};
pub use self::tls::{Tls, TlsError, TlsFiles};

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How many handshakes are under way at once: beyond that, new connections wait to be accepted.
const HANDSHAKES: usize = 1_024;

/// How long nothing is accepted when something could not be: as a rule there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(20);

/// How many connections wait to be served.
const READY: usize = 64;

/// What comes in, ready to be served. Who does not speak TLS where it must is cut off, and nobody waits for it.
pub fn connections(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
) -> impl Stream<Item = Result<Connection>> + Send + 'static {
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    match tls {
        None => incoming.map(|stream| stream.map(Connection::plain)).boxed(),
        Some(tls) => {
            let (ready, connections) = mpsc::channel(READY);
            tokio::spawn(shake_hands(incoming, tls, ready));
            ReceiverStream::new(connections).map(Ok).boxed()
        }
    }
}

async fn shake_hands(mut incoming: TcpIncoming, tls: Arc<Tls>, ready: mpsc::Sender<Connection>) {
    let room = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        // Only fails when it is closed, which nobody does.
        let Ok(permit) = room.clone().acquire_owned().await else { return };
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
        let (acceptor, ready) = (TlsAcceptor::from(tls.current()), ready.clone());
        tokio::spawn(async move {
            match handshake(acceptor, stream).await {
                // If nobody takes it, the server has stopped.
                Ok(connection) => drop(ready.send(connection).await),
                Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
            }
            drop(permit);
        });
    }
}

async fn handshake(acceptor: TlsAcceptor, stream: TcpStream) -> Result<Connection> {
    let late = || Error::new(ErrorKind::TimedOut, format!("it took longer than {HANDSHAKE:?}"));
    let stream = timeout(HANDSHAKE, acceptor.accept(stream)).await.map_err(|_| late())??;
    Ok(Connection::encrypted(stream))
}
