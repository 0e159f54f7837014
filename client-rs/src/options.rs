//! How to reach the service.

use std::env;
use std::time::Duration;

use tonic::transport::Uri;

use crate::client::Client;
use crate::error::{Error, Result};

/// Where a server listens that was started without arguments.
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
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            endpoints: vec![DEFAULT_ENDPOINT.to_owned()],
            namespace: "default".to_owned(),
            connect_timeout: Duration::from_millis(500),
            call_timeout: Duration::from_secs(5),
        }
    }
}

impl ClientOptions {
    /// One server on this machine's port 7420, namespace `default`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// From the environment: `TENURE_ENDPOINTS` (separated by commas) and `TENURE_NAMESPACE`, where they are set and not
    /// empty.
    #[must_use]
    pub fn from_env() -> Self {
        let mut options = Self::default();
        if let Some(endpoints) = env::var("TENURE_ENDPOINTS").ok().filter(|text| !text.trim().is_empty()) {
            options = Self { endpoints: split(&endpoints), ..options };
        }
        if let Some(namespace) = env::var("TENURE_NAMESPACE").ok().filter(|text| !text.is_empty()) {
            options = options.namespace(namespace);
        }
        options
    }

    /// The servers, as URLs (`http://` may be left out). They are equals: the client uses one at a time and goes to the
    /// next when that fails.
    #[must_use]
    pub fn endpoints(self, endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { endpoints: endpoints.into_iter().map(Into::into).collect(), ..self }
    }

    /// The namespace of all that the client does. Default: `default`.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), ..self }
    }

    /// How long connecting to one server may take. Servers that hang are not waited for: the next is tried beside them after
    /// a quarter of this. Default: 500 ms.
    #[must_use]
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        Self { connect_timeout: timeout, ..self }
    }

    /// How long a call may take, retries at other servers included. A call that waits for a lock may take this longer than
    /// its wait. Default: 5 s.
    #[must_use]
    pub fn call_timeout(self, timeout: Duration) -> Self {
        Self { call_timeout: timeout, ..self }
    }

    /// A client with these options. Same as [`Client::connect`].
    pub fn connect(self) -> Result<Client> {
        Client::connect(self)
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
        (Some("http"), Some(_)) => Ok(uri),
        (Some("https"), _) => Err(Error::invalid("endpoints", format!("\"{endpoint}\": TLS is not supported yet"))),
        _ => Err(Error::invalid("endpoints", format!("\"{endpoint}\" is not http://HOST:PORT"))),
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
    fn reads_endpoints_separated_by_commas() {
        let options = ClientOptions::from("http://a:1, b:2,");
        let urls = options.urls().unwrap();
        assert_eq!(urls.iter().map(ToString::to_string).collect::<Vec<_>>(), ["http://a:1/", "http://b:2/"]);
    }

    #[test]
    fn refuses_what_is_no_endpoint() {
        for endpoints in ["", "ftp://a", "https://a", "http://", "http://a b"] {
            let refused = ClientOptions::from(endpoints).urls();
            assert!(matches!(refused, Err(Error::Invalid { field: "endpoints", .. })), "{endpoints:?}: {refused:?}");
        }
    }
}
