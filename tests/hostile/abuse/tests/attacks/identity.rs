//! Attempts to assume another identity.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use aws_lc_rs::{hmac, rand};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tenure_abuse::{Attack, GrpcCaller, GrpcResponse, assert_no_leaks, message};

use crate::service::Service;

const UNAUTHENTICATED: i32 = 16;

const LIST: &str = "/tenure.v1.LockService/ListLocks";

/// Any valid token may read; the identity is the claim `sub`.
const POLICY: &str = r#"
    [[roles.reader]]
    verbs = ["read"]
    [[grants]]
    identity = "jwt:worker"
    roles = ["reader"]
"#;

/// A token issuer.
struct Issuer {
    key: Ed25519KeyPair,
}

impl Issuer {
    fn new() -> Self {
        Self { key: Ed25519KeyPair::generate().unwrap() }
    }

    fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.key.public_key())
    }

    fn jwk(&self) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "one", "x": self.public()})
    }

    /// Signs a token of these texts, which need not be valid JSON.
    fn sign(&self, header: &str, claims: &str) -> String {
        let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = self.key.sign(text.as_bytes());
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn header() -> Value {
    json!({"alg": "EdDSA", "typ": "JWT", "kid": "one"})
}

fn claims() -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    json!({"iss": "https://id.example", "aud": "tenure", "sub": "worker", "exp": now + 600})
}

/// Replaces the value of a member.
fn with(mut whole: Value, name: &str, value: impl Into<Value>) -> String {
    whole[name] = value.into();
    whole.to_string()
}

/// A token signed with the issuer's public key as the HMAC secret.
fn signed_with_public_key(secret: &[u8]) -> String {
    let text = format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(with(header(), "alg", "HS256")),
        URL_SAFE_NO_PAD.encode(claims().to_string())
    );
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(tag))
}

fn forged(issuer: &Issuer) -> Vec<(&'static str, String)> {
    let (right_header, right_claims) = (header().to_string(), claims().to_string());
    let good = issuer.sign(&right_header, &right_claims);
    let (text, signature) = good.rsplit_once('.').unwrap();
    let unsigned = |alg: &str| {
        format!("{}.{}.", URL_SAFE_NO_PAD.encode(with(header(), "alg", alg)), URL_SAFE_NO_PAD.encode(&right_claims))
    };
    let own = Issuer::new();
    let by_other_key = |name: &str, value: Value| own.sign(&with(header(), name, value), &right_claims);
    let mut random = [0; 64];
    rand::fill(&mut random).unwrap();
    let twice = right_claims.replacen('{', "{\"iss\":\"https://id.evil\",", 1);
    vec![
        ("alg none", unsigned("none")),
        ("alg None", unsigned("None")),
        ("no signature", format!("{text}.")),
        ("two parts", text.to_owned()),
        ("a random signature", format!("{text}.{}", URL_SAFE_NO_PAD.encode(random))),
        ("four parts", format!("{good}.{signature}")),
        ("HMAC with the public key", signed_with_public_key(issuer.key.public_key().as_ref())),
        ("HMAC with the public key as it is published", signed_with_public_key(issuer.public().as_bytes())),
        ("another kid", issuer.sign(&with(header(), "kid", "two"), &right_claims)),
        ("a path as kid", issuer.sign(&with(header(), "kid", "../../etc/passwd"), &right_claims)),
        ("SQL as kid", issuer.sign(&with(header(), "kid", "' OR '1'='1"), &right_claims)),
        ("an unknown key", own.sign(&right_header, &right_claims)),
        ("a key in the token", by_other_key("jwk", own.jwk())),
        ("a URL of keys in the token", by_other_key("jku", json!("https://id.evil/keys"))),
        ("a certificate in the token", by_other_key("x5c", json!(["MIIB"]))),
        ("a URL of a certificate in the token", by_other_key("x5u", json!("https://id.evil/cert"))),
        ("another issuer", issuer.sign(&right_header, &with(claims(), "iss", "https://id.evil"))),
        (
            "an issuer that begins like ours",
            issuer.sign(&right_header, &with(claims(), "iss", "https://id.example.evil")),
        ),
        ("another audience", issuer.sign(&right_header, &with(claims(), "aud", "other"))),
        ("expired", issuer.sign(&right_header, &with(claims(), "exp", 1_000_000_000))),
        ("an end that is a text", issuer.sign(&right_header, &with(claims(), "exp", "never"))),
        ("an end before all time", issuer.sign(&right_header, &with(claims(), "exp", -1))),
        ("not valid yet", issuer.sign(&right_header, &with(claims(), "nbf", 32_503_680_000_u64))),
        ("no subject", issuer.sign(&right_header, &with(claims(), "sub", ""))),
        ("a subject of another kind", issuer.sign(&right_header, &with(claims(), "sub", json!({"a": 1})))),
        ("no claims", issuer.sign(&right_header, "{}")),
        ("no JSON", issuer.sign(&right_header, "\u{0}")),
        ("a list", issuer.sign(&right_header, "[]")),
        ("deep JSON", issuer.sign(&right_header, &"[".repeat(4_000))),
        (
            "an issuer twice, ours first",
            issuer
                .sign(&right_header, &format!("{},\"iss\":\"https://id.evil\"}}", right_claims.trim_end_matches('}'))),
        ),
        ("an issuer twice, ours last, by another key", own.sign(&right_header, &twice)),
    ]
}

