//! Connections to the servers for clients that do not use the library.

use std::collections::HashMap;
use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use tenure_client::transport::{Connector, Wire};
use tonic::Status;
use tonic::transport::{Endpoint, Uri};
use tower::ServiceExt;

/// The connect timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Connections that are opened on demand and reopened after a failure.
pub struct Channels(HashMap<Uri, Wire>);

impl Channels {
    /// Creates channels to these servers, given as URLs.
    ///
    /// # Errors
    /// If a server is not a valid URL.
    pub fn to(servers: &[String]) -> anyhow::Result<Self> {
        let wire = |server: &String| {
            let uri: Uri = server.parse()?;
            let channel = Endpoint::from(uri.clone()).connect_timeout(CONNECT_TIMEOUT).connect_lazy();
            Ok((uri, Wire::new(channel.map_err(|error| Status::from_error(error.into())))))
        };
        servers.iter().map(wire).collect::<anyhow::Result<_>>().map(Self)
    }
}

impl Connector for Channels {
    fn connect(&self, server: &Uri) -> Pin<Box<dyn Future<Output = Result<Wire, String>> + Send>> {
        Box::pin(ready(self.0.get(server).cloned().ok_or_else(|| format!("{server} is not known"))))
    }
}
