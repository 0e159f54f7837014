//! Connections to other servers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

use super::link::REACHING;
use crate::cluster::membership::MemberView;
use crate::transport::peer_tls::{NAME, Proof};

/// The interval of HTTP/2 pings, which detect that the other machine is gone, and how long a reply may take.
const PING: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(5));

/// A connection to a server. Clones share it.
pub type Wire = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

/// Makes connections.
pub trait Connector: Send + Sync + 'static {
    /// A connection to a server, which is made when it is first used, and again after it has failed.
    ///
    /// # Errors
    /// If this server and the other one do not support the same protocol.
    fn connect(&self, member: &MemberView) -> Result<Wire, String>;
}

/// Connections over TCP. Neither side authenticates the other.
#[derive(Clone, Copy, Debug)]
pub struct Tcp;

impl Connector for Tcp {
    fn connect(&self, member: &MemberView) -> Result<Wire, String> {
        Ok(wire(endpoint(&member.address)?.connect_lazy()))
    }
}

/// Connections over TLS, on which both sides authenticate each other.
pub struct Tls(pub Arc<Proof>);

impl Connector for Tls {
    fn connect(&self, member: &MemberView) -> Result<Wire, String> {
        if member.certificate.is_empty() {
            return Err("the other server does not support TLS".to_owned());
        }
        let config = self.0.client(&member.certificate).map_err(|error| error.to_string())?;
        let (tls, address) = (TlsConnector::from(Arc::new(config)), member.address.clone());
        let connect = tower::service_fn(move |_| {
            let (tls, address) = (tls.clone(), address.clone());
            async move { encrypted(&tls, &address).await.map(TokioIo::new) }
        });
        Ok(wire(endpoint(&member.address)?.connect_with_connector_lazy(connect)))
    }
}

async fn encrypted(tls: &TlsConnector, address: &str) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
    tls.connect(name, stream).await
}

fn endpoint(address: &str) -> Result<Endpoint, String> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(|error| error.to_string())?;
    Ok(endpoint
        .connect_timeout(REACHING)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1)
        .keep_alive_while_idle(true))
}

fn wire(channel: Channel) -> Wire {
    Wire::new(channel.map_err(|error| Status::from_error(error.into())))
}
