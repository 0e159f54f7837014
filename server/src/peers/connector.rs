//! How connections to other servers are made.

use std::time::Duration;

use tonic::Status;
use tonic::body::Body;
use tonic::transport::Endpoint;
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

use super::link::REACHING;

/// HTTP/2 pings find out that the other machine has gone: so often, and for so long unanswered.
const PING: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(5));

/// A connection to a server. Clones share it.
pub type Wire = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

/// Makes connections.
pub trait Connector: Send + Sync + 'static {
    /// A connection to the server at this host and port, which is made when it is needed, and again when it broke.
    ///
    /// # Errors
    /// If that is no address.
    fn connect(&self, address: &str) -> Result<Wire, String>;
}

/// Connections over TCP.
#[derive(Clone, Copy, Debug)]
pub struct Tcp;

impl Connector for Tcp {
    fn connect(&self, address: &str) -> Result<Wire, String> {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .map_err(|error| error.to_string())?
            .connect_timeout(REACHING)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(PING.0)
            .keep_alive_timeout(PING.1)
            .keep_alive_while_idle(true);
        Ok(Wire::new(endpoint.connect_lazy().map_err(|error| Status::from_error(error.into()))))
    }
}
