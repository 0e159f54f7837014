//! What must come together, so that nobody is served by accident.

use std::net::SocketAddr;

use super::{ConfigError, Layer};
use crate::access::CredentialOptions;
use crate::listen::TlsFiles;

pub(super) fn tls(layer: &Layer) -> Result<Option<TlsFiles>, ConfigError> {
    let needs = |setting: &str, other: &str| Err(ConfigError(format!("{setting} is set: set {other}, too")));
    match (&layer.tls_cert, &layer.tls_key) {
        (Some(_), None) => needs("tls_cert", "tls_key"),
        (None, Some(_)) => needs("tls_key", "tls_cert"),
        (None, None) if layer.tls_client_ca.is_some() => needs("tls_client_ca", "tls_cert and tls_key"),
        _ if layer.tls_client_crl.is_some() && layer.tls_client_ca.is_none() => {
            needs("tls_client_crl", "tls_client_ca")
        }
        (None, None) => Ok(None),
        (Some(cert), Some(key)) => Ok(Some(TlsFiles {
            cert: cert.clone(),
            key: key.clone(),
            client_ca: layer.tls_client_ca.clone(),
            client_crl: layer.tls_client_crl.clone(),
        })),
    }
}

pub(super) fn credentials(layer: &Layer) -> CredentialOptions {
    CredentialOptions { certificates: layer.tls_client_ca.is_some(), tokens_file: layer.tokens_file.clone() }
}

/// Other machines are served over TLS only, and only those that prove who they are; unless somebody wants it otherwise.
pub(super) fn check(
    listen: SocketAddr,
    has_tls: bool,
    credentials: &CredentialOptions,
    allow_insecure: bool,
) -> Result<(), ConfigError> {
    if allow_insecure || listen.ip().is_loopback() || (has_tls && credentials.are_wanted()) {
        return Ok(());
    }
    let missing = match (has_tls, credentials.are_wanted()) {
        (false, true) => "TLS (tls_cert, tls_key)",
        (true, false) => "credentials (tls_client_ca or tokens_file)",
        _ => "TLS (tls_cert, tls_key) and credentials (tls_client_ca or tokens_file)",
    };
    Err(ConfigError(format!(
        "listen is {listen}: other machines are served with {missing} only; allow_insecure = true serves them without"
    )))
}
