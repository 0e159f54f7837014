//! JSON Web Tokens, and the sets of keys that sign them.

use std::sync::LazyLock;
use std::time::SystemTime;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use tenure_server::auth::fuzzing::Taker;
use tenure_server::auth::{ALGORITHMS, JwtOptions, KeySource};

use crate::draw::Draw;

const ISSUER: &str = "issuer";
const AUDIENCE: &str = "tenure";

/// A time in the distant future, in s since 1970.
const LATER: u64 = 4_102_444_800;

static OURS: LazyLock<Ed25519KeyPair> = LazyLock::new(|| key(1));
static THEIRS: LazyLock<Ed25519KeyPair> = LazyLock::new(|| key(2));
static TAKER: LazyLock<Taker> =
    LazyLock::new(|| Taker::new(options(), public_keys().to_string().as_bytes()).expect("keys"));

fn key(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a seed")
}

/// A token is accepted only if the known key has signed it, for this audience, by this issuer, and at this time; it
/// then identifies its subject. A set has exactly the keys that it lists.
pub fn jwt(data: &[u8]) {
    match data.split_first() {
        Some((b'!', rest)) => check_claims(&mut Draw::new(rest)),
        Some((b'?', rest)) => check_keys(rest),
        _ => {
            let Ok(token) = std::str::from_utf8(data) else { return };
            // The signature has other spellings, but the signed text does not.
            let is_ours =
                token.rsplit_once('.').is_some_and(|(message, _)| usual().starts_with(&format!("{message}.")));
            match TAKER.find(token) {
                Ok((identity, until)) => {
                    assert!(is_ours, "the signature of {token} is not valid");
                    assert_eq!(identity.as_str(), "jwt:ann");
                    assert!(until > SystemTime::now());
                }
                Err(why) => assert!(!why.rule().is_empty() && token != usual()),
            }
        }
    }
}

fn options() -> JwtOptions {
    let algorithms = ALGORITHMS.iter().map(|(_, algorithm)| *algorithm).collect();
    let (issuer, audience, claim) = (ISSUER.to_owned(), AUDIENCE.to_owned(), "sub".to_owned());
    JwtOptions { keys: KeySource::File("keys".into()), issuer, audience, algorithms, claim }
}

/// The public part of our key.
fn public_keys() -> Value {
    let x = URL_SAFE_NO_PAD.encode(OURS.public_key());
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": "ours", "x": x}]})
}

/// An acceptable token.
fn usual() -> String {
    let header = json!({"alg": "EdDSA", "kid": "ours"});
    signed(&header, &json!({"exp": LATER, "iss": ISSUER, "aud": AUDIENCE, "sub": "ann"}), Signer::Ours)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Signer {
    Ours,
    Theirs,
    /// With the public part of our key.
    Public,
    Unsigned,
}

fn signed(header: &Value, claims: &Value, by: Signer) -> String {
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let message = format!("{header}.{claims}");
    let signature = match by {
        Signer::Ours => OURS.sign(message.as_bytes()).as_ref().to_vec(),
        Signer::Theirs => THEIRS.sign(message.as_bytes()).as_ref().to_vec(),
        Signer::Public => {
            let secret = hmac::Key::new(hmac::HMAC_SHA256, OURS.public_key().as_ref());
            hmac::sign(&secret, message.as_bytes()).as_ref().to_vec()
        }
        Signer::Unsigned => Vec::new(),
    };
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// One of these values for a claim; none omits it. The `good` ones are acceptable.
fn choose(draw: &mut Draw<'_>, good: &[Value], bad: &[Value]) -> (Option<Value>, bool) {
    let index = draw.below(10);
    match index.checked_sub(4) {
        None => (Some(good[index % good.len()].clone()), true),
        Some(0) => (None, false),
        Some(index) => (Some(bad[(index - 1) % bad.len()].clone()), false),
    }
}

fn check_claims(draw: &mut Draw<'_>) {
    let signer = draw.of(&[Signer::Ours, Signer::Ours, Signer::Ours, Signer::Theirs, Signer::Public, Signer::Unsigned]);
    let algorithm = draw.of(&["EdDSA", "EdDSA", "EdDSA", "HS256", "none", "RS256"]);
    let kid = draw.of(&[Some("ours"), None, Some("ours"), Some("other")]);
    let fine = [json!(LATER), json!(LATER as f64)];
    let (exp, is_in_time) = choose(draw, &fine, &[json!(1), json!(-1), json!("later"), json!(null), json!([LATER])]);
    let (iss, is_by) = choose(draw, &[json!(ISSUER)], &[json!("other"), json!(""), json!(null), json!(1)]);
    let for_us = [json!(AUDIENCE), json!(["other", AUDIENCE])];
    let (aud, is_for) = choose(draw, &for_us, &[json!("other"), json!([]), json!(null), json!({AUDIENCE: 1})]);
    let (nbf, counts) = choose(draw, &[json!(1)], &[json!(LATER)]);
    let subject = String::from_utf8_lossy(draw.rest()).into_owned();
    let mut claims = Map::from_iter([("sub".to_owned(), json!(subject))]);
    for (name, value) in [("exp", exp), ("iss", iss), ("aud", aud), ("nbf", nbf.clone())] {
        claims.extend(value.map(|value| (name.to_owned(), value)));
    }
    let mut header = json!({"alg": algorithm});
    kid.iter().for_each(|kid| header["kid"] = json!(kid));
    let token = signed(&header, &Value::Object(claims), signer);
    let is_good = (signer, algorithm) == (Signer::Ours, "EdDSA") && kid != Some("other");
    // A subject that databases cannot store is invalid, however it is signed.
    let is_good = is_good && (1..=2_048).contains(&subject.len()) && !subject.chars().any(char::is_control);
    let is_good = is_good && is_in_time && is_by && is_for && (counts || nbf.is_none());
    match TAKER.find(&token) {
        Ok((identity, until)) => {
            assert!(is_good, "{header} {token}");
            assert_eq!(identity.as_str(), format!("jwt:{subject}"));
            assert!(until > SystemTime::now());
        }
        Err(why) => assert!(!is_good, "{why}: {header} {token}"),
    }
}

/// Any set of keys: a token is accepted only if its key is in it.
fn check_keys(keys: &[u8]) {
    let taker = match Taker::new(options(), keys) {
        Ok(taker) => taker,
        Err(problem) => return assert!(!problem.is_empty()),
    };
    let theirs = signed(&json!({"alg": "EdDSA"}), &json!({"exp": LATER, "sub": "ann"}), Signer::Theirs);
    assert!(taker.find(&theirs).is_err());
    if taker.find(&usual()).is_ok() {
        let x = URL_SAFE_NO_PAD.encode(OURS.public_key());
        let set: Value = serde_json::from_slice(keys).expect("it was read");
        let has_it = |key: &Value| key["x"].as_str().is_some_and(|known| known[..42] == x[..42]);
        assert!(set["keys"].as_array().is_some_and(|keys| keys.iter().any(has_it)), "{set}");
    }
}
