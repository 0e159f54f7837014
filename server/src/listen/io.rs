//! One connection, and who is at its other end.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use crate::access::Identity;

/// Who is at the other end of a connection. Among the extensions of each request.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Its address, unless it has gone already.
    pub address: Option<SocketAddr>,
    /// Its certificates, the one that is its own first. They were verified in the handshake.
    pub certificates: Option<Arc<[CertificateDer<'static>]>>,
    /// Whom its certificate names, if it names anybody.
    pub certified: Option<Identity>,
}

/// A connection.
pub struct Connection {
    stream: Transport,
    peer: Arc<Peer>,
}

enum Transport {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl Connection {
    /// One without TLS.
    #[must_use]
    pub fn plain(stream: TcpStream) -> Self {
        let peer = Peer { address: stream.peer_addr().ok(), ..Peer::default() };
        Self { stream: Transport::Plain(stream), peer: Arc::new(peer) }
    }

    /// One over TLS.
    #[must_use]
    pub fn encrypted(stream: TlsStream<TcpStream>) -> Self {
        let (tcp, session) = stream.get_ref();
        let shown = session.peer_certificates();
        let certificates = shown.map(|chain| chain.iter().map(|one| one.clone().into_owned()).collect());
        let certified = shown.and_then(<[_]>::first).and_then(Identity::of_certificate);
        let peer = Peer { address: tcp.peer_addr().ok(), certificates, certified };
        Self { stream: Transport::Encrypted(Box::new(stream)), peer: Arc::new(peer) }
    }
}

impl Connected for Connection {
    type ConnectInfo = Arc<Peer>;

    fn connect_info(&self) -> Arc<Peer> {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Transport::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Transport::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

// Without vectored writes, see `Gathering`.
impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Transport::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Transport::Encrypted(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Transport::Plain(stream) => Pin::new(stream).poll_flush(context),
            Transport::Encrypted(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Transport::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
