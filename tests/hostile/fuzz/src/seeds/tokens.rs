//! Page tokens, claims of JSON Web Tokens, certificates, and lines of the audit log.

use rcgen::{CertificateParams, SanType};
use tenure_server::grpc::fuzzing::page_token;

use super::Seed;
use crate::certificates::{KEY, URIS};
use crate::pages::SCOPES;

pub(super) fn seeds() -> Vec<Seed> {
    let pages = [
        ("name", 0, "team-a/job".to_owned()),
        ("session-id", 4, "ann".to_owned()),
        ("history-entry", 5, "12-7".to_owned()),
        ("token-of-a-list-of-locks", 0, page_token(SCOPES[0], "team-a/job")),
        ("token-of-a-list-by-prefix", 1, page_token(SCOPES[1], "a/b")),
        ("token-of-another-namespace", 0, page_token(SCOPES[2], "b")),
        ("token-of-another-list", 3, page_token(SCOPES[4], "ann")),
        ("token-of-no-place", 0, page_token(SCOPES[0], "")),
        ("token-padded", 0, format!("{}=", page_token(SCOPES[0], "ab"))),
        ("not-base64", 2, "!\u{1f512}".to_owned()),
    ];
    let pages = pages.map(|(name, scope, text)| ("pages", name, [&[scope], text.as_bytes()].concat()));
    let claims = JWT.map(|(name, choices, subject)| ("jwt", name, [b"!", choices, subject.as_bytes()].concat()));
    let audit = AUDIT.map(|(name, head, parts)| ("audit", name, [head, parts.join("\u{1f}").as_bytes()].concat()));
    [pages.to_vec(), claims.to_vec(), certificates(), audit.to_vec()].concat()
}

/// The choices for the signer, the algorithm, the key's id, `exp`, `iss`, `aud` and `nbf`; and the subject.
const JWT: [(&str, &[u8], &str); 10] = [
    ("claims-fine", &[0; 7], "ann"),
    ("claims-without-key-id", &[0, 0, 1, 1, 0, 1, 4], "ann"),
    ("claims-of-another-key", &[3, 0, 0, 0, 0, 0, 0], "ann"),
    ("claims-signed-with-the-public-key", &[4, 3, 0, 0, 0, 0, 0], "ann"),
    ("claims-without-signature", &[5, 4, 0, 0, 0, 0, 0], "ann"),
    ("claims-expired", &[0, 0, 0, 5, 0, 0, 0], "ann"),
    ("claims-of-another-issuer", &[0, 0, 0, 0, 5, 0, 0], "ann"),
    ("claims-for-another-audience", &[0, 0, 0, 0, 0, 5, 0], "ann"),
    ("claims-not-before-later", &[0, 0, 0, 0, 0, 0, 5], "ann"),
    ("claims-of-a-subject-that-is-no-name", &[0; 7], "a\nb"),
];

/// The choices for the rejection, the token, the address and the time; and the texts: the rule, the identity, the call,
/// the namespace, the session, the operator, the note and the names.
const AUDIT: [(&str, &[u8], &[&str]); 10] = [
    ("acquire-allowed", &[0, 5, 0, 1], &["", "token:ann", "/tenure.v1.LockService/Acquire", "", "ann", "", "", "a"]),
    (
        "acquire-two-names-denied",
        &[1, 0, 0, 1],
        &["policy", "token:ann", "/x/Acquire", "blue", "ann", "", "", "a", "b"],
    ),
    ("evict-with-operator-and-note", &[0, 5, 0, 1], &["", "cert:eve", "/x/Evict", "default", "", "eve", "why", "a"]),
    ("with-address", &[0, 5, 1, 127, 255, 0, 0, 0, 0, 1, 0, 0, 0], &["", "token:ann", "/x/Watch"]),
    ("with-largest-token", &[0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 1], &["", "token:ann", "/x/Release"]),
    ("unauthenticated-rejected", &[1, 0, 0, 1], &["unauthenticated", "", "/x/GetLock"]),
    ("texts-that-json-escapes", &[0, 5, 0, 1], &["", "\"\\\n\t", "/x/\u{7f}", "\0", "\u{2028}", "\u{1f512}", "\u{e9}"]),
    ("note-that-is-an-object", &[0, 5, 0, 1], &["", "token:ann", "/x/Evict", "", "", "", "\n{\"allowed\":true}\n"]),
    ("empty", &[0, 0, 0, 0], &[]),
    ("only-names", &[0, 0, 0, 0], &["", "", "", "", "", "", "", "a", "", "c"]),
];

fn certificates() -> Vec<Seed> {
    // The index of each name, and its kind: a URI, a domain, an email address, an IP address.
    const DRAWN: [(&str, &[u8]); 5] = [
        ("drawn-two-uris", &[2, 0, 0, 1, 0]),
        ("drawn-domain-before-uri", &[2, 0, 1, 0, 0]),
        ("drawn-domains-and-others", &[4, 0, 2, 1, 3, 1, 1, 2, 1]),
        ("drawn-uri-with-a-zero", &[2, 3, 0, 0, 1]),
        ("drawn-no-names", &[0]),
    ];
    let drawn = DRAWN.iter().map(|(name, choices)| ("certificates", *name, [b"!", *choices].concat()));
    let uri = || SanType::URI(URIS[0].try_into().expect("ASCII"));
    let domain = || SanType::DnsName("ann.example.com".try_into().expect("ASCII"));
    let encoded = [
        ("uri", vec![uri()]),
        ("domain", vec![domain()]),
        ("domain-and-uri", vec![domain(), uri()]),
        ("no-names", vec![]),
    ];
    let encoded = encoded.map(|(name, names)| ("certificates", name, certificate(names)));
    let cut = certificate(vec![uri()]);
    let cut = ("certificates", "uri-cut-short", cut[..cut.len() / 2].to_vec());
    drawn.chain(encoded).chain([cut]).collect()
}

fn certificate(names: Vec<SanType>) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.subject_alt_names = names;
    params.self_signed(&*KEY).expect("it can be signed").der().to_vec()
}
