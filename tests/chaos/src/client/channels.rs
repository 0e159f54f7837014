//! How those reach the servers who do without the library.

use std::collections::HashMap;
use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use tenure_client::transport::{Connector, Wire};
use tonic::Status;
use tonic::transport::{Endpoint, Uri};
use tower::ServiceExt;

/// How long a connection is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Connections that are made when they are needed, and again when they broke.
pub struct Channels(HashMap<Uri, Wire>);

impl Channels {
    /// To these servers, which are URLs.
    ///
    /// # Errors
    /// If one is none.
    pub fn to(servers: &[String]) -> anyhow::Result<Self> {
        let wire = |server: &String| {
            let uri: Uri = server.parse()?;
            let channel = Endpoint::from(uri.clone()).connect_timeout(PATIENCE).connect_lazy();
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
