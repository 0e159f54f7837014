//! How connections are made.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tonic::Status;
use tonic::transport::Uri;
use tower::{ServiceBuilder, ServiceExt};

use crate::connection::Wire;
use crate::options::Security;

/// The interval of probes of an idle connection, by which a broken one is detected even without a session.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// The timeout of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// Makes connections.
pub trait Connector: Send + Sync + 'static {
    /// Connects to a server. The caller bounds the time.
    ///
    /// # Errors
    /// Why it cannot be reached, for people.
    fn connect(&self, server: &Uri) -> BoxFuture<'static, Result<Wire, String>>;
}

/// Connections over TCP.
#[derive(Clone, Debug)]
pub(crate) struct Tcp {
    /// How long connecting may take.
    pub(crate) connect_timeout: Duration,
    /// How they are secured.
    pub(crate) security: Security,
}

impl Connector for Tcp {
    fn connect(&self, server: &Uri) -> BoxFuture<'static, Result<Wire, String>> {
        let (server, security, limit) = (server.clone(), self.security.clone(), self.connect_timeout);
        async move { connect(&server, security, limit).await }.boxed()
    }
}

/// Connects over TCP, and TLS if the server's URL is `https://`.
///
/// # Errors
/// Why it cannot be reached, for people.
pub async fn connect(server: &Uri, security: Security, connect_timeout: Duration) -> Result<Wire, String> {
    let endpoint = security
        .endpoint(server)?
        .connect_timeout(connect_timeout)
        .tcp_nodelay(true)
        .tcp_keepalive(Some(PROBE_INTERVAL))
        .http2_keep_alive_interval(PROBE_INTERVAL)
        .keep_alive_timeout(PROBE_TIMEOUT)
        .keep_alive_while_idle(true);
    let channel = endpoint.connect().await.map_err(|error| explained(server, with_causes(&error)))?;
    let server = server.clone();
    let channel = channel.map_err(move |error: tonic::transport::Error| {
        let problem = explained(&server, with_causes(&error));
        Status::new(Status::from_error(error.into()).code(), problem)
    });
    if !security.has_token() {
        return Ok(Wire::new(channel));
    }
    let security = Arc::new(security);
    let signed = ServiceBuilder::new().filter(move |request| security.sign(request).map_err(Status::unavailable));
    Ok(Wire::new(signed.service(channel).map_err(Status::from_error)))
}

/// The error with its causes: the outermost one of the transport is only "transport error".
fn with_causes(error: &tonic::transport::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| std::error::Error::source(*cause));
    causes
        .map(ToString::to_string)
        .fold(error.to_string(), |text, cause| if text.ends_with(&cause) { text } else { format!("{text}: {cause}") })
}

/// Explains an error that is caused by TLS on one side only.
fn explained(server: &Uri, problem: String) -> String {
    // The errors of rustls for a plaintext reply, a server's reply to a plaintext client, and HTTP/2's error for a TLS
    // alert.
    const NO_TLS: [&str; 2] = ["InvalidContentType", "wrong version number"];
    const EXPECTS_TLS: [&str; 2] = ["expects TLS", "frame with invalid size"];
    let has_any = |signs: [&str; 2]| signs.iter().any(|sign| problem.contains(sign));
    let host = server.authority().map_or("", http::uri::Authority::as_str);
    match server.scheme_str() {
        Some("https") if has_any(NO_TLS) => {
            format!("the server at {host} speaks plaintext, use http://{host} or turn TLS on at the server")
        }
        Some("http") if has_any(EXPECTS_TLS) => {
            format!("the server at {host} expects TLS, use https://{host}")
        }
        _ => problem,
    }
}
