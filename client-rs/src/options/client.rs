//! How to reach the service.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use derive_setters::Setters;
use tonic::transport::Uri;

use super::{Secret, Security};
use crate::error::{Error, Result};

/// The default address of a server.
const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:7420";
/// The default port of a server.
const DEFAULT_PORT: u16 = 7420;

/// How to reach the service.
///
/// ```
/// use tenure_client::ClientOptions;
///
/// let options = ClientOptions::new().endpoints(["http://10.0.0.1:7420", "http://10.0.0.2:7420"]).namespace("billing");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[must_use]
pub struct ClientOptions {
    #[setters(skip)]
    endpoints: Vec<String>,
    /// The namespace of the client. Default: `default`.
    #[setters(into)]
    pub(crate) namespace: String,
    /// How long connecting to one server may take. After a quarter of this, the next server is tried in parallel. More
    /// than 0; default: 500 ms.
    pub(crate) connect_timeout: Duration,
    /// How long a call may take, including retries at other servers. A call that waits for a lock may take this longer
    /// than its wait. More than 0; default: 5 s.
    pub(crate) call_timeout: Duration,
    /// How connections are secured.
    #[doc(hidden)]
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
    pub fn new() -> Self {
        Self::default()
    }

    /// From the environment: `TENURE_ENDPOINTS` (separated by commas), `TENURE_NAMESPACE`, `TENURE_CA_CERT`,
    /// `TENURE_CLIENT_CERT`, `TENURE_CLIENT_KEY`, `TENURE_TLS_SERVER_NAME`, `TENURE_TOKEN` and `TENURE_TOKEN_FILE`,
    /// where they are set and not empty.
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

    /// The servers, as URLs (`http://`, and the port 7420, may be omitted). They are equals: the client uses one at a time and fails over
    /// to the next.
    pub fn endpoints(self, endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { endpoints: endpoints.into_iter().map(Into::into).collect(), ..self }
    }

    /// The token of this client. It is rejected with endpoints at `http://`, except on this machine. Default: none.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.security.token = Some(Secret(token.into()));
        self
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
    let invalid = |problem: &str| Error::invalid("endpoints", format!("\"{endpoint}\" {problem}"));
    let text = endpoint.trim();
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let mut uri: Uri = text.parse().map_err(|error| invalid(&format!("is no URL: {error}")))?;
    let authority = uri.authority().filter(|authority| !authority.host().is_empty());
    let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), authority) else {
        return Err(invalid("is not http://HOST:PORT or https://HOST:PORT"));
    };
    if authority.as_str() == authority.host() {
        let mut parts = uri.clone().into_parts();
        parts.authority = format!("{authority}:{DEFAULT_PORT}").parse().ok();
        uri = Uri::from_parts(parts).map_err(|error| invalid(&format!("is no URL: {error}")))?;
    } else if uri.port_u16().is_none_or(|port| port == 0) {
        return Err(invalid("has a port that is not 1 to 65535"));
    }
    Ok(uri)
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
    fn endpoints_without_a_port_have_the_default_one() {
        let options = ClientOptions::from("a, https://[::1], http://b/, c:1");
        let urls = options.urls().unwrap();
        let urls: Vec<_> = urls.iter().map(ToString::to_string).collect();
        assert_eq!(urls, ["http://a:7420/", "https://[::1]:7420/", "http://b:7420/", "http://c:1/"]);
    }

    #[test]
    fn invalid_endpoints_are_rejected() {
        for endpoints in
            ["", "ftp://a", "https://", "http://", "http://a b", ":1", "a:0", "a:99999", "a:x", "a:", "[::1]:0"]
        {
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
