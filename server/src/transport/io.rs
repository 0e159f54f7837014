//! A connection and its peer.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tonic::transport::server::Connected;

use super::account::Account;
use super::certificate::certificate_name;
use super::connection_limiter::ConnectionPermit;
use super::peer_tls;

/// The peer of a connection, stored in the extensions of each request.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// The peer's address; `None` if it has already disconnected.
    pub address: Option<SocketAddr>,
    /// The peer's certificate chain, leaf first, verified in the handshake.
    pub certificates: Option<Arc<[CertificateDer<'static>]>>,
    /// The name in the peer's certificate, if any.
    pub name: Option<Arc<str>>,
    /// The certificate hash of a peer that connects as a server. The handshake has verified only that it owns the key.
    pub server: Option<String>,
    /// The memory account of the connection. `None`: the request comes from this process.
    pub(crate) account: Option<Arc<Account>>,
}

impl Peer {
    /// The memory account of the connection that a request with these extensions came over.
    pub(crate) fn account_of(extensions: &http::Extensions) -> Option<Arc<Account>> {
        extensions.get::<Arc<Self>>().and_then(|peer| peer.account.clone())
    }
}

/// A connection.
pub struct Connection {
    /// Without TLS, or with TLS.
    stream: Either<TcpStream, Box<TlsStream<TcpStream>>>,
    peer: Arc<Peer>,
    /// `None` once the client has sent its HTTP/2 preface.
    greeting: Option<Greeting>,
    permit: ConnectionPermit,
}

/// The expected HTTP/2 preface and its deadline: idle clients must not occupy connections.
struct Greeting {
    /// The number of bytes still to be received.
    missing: usize,
    until: Pin<Box<Sleep>>,
}

/// The first byte of a TLS connection: the record type of a handshake (RFC 8446, section 5.1). HTTP/2 begins with a
/// `P`.
pub(super) const TLS_HANDSHAKE: u8 = 0x16;

/// The length of the HTTP/2 preface and the frame header of the settings that follow it (RFC 9113, section 3.4).
const GREETING: usize = 24 + 9;

impl Greeting {
    /// Counts received bytes; returns whether the preface is complete.
    ///
    /// # Errors
    /// If the deadline has passed.
    fn goes_on(&mut self, read: usize, context: &mut Context<'_>) -> io::Result<bool> {
        self.missing = self.missing.saturating_sub(read);
        if self.missing == 0 {
            return Ok(true);
        }
        match self.until.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::Error::new(io::ErrorKind::TimedOut, "no HTTP/2 preface in time")),
            Poll::Pending => Ok(false),
        }
    }
}

impl Connection {
    /// A connection without TLS.
    pub(super) fn plain(permit: ConnectionPermit, stream: TcpStream) -> Self {
        let peer = Peer { address: stream.peer_addr().ok(), ..Peer::default() };
        Self::new(permit, Either::Left(stream), peer)
    }

    /// A connection over TLS.
    pub(super) fn encrypted(permit: ConnectionPermit, stream: TlsStream<TcpStream>) -> Self {
        let (tcp, session) = stream.get_ref();
        let mut peer = Peer { address: tcp.peer_addr().ok(), ..Peer::default() };
        let chain = session.peer_certificates();
        let leaf = chain.and_then(<[_]>::first);
        if session.alpn_protocol() == Some(peer_tls::PROTOCOL) {
            peer.server = leaf.map(peer_tls::hash);
        } else {
            peer.certificates = chain.map(Arc::from);
            peer.name = leaf.and_then(certificate_name);
        }
        Self::new(permit, Either::Right(Box::new(stream)), peer)
    }

    fn new(permit: ConnectionPermit, stream: Either<TcpStream, Box<TlsStream<TcpStream>>>, mut peer: Peer) -> Self {
        peer.account = Some(permit.account.clone());
        let greeting = Greeting { missing: GREETING, until: Box::pin(sleep(permit.greeting_timeout())) };
        Self { stream, peer: Arc::new(peer), greeting: Some(greeting), permit }
    }

    /// Registers this task to be woken when the connection is to be closed.
    ///
    /// # Errors
    /// If the connection is to be closed.
    fn check_open(&self, context: &Context<'_>) -> io::Result<()> {
        if self.permit.account.poll_closed(context) {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the client does not read its responses"));
        }
        Ok(())
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
        let this = &mut *self;
        this.check_open(context)?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let Some(greeting) = &mut this.greeting else { return read };
        let received = &buffer.filled()[before..];
        if greeting.missing == GREETING
            && matches!(this.stream, Either::Left(_))
            && received.first() == Some(&TLS_HANDSHAKE)
        {
            this.permit.note_mismatch("a client speaks TLS, but this server does not: use http://, or set tls_cert");
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "the client speaks TLS")));
        }
        if greeting.goes_on(received.len(), context)? {
            this.greeting = None;
        }
        read
    }
}

// No vectored writes, see `CooperativeIo`.
impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check_open(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_open(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
