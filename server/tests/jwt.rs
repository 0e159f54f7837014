//! JSON Web Tokens: those that are accepted, and the rule by which each other one is rejected.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tenure_server::auth::{Access, CredentialOptions, JwtOptions, KeySource, Unidentified};
use tenure_server::telemetry::metrics::Metrics;
use tenure_server::transport::Peer;

/// An issuer of tokens.
struct Issuer {
    key: EncodingKey,
    kid: &'static str,
}

impl Issuer {
    fn new(kid: &'static str) -> Self {
        let key = aws_lc_rs::signature::Ed25519KeyPair::generate().unwrap();
        let key = EncodingKey::from_ed_der(key.to_pkcs8v1().unwrap().as_ref());
        Self { key, kid }
    }

    fn public(&self) -> Jwk {
        let mut key = Jwk::from_encoding_key(&self.key, Algorithm::EdDSA).unwrap();
        key.common.key_id = Some(self.kid.to_owned());
        key
    }

    /// Signs a token with a critical extension that no verifier knows.
    fn sign_critical(&self, claims: &Value) -> String {
        let (kid, crit) = (Some(self.kid.to_owned()), Some(vec!["https://id.example/extension".to_owned()]));
        let header = Header { kid, crit, ..Header::new(Algorithm::EdDSA) };
        encode(&header, claims, &self.key).unwrap()
    }

    fn sign(&self, claims: &Value) -> String {
        let header = Header { kid: Some(self.kid.to_owned()), ..Header::new(Algorithm::EdDSA) };
        encode(&header, claims, &self.key).unwrap()
    }
}

fn claims(from_now: i64) -> Value {
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    json!({"iss": "https://id.example", "aud": ["other", "tenure"], "sub": "worker-7", "exp": now + from_now})
}

fn with(name: &str, value: impl Into<Value>) -> Value {
    let mut claims = claims(60);
    claims[name] = value.into();
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims(60);
    claims.as_object_mut().unwrap().remove(name);
    claims
}

fn write_keys(file: &Path, keys: Vec<Jwk>) {
    std::fs::write(file, serde_json::to_vec(&JwkSet { keys }).unwrap()).unwrap();
}

async fn access(file: &Path) -> Access {
    let jwt = JwtOptions {
        keys: KeySource::File(file.to_owned()),
        issuer: "https://id.example".to_owned(),
        audience: "tenure".to_owned(),
        algorithms: vec![Algorithm::EdDSA, Algorithm::ES256],
        claim: "sub".to_owned(),
    };
    Access::load(CredentialOptions { jwt: Some(jwt), ..CredentialOptions::default() }, None, &Metrics::default())
        .await
        .unwrap()
}

fn identify(access: &Access, token: &str) -> Result<String, Unidentified> {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}")).unwrap());
    access.identify(&headers, &Peer::default()).map(|caller| caller.identity.unwrap().to_string())
}

/// The token with another header.
fn with_header(token: &str, header: &Value) -> String {
    let (_, rest) = token.split_once('.').unwrap();
    format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header.to_string()))
}

