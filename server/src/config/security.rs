//! Rejects combinations of settings that would serve callers by accident.

use std::net::SocketAddr;

use super::{ConfigError, Layer};
use crate::auth::{ALGORITHMS, AuditOptions, CredentialOptions, JwtOptions, KeySource};
use crate::transport::TlsFiles;

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

pub(super) fn credentials(layer: &Layer) -> Result<CredentialOptions, ConfigError> {
    let credentials = CredentialOptions {
        certificates: layer.tls_client_ca.is_some(),
        tokens_file: layer.tokens_file.clone(),
        jwt: jwt(layer)?,
        policy: layer.policy.clone(),
        audit: audit(layer)?,
    };
    if credentials.policy.is_some() && !credentials.are_wanted() {
        return Err(ConfigError(
            "policy is set: set tls_client_ca, tokens_file or jwt_keys, too, which say who calls".into(),
        ));
    }
    Ok(credentials)
}

fn audit(layer: &Layer) -> Result<Option<AuditOptions>, ConfigError> {
    let everything = layer.audit_everything.unwrap_or(false);
    match &layer.audit_log {
        Some(file) => Ok(Some(AuditOptions { file: file.clone(), everything })),
        None if everything => Err(ConfigError("audit_everything is set: set audit_log, too".into())),
        None => Ok(None),
    }
}

fn jwt(layer: &Layer) -> Result<Option<JwtOptions>, ConfigError> {
    let Some(keys) = &layer.jwt_keys else {
        let more = [
            ("jwt_issuer", layer.jwt_issuer.is_some()),
            ("jwt_audience", layer.jwt_audience.is_some()),
            ("jwt_algorithms", layer.jwt_algorithms.is_some()),
            ("jwt_claim", layer.jwt_claim.is_some()),
        ];
        return match more.iter().find(|(_, is_set)| *is_set) {
            Some((setting, _)) => Err(ConfigError(format!("{setting} is set: set jwt_keys, too"))),
            None => Ok(None),
        };
    };
    let keys = match keys.split_once("://") {
        None => KeySource::File(keys.into()),
        Some(("https", _)) => KeySource::Url(keys.clone()),
        // Without the value, which may hold a password.
        Some(_) => return Err(ConfigError("jwt_keys must be a file, or https://...".into())),
    };
    let required = |setting: &str, given: &Option<String>| {
        let given = given.clone().filter(|text| !text.is_empty());
        given.ok_or_else(|| ConfigError(format!("jwt_keys is set: set {setting}, too")))
    };
    Ok(Some(JwtOptions {
        keys,
        issuer: required("jwt_issuer", &layer.jwt_issuer)?,
        audience: required("jwt_audience", &layer.jwt_audience)?,
        algorithms: algorithms(layer.jwt_algorithms.as_deref().unwrap_or("RS256,ES256,EdDSA"))?,
        claim: layer.jwt_claim.clone().unwrap_or_else(|| "sub".to_owned()),
    }))
}

fn algorithms(list: &str) -> Result<Vec<jsonwebtoken::Algorithm>, ConfigError> {
    let named = |name: &str| ALGORITHMS.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm);
    list.split(',')
        .map(str::trim)
        .map(|name| {
            let known: Vec<&str> = ALGORITHMS.iter().map(|(known, _)| *known).collect();
            let refused = || format!("jwt_algorithms has \"{name}\": it may have {}", known.join(", "));
            named(name).ok_or_else(|| ConfigError(refused()))
        })
        .collect()
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
    Err(ConfigError(format!(
        "listen is {listen}: other machines are served with {missing} only; allow_insecure = true serves them without"
    )))
}
