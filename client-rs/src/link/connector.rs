//! How connections are made, and what calls go over.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::{Endpoint, Uri};
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

/// An idle connection is probed this often, so that one that died in silence is noticed even without a session.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// How long the answer to a probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// A connection to a server. Clones share it.
pub type Wire = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

/// Makes connections.
pub trait Connector: Send + Sync + 'static {
    /// Connects to a server. Whoever waits bounds the time.
    ///
    /// # Errors
    /// Why it cannot be reached, for people.
    fn connect(&self, server: &Uri) -> BoxFuture<'static, Result<Wire, String>>;
}

/// Connections over TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tcp {
    /// How long connecting may take.
    pub(crate) connect_timeout: Duration,
}

impl Connector for Tcp {
    fn connect(&self, server: &Uri) -> BoxFuture<'static, Result<Wire, String>> {
        let endpoint = Endpoint::from(server.clone())
            .connect_timeout(self.connect_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(PROBE_INTERVAL))
            .http2_keep_alive_interval(PROBE_INTERVAL)
            .keep_alive_timeout(PROBE_TIMEOUT)
            .keep_alive_while_idle(true);
        let connecting = async move {
            let channel = endpoint.connect().await.map_err(|error| with_causes(&error))?;
            Ok(Wire::new(channel.map_err(|error| Status::from_error(error.into()))))
        };
        connecting.boxed()
    }
}

/// The error with its causes: the outermost one of the transport only says "transport error".
fn with_causes(error: &tonic::transport::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