fn assert_unauthenticated(name: &str, answer: &GrpcResponse) {
    assert_eq!((answer.http, answer.grpc), (200, Some(UNAUTHENTICATED)), "{name}: {answer:?}");
    assert_no_leaks(&answer.text);
}

#[tokio::test]
async fn forged_tokens_are_rejected() {
    let issuer = Issuer::new();
    let keys = json!({"keys": [issuer.jwk()]}).to_string();
    let service = Service::start(&[], POLICY, |folder| {
        let file = folder.path().join("keys.json");
        std::fs::write(&file, keys).unwrap();
        let file = file.display().to_string();
        ["--jwt-keys", &file, "--jwt-issuer", "https://id.example", "--jwt-audience", "tenure"]
            .map(str::to_owned)
            .into()
    })
    .await;
    let attack = async || {
        let caller = GrpcCaller::connect(service.target.address()).await.unwrap();
        let good = format!("Bearer {}", issuer.sign(&header().to_string(), &claims().to_string()));
        let answer = caller.call(LIST, &[("authorization", &good)], &message(&[])).await.unwrap();
        assert_eq!(answer.grpc, Some(0), "{answer:?}");
        for (name, token) in forged(&issuer) {
            let bearer = format!("Bearer {token}");
            assert_unauthenticated(
                name,
                &caller.call(LIST, &[("authorization", &bearer)], &message(&[])).await.unwrap(),
            );
        }
        // Exceeds the header size limit: it is not even read.
        let huge = format!("Bearer {}", "a".repeat(15_000));
        assert_unauthenticated("huge", &caller.call(LIST, &[("authorization", &huge)], &message(&[])).await.unwrap());
        let huge = format!("Bearer {}", "a".repeat(20_000));
        let answer = caller.call(LIST, &[("authorization", &huge)], &message(&[])).await;
        assert!(!answer.is_ok_and(|answer| answer.grpc == Some(0)));
    };
    service.target.run_repeatedly(Attack::named("forged tokens"), attack).await;
}

/// CVE-2024-51504 and similar: headers that claim an identity or an address are ignored.
#[tokio::test]
async fn headers_that_claim_an_identity_are_ignored() {
    let service = Service::start(&[], "", |_| Vec::new()).await;
    let root = service.bearer("root");
    let (scheme, token) = root.split_once(' ').unwrap();
    let attack = async {
        let caller = GrpcCaller::connect(service.target.address()).await.unwrap();
        let claims = [
            ("x-forwarded-for", "127.0.0.1".to_owned()),
            ("x-real-ip", "127.0.0.1".to_owned()),
            ("forwarded", "for=127.0.0.1".to_owned()),
            ("x-forwarded-client-cert", "URI=spiffe://root".to_owned()),
            ("x-forwarded-user", "root".to_owned()),
            ("x-remote-user", "token:root".to_owned()),
            ("authorization", String::new()),
            ("authorization", format!("Basic {token}")),
            ("authorization", token.to_owned()),
            ("authorization", format!("{scheme} {token}x")),
            ("authorization", format!("{scheme} {}", token.to_uppercase())),
            ("authorization", format!("{scheme} {}", &token[..token.len() - 1])),
            ("authorization", "Bearer".to_owned()),
            ("authorization", "Bearer root".to_owned()),
            ("cookie", format!("authorization={token}")),
            ("x-authorization", root.clone()),
        ];
        for (name, value) in &claims {
            for path in [
                LIST,
                "/tenure.v1.ClientService/Connect",
                "/no/such",
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            ] {
                assert_unauthenticated(name, &caller.call(path, &[(name, value)], &message(&[])).await.unwrap());
            }
        }
        // A proxy may choose the other one.
        let other = format!("{scheme} {token}x");
        for both in [[&root, &other], [&other, &root], [&root, &root]] {
            let both = both.map(|value| ("authorization", value.as_str()));
            let answer = caller.call(LIST, &both, &message(&[])).await.unwrap();
            assert!(answer.grpc == Some(3) && answer.text.starts_with("authorization:"), "{answer:?}");
        }
    };
    service.target.run(Attack::named("claimed identities"), attack).await;
}
