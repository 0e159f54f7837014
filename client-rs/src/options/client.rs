//! How to reach the service.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use tonic::transport::Uri;

use crate::error::{Error, Result};
use crate::security::{Secret, Security};

/// The default address of a server.
const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:7420";

/// How to reach the service.
///
/// ```
/// use tenure_client::ClientOptions;
///
/// let options = ClientOptions::new().endpoints(["http://10.0.0.1:7420", "http://10.0.0.2:7420"]).namespace("billing");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    pub(crate) endpoints: Vec<String>,
    pub(crate) namespace: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) call_timeout: Duration,
    pub(crate) security: Security,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            endpoints: vec![DEFAULT_ENDPOINT.to_owned()],
            namespace: "default".to_owned(),
            connect_timeout: Duration::from_millis(500),
            call_timeout: Duration::from_secs(5),
            security: Security::default(),
        }
    }
}

impl ClientOptions {
    /// One server on this machine's port 7420, namespace `default`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// From the environment: `TENURE_ENDPOINTS` (separated by commas), `TENURE_NAMESPACE`, `TENURE_CA_CERT`,
    /// `TENURE_CLIENT_CERT`, `TENURE_CLIENT_KEY`, `TENURE_TLS_SERVER_NAME`, `TENURE_TOKEN` and `TENURE_TOKEN_FILE`,
    /// where they are set and not empty.
    #[must_use]
    pub fn from_env() -> Self {
        let file = |name| env::var_os(name).filter(|text| !text.is_empty()).map(PathBuf::from);
        let text = |name| env::var(name).ok().filter(|text| !text.is_empty());
        let default = Self::default();
        let endpoints = text("TENURE_ENDPOINTS").filter(|text| !text.trim().is_empty());
        Self {
            endpoints: endpoints.map_or(default.endpoints, |endpoints| split(&endpoints)),
            namespace: text("TENURE_NAMESPACE").unwrap_or(default.namespace),
            security: Security {
                ca_cert: file("TENURE_CA_CERT"),
                client_cert: file("TENURE_CLIENT_CERT"),
                client_key: file("TENURE_CLIENT_KEY"),
                tls_server_name: text("TENURE_TLS_SERVER_NAME"),
                token: text("TENURE_TOKEN").map(Secret),
                token_file: file("TENURE_TOKEN_FILE"),
            },
            ..default
        }
    }

    /// The servers, as URLs (`http://` may be omitted). They are equals: the client uses one at a time and fails over
    /// to the next.
    #[must_use]
    pub fn endpoints(self, endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { endpoints: endpoints.into_iter().map(Into::into).collect(), ..self }
    }

