//! Rejects combinations of settings that would serve callers by accident, and converts those of TLS and credentials.

use std::net::SocketAddr;

use jsonwebtoken::Algorithm;
use secrecy::ExposeSecret;

use super::{ConfigError, Settings};
use crate::auth::{ALGORITHMS, AuditOptions, CredentialOptions, JwtOptions, KeySource};
use crate::transport::TlsFiles;

/// Settings that have no effect without others.
const NEEDS: [(&str, &str); 11] = [
    ("tls_cert", "tls_key"),
    ("tls_key", "tls_cert"),
    ("tls_client_ca", "tls_cert and tls_key"),
    ("tls_client_crl", "tls_client_ca"),
    ("audit_everything", "audit_log"),
    ("jwt_keys", "jwt_issuer"),
    ("jwt_keys", "jwt_audience"),
    ("jwt_issuer", "jwt_keys"),
    ("jwt_audience", "jwt_keys"),
    ("jwt_algorithms", "jwt_keys"),
    ("jwt_claim", "jwt_keys"),
];

/// Checks that settings are not set without those that they need. A setting that is given but empty still needs them, so
/// that an empty `tls_cert` does not serve plaintext, and does not satisfy another one.
pub(super) fn check_needs(settings: &Settings) -> Result<(), ConfigError> {
    let given = toml::Table::try_from(settings).map_err(|error| ConfigError(error.to_string()))?;
    let value_of = |name: &str| given.get(name).filter(|value| value.as_bool() != Some(false));
    let is_filled = |name: &str| value_of(name).is_some_and(|value| value.as_str() != Some(""));
    for (setting, others) in NEEDS {
        if value_of(setting).is_some() && !others.split(" and ").all(is_filled) {
            return Err(ConfigError(format!("{setting} is set: also set {others}")));
        }
    }
    Ok(())
}

pub(super) fn tls(settings: &Settings) -> Option<TlsFiles> {
    Some(TlsFiles {
        cert: settings.tls_cert.clone()?,
        key: settings.tls_key.clone()?,
        client_ca: settings.tls_client_ca.clone(),
        client_crl: settings.tls_client_crl.clone(),
    })
}

pub(super) fn credentials(settings: &mut Settings) -> Result<CredentialOptions, ConfigError> {
    let everything = settings.audit_everything;
    let credentials = CredentialOptions {
        certificates: settings.tls_client_ca.is_some(),
        tokens_file: settings.tokens_file.clone(),
        jwt: jwt(settings)?,
        policy: settings.policy.clone(),
        audit: settings.audit_log.clone().map(|file| AuditOptions { file, everything }),
    };
    if credentials.policy.is_some() && !credentials.are_wanted() {
        return Err(ConfigError(
            "policy is set: also set tls_client_ca, tokens_file or jwt_keys to authenticate callers".into(),
        ));
    }
    Ok(credentials)
}

fn jwt(settings: &mut Settings) -> Result<Option<JwtOptions>, ConfigError> {
    let Some(keys) = settings.jwt_keys.as_ref().map(ExposeSecret::expose_secret) else { return Ok(None) };
    let keys = match keys.split_once("://") {
        None => KeySource::File(keys.into()),
        Some(("https", _)) => KeySource::Url(keys.to_owned()),
        // Without the value, which may hold a password.
        Some(_) => return Err(ConfigError("jwt_keys must be a file, or https://...".into())),
    };
    let algorithms = settings.jwt_algorithms.get_or_insert_with(|| "RS256,ES256,EdDSA".to_owned());
    Ok(Some(JwtOptions {
        keys,
        issuer: settings.jwt_issuer.clone().unwrap_or_default(),
        audience: settings.jwt_audience.clone().unwrap_or_default(),
        algorithms: algorithms.split(',').map(|name| algorithm(name.trim())).collect::<Result<_, _>>()?,
        claim: settings.jwt_claim.get_or_insert_with(|| "sub".to_owned()).clone(),
    }))
}

fn algorithm(name: &str) -> Result<Algorithm, ConfigError> {
    let found = ALGORITHMS.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm);
    let known = || ALGORITHMS.map(|(known, _)| known).join(", ");
    found.ok_or_else(|| ConfigError(format!("jwt_algorithms has \"{name}\": it must be of {}", known())))
}

/// Other machines are served over TLS only, and only with credentials, unless the operator allows it otherwise.
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
        (true, false) => "credentials (tls_client_ca, tokens_file or jwt_keys)",
        _ => "TLS (tls_cert, tls_key) and credentials (tls_client_ca, tokens_file or jwt_keys)",
    };
    Err(ConfigError(format!("listen is {listen}: other machines require {missing}, or allow_insecure = true")))
}
