//! Validates JSON Web Tokens (RFC 7519) against the issuer's public keys (RFC 7517).

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::{Identity, Unidentified};
use crate::telemetry::redact::redacted;

/// Accepted clock skew.
const LEEWAY: Duration = Duration::from_secs(30);

/// Timeout for fetching the keys.
const FETCHING: Duration = Duration::from_secs(5);

/// The largest accepted key set, in bytes.
const LARGEST: usize = 1024 * 1024;

/// Which tokens are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtOptions {
    /// The public keys: a JSON Web Key set.
    pub keys: KeySource,
    /// Required issuer: `iss`.
    pub issuer: String,
    /// Required audience: one of `aud`.
    pub audience: String,
    /// Accepted signature algorithms. Only asymmetric ones, so that knowledge of the verification key does not allow
    /// signing.
    pub algorithms: Vec<Algorithm>,
    /// The claim that contains the identity.
    pub claim: String,
}

/// The source of the keys.
#[derive(Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A file.
    File(PathBuf),
    /// An https URL.
    Url(String),
}

/// The source without secrets that a URL may contain.
impl fmt::Display for KeySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => file.display().fmt(formatter),
            Self::Url(url) => redacted(url).fmt(formatter),
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KeySource({self})")
    }
}

/// The supported signature algorithms.
pub const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// Validates tokens.
pub(super) struct Jwt {
    pub(super) options: JwtOptions,
    pub(super) keys: ArcSwap<JwkSet>,
}

impl Jwt {
    /// Creates a validator without keys.
    pub(super) fn new(options: JwtOptions) -> Self {
        Self { options, keys: ArcSwap::from_pointee(JwkSet { keys: Vec::new() }) }
    }

    /// The current keys of the source.
    ///
    /// # Errors
    /// If they cannot be loaded.
    pub(super) async fn load(&self) -> Result<JwkSet, String> {
        let text = match &self.options.keys {
            KeySource::File(file) => std::fs::read(file).map_err(|error| error.to_string()),
            KeySource::Url(url) => fetch(url).await,
        };
        let keys = text.and_then(|text| serde_json::from_slice::<JwkSet>(&text).map_err(|error| error.to_string()));
        let keys = keys.and_then(|keys| self.checked(keys));
        keys.map_err(|problem| format!("jwt_keys: {}: {problem}", self.options.keys))
    }

    /// Returns the keys if at least one can verify a token. A set without such a key would lock out all callers.
    fn checked(&self, keys: JwkSet) -> Result<JwkSet, String> {
        let verifies = |key: &Jwk| {
            let mut algorithms = self.options.algorithms.iter().filter(|algorithm| is_for(key, **algorithm));
            DecodingKey::from_jwk(key).is_ok_and(|key| algorithms.any(|algorithm| algorithm.family() == key.family()))
        };
        if keys.keys.iter().any(verifies) { Ok(keys) } else { Err("no key for any of jwt_algorithms".to_owned()) }
    }

    /// The token's identity and expiry.
    ///
    /// # Errors
    /// The reason why the token is not valid.
    pub(super) fn find(&self, token: &str) -> Result<(Identity, SystemTime), Unidentified> {
        let header = decode_header(token).map_err(|_| Unidentified::UnknownToken)?;
        if !self.options.algorithms.contains(&header.alg) {
            return Err(Unidentified::TokenAlgorithm);
        }
        if header.crit.is_some() {
            return Err(Unidentified::TokenExtension);
        }
        let keys = self.keys.load();
        let key = match &header.kid {
            Some(kid) => keys.find(kid),
            None => Some(&keys.keys).filter(|keys| keys.len() == 1).and_then(|keys| keys.first()),
        };
        let key = key.filter(|key| is_for(key, header.alg)).ok_or(Unidentified::TokenKey)?;
        let key = DecodingKey::from_jwk(key).map_err(|_| Unidentified::TokenKey)?;
        let mut validation = Validation::new(header.alg);
        validation.set_issuer(&[&self.options.issuer]);
        validation.set_audience(&[&self.options.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY.as_secs();
        let claims =
            decode::<Map<String, Value>>(token, &key, &validation).map_err(|error| wrong(error.kind()))?.claims;
        let name = claims.get(&self.options.claim).and_then(Value::as_str).filter(|name| Identity::counts(name));
        let identity = Identity::of_subject(name.ok_or(Unidentified::TokenSubject)?);
        let until = claims.get("exp").and_then(Value::as_f64).unwrap_or_default();
        let until = Duration::try_from_secs_f64(until).unwrap_or_default().saturating_add(LEEWAY);
        Ok((identity, UNIX_EPOCH.checked_add(until).unwrap_or(UNIX_EPOCH)))
    }
}

/// Whether a key may verify this algorithm: a key that names an algorithm is for no other (RFC 8725, section 3.1), and
/// an encryption key verifies no signatures.
fn is_for(key: &Jwk, algorithm: Algorithm) -> bool {
    let signs = !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
    signs && key.common.key_algorithm.is_none_or(|named| named == KeyAlgorithm::from(algorithm))
}

fn wrong(kind: &ErrorKind) -> Unidentified {
    match kind {
        ErrorKind::ExpiredSignature | ErrorKind::ImmatureSignature => Unidentified::TokenTime,
        ErrorKind::InvalidIssuer => Unidentified::TokenIssuer,
        ErrorKind::InvalidAudience => Unidentified::TokenAudience,
        ErrorKind::InvalidSignature => Unidentified::TokenSignature,
        _ => Unidentified::UnknownToken,
    }
}

async fn fetch(url: &str) -> Result<Vec<u8>, String> {
    let client = reqwest::Client::builder().timeout(FETCHING).https_only(true).build();
    let client = client.map_err(|error| error.to_string())?;
    let response = client.get(url).send().await.and_then(reqwest::Response::error_for_status);
    let mut response = response.map_err(|error| error.without_url().to_string())?;
    let mut text = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| error.without_url().to_string())? {
        text.extend_from_slice(&part);
        if text.len() > LARGEST {
            return Err(format!("it is larger than {LARGEST} bytes"));
        }
    }
    Ok(text)
}
