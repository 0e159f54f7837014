//! One connection, and who is at its other end.

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

/// Who is at the other end of a connection. Among the extensions of each request.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Its address, unless it has gone already.
    pub address: Option<SocketAddr>,
    /// Its certificates, the one that is its own first. They were verified in the handshake.
    pub certificates: Option<Arc<[CertificateDer<'static>]>>,
    /// The name in its certificate, if there is one.
    pub name: Option<Arc<str>>,
    /// The hash of the certificate of another server, if it speaks as one. Its key was verified in the handshake, and nothing else.
    pub server: Option<String>,
    /// What its connection makes this server hold. `None`: the request comes from this process.
    pub(crate) account: Option<Account>,
}

/// A connection.
pub struct Connection {
    stream: Transport,
    peer: Arc<Peer>,
    /// Until its client has begun to speak.
    greeting: Option<Greeting>,
    permit: ConnectionPermit,
}

/// What a client says first, and until when: it may take connections, but not for nothing.
struct Greeting {
    /// So many bytes are still to come.
    missing: usize,
    until: Pin<Box<Sleep>>,
}

/// What TLS begins with: the type of a record of its handshake (RFC 8446, section 5.1). HTTP/2 begins with a `P`.
pub(super) const TLS_HANDSHAKE: u8 = 0x16;

/// The preface of HTTP/2 and the head of the settings that follow it (RFC 9113, section 3.4).
const GREETING: usize = 24 + 9;

impl Greeting {
    fn begin(limits: &ConnectionLimits) -> Self {
        Self { missing: GREETING, until: Box::pin(sleep(limits.greeting)) }
    }

    /// So much more has been read. Whether that is all of it.
    ///
    /// # Errors
    /// If its time is over.
    fn goes_on(&mut self, read: usize, context: &mut Context<'_>) -> io::Result<bool> {
        self.missing = self.missing.saturating_sub(read);
        if self.missing == 0 {
            return Ok(true);
        }
        match self.until.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client did not begin to speak HTTP/2")),
            Poll::Pending => Ok(false),
        }
    }
}

enum Transport {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl Connection {
    /// One without TLS.
    #[must_use]
    pub fn plain(permit: ConnectionPermit, limits: &ConnectionLimits, stream: TcpStream) -> Self {
        let peer = Peer { address: stream.peer_addr().ok(), ..Peer::default() };
        Self::new(permit, limits, Transport::Plain(stream), peer)
    }

    fn new(permit: ConnectionPermit, limits: &ConnectionLimits, stream: Transport, mut peer: Peer) -> Self {
        peer.account = Some(permit.account().clone());
        Self { stream, peer: Arc::new(peer), greeting: Some(Greeting::begin(limits)), permit }
    }

    /// Wakes this task when the connection is to be closed.
    ///
    /// # Errors
    /// If it is.
    fn check_open(&self, context: &Context<'_>) -> io::Result<()> {
        if self.permit.account().poll_closed(context) {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the client does not take its answers"));
        }
        Ok(())
    }

    /// One over TLS.
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
            self.permit.note_mismatch(
                "a client speaks TLS, but this server does not: it must use http://, or tls_cert must be set",
            );
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

// Without vectored writes, see `CooperativeIo`.
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