#[tokio::test]
async fn token_is_accepted_only_if_all_of_it_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let (issuer, stranger) = (Issuer::new("one"), Issuer::new("one"));
    write_keys(&file, vec![issuer.public(), Issuer::new("two").public()]);
    let access = access(&file).await;
    let good = issuer.sign(&claims(60));
    assert_eq!(identify(&access, &good).as_deref(), Ok("jwt:worker-7"));
    assert_eq!(identify(&access, &issuer.sign(&claims(-10))).as_deref(), Ok("jwt:worker-7"), "clocks may differ");

    let body = good.rsplit_once('.').unwrap().0;
    let refused = [
        (issuer.sign(&claims(-60)), Unidentified::TokenTime),
        (issuer.sign(&with("nbf", 32_503_680_000_u64)), Unidentified::TokenTime),
        (issuer.sign(&with("iss", "https://id.example.evil")), Unidentified::TokenIssuer),
        (issuer.sign(&with("aud", "tenured")), Unidentified::TokenAudience),
        (issuer.sign(&with("sub", "")), Unidentified::TokenSubject),
        (issuer.sign(&with("sub", 7)), Unidentified::TokenSubject),
        (issuer.sign(&with("sub", "worker\0")), Unidentified::TokenSubject),
        (issuer.sign(&with("sub", "worker\u{85}7")), Unidentified::TokenSubject),
        (issuer.sign(&with("sub", "w".repeat(2_049))), Unidentified::TokenSubject),
        (issuer.sign(&without("sub")), Unidentified::TokenSubject),
        (issuer.sign(&without("exp")), Unidentified::UnknownToken),
        (issuer.sign(&without("aud")), Unidentified::UnknownToken),
        (issuer.sign(&without("iss")), Unidentified::UnknownToken),
        (stranger.sign(&claims(60)), Unidentified::TokenSignature),
        (Issuer::new("three").sign(&claims(60)), Unidentified::TokenKey),
        (with_header(&good, &json!({"alg": "none", "kid": "one"})), Unidentified::UnknownToken),
        (with_header(&good, &json!({"alg": "HS256", "kid": "one"})), Unidentified::TokenAlgorithm),
        (with_header(&good, &json!({"alg": "RS256", "kid": "one"})), Unidentified::TokenAlgorithm),
        (with_header(&good, &json!({"alg": "ES256", "kid": "one"})), Unidentified::TokenKey),
        (with_header(&good, &json!({"alg": "EdDSA"})), Unidentified::TokenKey),
        (with_header(&good, &json!({"alg": "EdDSA", "kid": "two"})), Unidentified::TokenSignature),
        (issuer.sign_critical(&claims(60)), Unidentified::TokenExtension),
        (format!("{body}."), Unidentified::TokenSignature),
        (body.to_owned(), Unidentified::UnknownToken),
        ("..".to_owned(), Unidentified::UnknownToken),
        ("nonsense".to_owned(), Unidentified::UnknownToken),
    ];
    for (token, rule) in refused {
        assert_eq!(identify(&access, &token), Err(rule), "{token}");
    }
    assert_eq!(access.identify(&HeaderMap::new(), &Peer::default()).err(), Some(Unidentified::CredentialsRequired));
}

#[tokio::test]
async fn keys_can_be_replaced_and_unreadable_ones_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let (first, second) = (Issuer::new("one"), Issuer::new("two"));
    write_keys(&file, vec![first.public()]);
    let access = access(&file).await;
    let (by_first, by_second) = (first.sign(&claims(60)), second.sign(&claims(60)));
    assert_eq!(identify(&access, &by_second), Err(Unidentified::TokenKey));
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::try_from(format!("Bearer {by_first}")).unwrap());
    let caller = access.identify(&headers, &Peer::default()).unwrap();
    std::fs::write(&file, "{").unwrap();
    assert!(access.reload_keys().await.unwrap_err().contains("jwt_keys"));
    identify(&access, &by_first).unwrap();
    write_keys(&file, vec![second.public()]);
    assert_eq!(access.reload_keys().await, Ok(true));
    assert_eq!(access.reload_keys().await, Ok(false));
    identify(&access, &by_second).unwrap();
    assert_eq!(identify(&access, &by_first), Err(Unidentified::TokenKey));
    let rule = tokio::time::timeout(Duration::from_secs(30), caller.revoked()).await;
    assert_eq!(rule, Ok(Unidentified::TokenKey), "open streams end as well");
}

#[tokio::test]
async fn keys_that_can_verify_no_token_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let issuer = Issuer::new("one");
    write_keys(&file, vec![issuer.public()]);
    let access = access(&file).await;
    let token = issuer.sign(&claims(60));
    let symmetric = json!({"keys": [{"kty": "oct", "kid": "one", "k": "c2VjcmV0"}]});
    let mut for_encryption = issuer.public();
    for_encryption.common.public_key_use = Some(PublicKeyUse::Encryption);
    for keys in [json!({"keys": []}), symmetric, json!({"keys": [for_encryption]})] {
        std::fs::write(&file, keys.to_string()).unwrap();
        let refused = access.reload_keys().await;
        assert!(refused.as_ref().is_err_and(|error| error.contains("no key for any of jwt_algorithms")), "{refused:?}");
        identify(&access, &token).expect("the previous keys stay");
    }
}

#[tokio::test]
async fn caller_is_revoked_when_its_token_expires() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let issuer = Issuer::new("one");
    write_keys(&file, vec![issuer.public()]);
    let access = access(&file).await;
    let mut headers = HeaderMap::new();
    // The token expired 29 seconds ago: one second of the allowed clock skew is left.
    let token = issuer.sign(&claims(-29));
    headers.insert(AUTHORIZATION, HeaderValue::try_from(format!("Bearer {token}")).unwrap());
    let caller = access.identify(&headers, &Peer::default()).unwrap();
    let rule = tokio::time::timeout(Duration::from_secs(30), caller.revoked()).await;
    assert_eq!(rule, Ok(Unidentified::TokenTime));
}
