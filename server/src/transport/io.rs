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
use tonic::transport::server::Connected;

use super::account::Account;
use super::certificate::certificate_name;
use super::connection_limiter::{ConnectionLimits, ConnectionPermit};
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
    pub(crate) account: Option<Account>,
}

impl Peer {
    /// The memory account of the connection that a request with these extensions came over.
    pub(crate) fn account_of(extensions: &http::Extensions) -> Option<Account> {
        extensions.get::<Arc<Self>>().and_then(|peer| peer.account.clone())
    }
}

/// A connection.
pub struct Connection {
    stream: Transport,
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
    fn begin(limits: &ConnectionLimits) -> Self {
        Self { missing: GREETING, until: Box::pin(sleep(limits.greeting)) }
    }

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

enum Transport {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl Connection {
    /// A connection without TLS.
    #[must_use]
    pub fn plain(permit: ConnectionPermit, limits: &ConnectionLimits, stream: TcpStream) -> Self {
        let peer = Peer { address: stream.peer_addr().ok(), ..Peer::default() };
        Self::new(permit, limits, Transport::Plain(stream), peer)
    }

    fn new(permit: ConnectionPermit, limits: &ConnectionLimits, stream: Transport, mut peer: Peer) -> Self {
        peer.account = Some(permit.account().clone());
        Self { stream, peer: Arc::new(peer), greeting: Some(Greeting::begin(limits)), permit }
    }

    /// Registers this task to be woken when the connection is to be closed.
    ///
    /// # Errors
    /// If the connection is to be closed.
    fn check_open(&self, context: &Context<'_>) -> io::Result<()> {
        if self.permit.account().poll_closed(context) {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the client does not read its responses"));
        }
        Ok(())
    }

    /// A connection over TLS.
    #[must_use]
    pub fn encrypted(permit: ConnectionPermit, limits: &ConnectionLimits, stream: TlsStream<TcpStream>) -> Self {
        let (tcp, session) = stream.get_ref();
        let shown = session.peer_certificates();
        if session.alpn_protocol() == Some(peer_tls::PROTOCOL) {
            let server = shown.and_then(<[_]>::first).map(peer_tls::hash);
            let peer = Peer { address: tcp.peer_addr().ok(), server, ..Peer::default() };
            return Self::new(permit, limits, Transport::Encrypted(Box::new(stream)), peer);
        }
        let certificates = shown.map(|chain| chain.iter().map(|one| one.clone().into_owned()).collect());
        let name = shown.and_then(<[_]>::first).and_then(certificate_name);
        let peer = Peer { address: tcp.peer_addr().ok(), certificates, name, ..Peer::default() };
        Self::new(permit, limits, Transport::Encrypted(Box::new(stream)), peer)
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
        self.check_open(context)?;
        let before = buffer.filled().len();
        let read = match &mut self.stream {
            Transport::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Transport::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
        };
        if let Some(greeting) = &self.greeting
            && greeting.missing == GREETING
            && matches!(self.stream, Transport::Plain(_))
            && buffer.filled().get(before) == Some(&TLS_HANDSHAKE)
        {
            self.permit.note_mismatch("a client speaks TLS, but this server does not: use http://, or set tls_cert");
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "the client speaks TLS")));
        }
        if let Some(greeting) = &mut self.greeting
            && greeting.goes_on(buffer.filled().len() - before, context)?
        {
            self.greeting = None;
        }
        read
    }
}

// No vectored writes, see `CooperativeIo`.
impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check_open(context)?;
        match &mut self.stream {
            Transport::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Transport::Encrypted(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_open(context)?;
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