    /// The namespace of the client. Default: `default`.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), ..self }
    }

    /// How long connecting to one server may take. After a quarter of this, the next server is tried in parallel. More
    /// than 0; default: 500 ms.
    #[must_use]
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        Self { connect_timeout: timeout, ..self }
    }

    /// How long a call may take, including retries at other servers. A call that waits for a lock may take this longer
    /// than its wait. More than 0; default: 5 s.
    #[must_use]
    pub fn call_timeout(self, timeout: Duration) -> Self {
        Self { call_timeout: timeout, ..self }
    }

    /// The CA of the servers' certificates at `https://`: a PEM file. It is read for each connection, as the other
    /// files are, so that they may be replaced. Default: the CAs that the system trusts.
    #[must_use]
    pub fn ca_cert(mut self, file: impl Into<PathBuf>) -> Self {
        self.security.ca_cert = Some(file.into());
        self
    }

    /// This client's certificate and its private key: PEM files. Default: none.
    #[must_use]
    pub fn client_cert(mut self, cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.security.client_cert = Some(cert.into());
        self.security.client_key = Some(key.into());
        self
    }

    /// The name that the servers' certificates must have. Default: the endpoint's.
    #[must_use]
    pub fn tls_server_name(mut self, name: impl Into<String>) -> Self {
        self.security.tls_server_name = Some(name.into());
        self
    }

    /// The token of this client. It is refused with endpoints at `http://`, except on this machine. Default: none.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.security.token = Some(Secret(token.into()));
        self
    }

    /// The file of that token. It is read for each stream and each call, so that the token may be replaced.
    #[must_use]
    pub fn token_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.security.token_file = Some(file.into());
        self
    }

    /// How connections are secured.
    #[doc(hidden)]
    #[must_use]
    pub fn security(self, security: Security) -> Self {
        Self { security, ..self }
    }

    /// Checks what no call would report well: a server rejects the whole stream for its namespace.
    pub(crate) fn check(&self) -> Result<()> {
        let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        if self.namespace.len() > 63 || !self.namespace.bytes().all(is_allowed) {
            return Err(Error::invalid("namespace", "it is not 1 to 63 of a-z, 0-9 and '-'"));
        }
        for (field, timeout) in [("connect_timeout", self.connect_timeout), ("call_timeout", self.call_timeout)] {
            if timeout.is_zero() {
                return Err(Error::invalid(field, "it is zero"));
            }
        }
        Ok(())
    }

    /// The endpoints as URLs.
    pub(crate) fn urls(&self) -> Result<Vec<Uri>> {
        if self.endpoints.is_empty() {
            return Err(Error::invalid("endpoints", "there are none"));
        }
        self.endpoints.iter().map(|endpoint| url(endpoint)).collect()
    }
}

fn url(endpoint: &str) -> Result<Uri> {
    let text = endpoint.trim();
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let uri: Uri =
        text.parse().map_err(|error| Error::invalid("endpoints", format!("\"{endpoint}\" is no URL: {error}")))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(_)) => Ok(uri),
        _ => Err(Error::invalid("endpoints", format!("\"{endpoint}\" is not http://HOST:PORT or https://HOST:PORT"))),
    }
}

fn split(endpoints: &str) -> Vec<String> {
    endpoints.split(',').map(str::trim).filter(|endpoint| !endpoint.is_empty()).map(str::to_owned).collect()
}

/// Endpoints separated by commas.
impl From<&str> for ClientOptions {
    fn from(endpoints: &str) -> Self {
        Self { endpoints: split(endpoints), ..Self::default() }
    }
}

/// Endpoints separated by commas.
impl From<String> for ClientOptions {
    fn from(endpoints: String) -> Self {
        Self::from(endpoints.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_split_at_commas() {
        let options = ClientOptions::from("http://a:1, b:2,");
        let urls = options.urls().unwrap();
        assert_eq!(urls.iter().map(ToString::to_string).collect::<Vec<_>>(), ["http://a:1/", "http://b:2/"]);
    }

    #[test]
    fn invalid_endpoints_are_rejected() {
        for endpoints in ["", "ftp://a", "https://", "http://", "http://a b"] {
            let refused = ClientOptions::from(endpoints).urls();
            assert!(matches!(refused, Err(Error::Invalid { field: "endpoints", .. })), "{endpoints:?}: {refused:?}");
        }
    }

    #[test]
    fn invalid_namespaces_are_rejected() {
        for (namespace, is_valid) in [("", true), ("billing-2", true), ("No Such!", false), (&*"n".repeat(64), false)] {
            assert_eq!(ClientOptions::new().namespace(namespace).check().is_ok(), is_valid, "{namespace:?}");
        }
    }

    #[test]
    fn timeouts_of_zero_are_rejected() {
        let options = ClientOptions::new();
        options.check().unwrap();
        let refused = options.clone().connect_timeout(Duration::ZERO).check();
        assert!(matches!(refused, Err(Error::Invalid { field: "connect_timeout", .. })), "{refused:?}");
        let refused = options.call_timeout(Duration::ZERO).check();
        assert!(matches!(refused, Err(Error::Invalid { field: "call_timeout", .. })), "{refused:?}");
    }
}
