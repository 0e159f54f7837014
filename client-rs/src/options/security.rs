//! How connections are secured, and how this client authenticates.

use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use derive_setters::Setters;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use tonic::body::Body;
#[cfg(feature = "tls")]
use tonic::transport::{Certificate, ClientTlsConfig, Identity};
use tonic::transport::{Endpoint, Uri};

use super::ClientOptions;
use crate::error::{Error, Result};

const NO_TLS: &str = "https:// needs the cargo feature \"tls\" of tenure-client";

/// The settings of TLS and credentials. Files are read for each connection, so that they may be replaced.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Setters)]
#[setters(into, strip_option, generate_delegates(ty = "ClientOptions", field = "security"))]
pub struct Security {
    /// The CA of the servers' certificates at `https://`: a PEM file. It is read for each connection, as the other
    /// files are, so that they may be replaced. Default: the CAs that the system trusts.
    pub ca_cert: Option<PathBuf>,
    /// This client's certificate: a PEM file, together with `client_key`. Default: none.
    pub client_cert: Option<PathBuf>,
    /// The private key of that certificate: a PEM file.
    pub client_key: Option<PathBuf>,
    /// The name that the servers' certificates must have. Default: the endpoint's.
    pub tls_server_name: Option<String>,
    /// The token of this client.
    #[setters(skip)]
    pub token: Option<Secret>,
    /// The file of that token. It is read for each stream and each call, so that the token may be replaced.
    pub token_file: Option<PathBuf>,
}

/// A text that is not printed.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

impl Security {
    /// Checks the settings before there is a connection.
    ///
    /// # Errors
    /// `Invalid`, with the option and the reason.
    pub fn check(&self, servers: &[Uri]) -> Result<()> {
        if let Some((field, other)) = match (&self.client_cert, &self.client_key) {
            (Some(_), None) => Some(("client_cert", "client_key")),
            (None, Some(_)) => Some(("client_key", "client_cert")),
            _ => None,
        } {
            return Err(Error::invalid(field, format!("is set, but {other} is not")));
        }
        if self.token.is_some() && self.token_file.is_some() {
            return Err(Error::invalid("token", "is set, and token_file is set as well: set one of them"));
        }
        let field = if self.token.is_some() { "token" } else { "token_file" };
        let in_the_clear = |server: &&Uri| server.scheme_str() == Some("http") && !is_this_machine(server);
        if self.has_token()
            && let Some(server) = servers.iter().find(in_the_clear)
        {
            return Err(Error::invalid(field, format!("would go to {server} in the clear: use https://")));
        }
        let is_encrypted = servers.iter().any(|server| server.scheme_str() == Some("https"));
        if is_encrypted && cfg!(not(feature = "tls")) {
            return Err(Error::invalid("endpoints", NO_TLS));
        }
        for (field, file) in [
            ("ca_cert", &self.ca_cert),
            ("client_cert", &self.client_cert),
            ("client_key", &self.client_key),
            ("token_file", &self.token_file),
        ] {
            let Some(file) = file else { continue };
            read(file).map_err(|problem| Error::invalid(field, problem))?;
            if field != "token_file" && !is_encrypted {
                return Err(Error::invalid(field, "is set, but no endpoint is https://"));
            }
        }
        self.authorization().map(drop).map_err(|problem| Error::invalid(field, problem))
    }

    /// The endpoint of a server, with the required TLS.
    ///
    /// # Errors
    /// If it is not usable, with the reason.
    pub fn endpoint(&self, server: &Uri) -> std::result::Result<Endpoint, String> {
        let endpoint = Endpoint::from(server.clone());
        if server.scheme_str() == Some("https") { self.encrypted(endpoint) } else { Ok(endpoint) }
    }

    #[cfg(not(feature = "tls"))]
    #[allow(clippy::unused_self, reason = "as with the feature")]
    fn encrypted(&self, _: Endpoint) -> std::result::Result<Endpoint, String> {
        Err(NO_TLS.to_owned())
    }

    #[cfg(feature = "tls")]
    fn encrypted(&self, endpoint: Endpoint) -> std::result::Result<Endpoint, String> {
        let mut tls = ClientTlsConfig::new();
        tls = match &self.ca_cert {
            Some(file) => tls.ca_certificate(Certificate::from_pem(read(file)?)),
            None => tls.with_native_roots(),
        };
        if let (Some(cert), Some(key)) = (&self.client_cert, &self.client_key) {
            tls = tls.identity(Identity::from_pem(read(cert)?, read(key)?));
        }
        if let Some(name) = &self.tls_server_name {
            tls = tls.domain_name(name);
        }
        endpoint.tls_config(tls).map_err(|error| error.to_string())
    }

    /// Adds the token to a call.
    ///
    /// # Errors
    /// If the token cannot be read.
    pub fn sign(&self, mut request: Request<Body>) -> std::result::Result<Request<Body>, String> {
        if let Some(authorization) = self.authorization()? {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        Ok(request)
    }

    /// Whether calls need a token.
    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some() || self.token_file.is_some()
    }

    fn authorization(&self) -> std::result::Result<Option<HeaderValue>, String> {
        let token = match (&self.token, &self.token_file) {
            (Some(Secret(token)), _) => token.clone(),
            (None, Some(file)) => {
                let token = String::from_utf8(read(file)?);
                token.map_err(|_| format!("{}: this is no text", file.display()))?
            }
            (None, None) => return Ok(None),
        };
        let token = token.trim();
        if token.is_empty() {
            return Err("the token is empty".to_owned());
        }
        let refused = || "the token has letters that no header may have: only printable ASCII".to_owned();
        let printable = token.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        let header = HeaderValue::try_from(format!("Bearer {token}"));
        let mut header = header.ok().filter(|_| printable).ok_or_else(refused)?;
        header.set_sensitive(true);
        Ok(Some(header))
    }
}

fn read(file: &Path) -> std::result::Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Whether the server is on this machine.
fn is_this_machine(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(security: &Security, server: &str) -> String {
        security.check(&[server.parse().unwrap()]).unwrap_err().to_string()
    }

    #[test]
    fn token_is_not_sent_in_the_clear() {
        let security = Security { token: Some(Secret("secret".into())), ..Security::default() };
        for server in ["http://localhost:1", "http://127.0.0.2:1", "http://[::1]:1", "https://far:1"] {
            security.check(&[server.parse().unwrap()]).unwrap();
        }
        assert!(refusal(&security, "http://far:1").contains("token: would go to http://far:1/ in the clear"));
        assert!(!format!("{security:?}").contains("secret"));
    }

    #[test]
    fn inconsistent_options_are_rejected() {
        let folder = std::env::temp_dir();
        let missing = Some(folder.join("no-such-file"));
        let cases = [
            (Security { client_cert: missing.clone(), ..Security::default() }, "client_cert: is set, but client_key"),
            (Security { client_key: missing.clone(), ..Security::default() }, "client_key: is set, but client_cert"),
            (Security { ca_cert: missing.clone(), ..Security::default() }, "no-such-file: No such file"),
            (Security { token_file: missing, ..Security::default() }, "no-such-file: No such file"),
            (Security { token: Some(Secret(" ".into())), ..Security::default() }, "token: the token is empty"),
            (Security { token: Some(Secret("a\nb".into())), ..Security::default() }, "letters that no header"),
            (Security { token: Some(Secret("é".into())), ..Security::default() }, "only printable ASCII"),
        ];
        for (security, problem) in cases {
            let refused = refusal(&security, "https://far:1");
            assert!(refused.contains(problem), "{security:?}: {refused}");
        }
    }
}
