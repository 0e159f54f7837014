//! The identity in a certificate.

use std::sync::LazyLock;

use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, SanType};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tenure_server::auth::Identity;
use tenure_server::transport::certificate_name;

use crate::draw::Draw;

/// The prefix of the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410).
const PKCS8: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

pub(crate) static KEY: LazyLock<KeyPair> = LazyLock::new(|| {
    let der = [&PKCS8[..], &[1; 32]].concat();
    KeyPair::from_pkcs8_der_and_sign_algo(&PrivatePkcs8KeyDer::from(der), &PKCS_ED25519).expect("a key")
});

/// Names in certificates; the first domain counts if there is no URI.
pub(crate) const URIS: [&str; 4] = ["spiffe://prod/ann", "https://example.com/bob", "urn:x", "urn:\0"];
const DOMAINS: [&str; 3] = ["ann.example.com", "b", "xn--c-xka.example"];
const OTHERS: [&str; 2] = ["ann@example.com", "spiffe.example"];

/// The identity of a certificate is a name in it: the first URI, or else the first domain. Any other bytes have no
/// identity, or one that they contain.
pub fn certificates(data: &[u8]) {
    if let Some((b'!', rest)) = data.split_first() {
        return check_drawn(&mut Draw::new(rest));
    }
    let Some(identity) = identify(&CertificateDer::from(data)) else { return };
    let name = identity.as_str().strip_prefix("cert:").expect("of its kind");
    assert!(!name.is_empty() && !name.contains('\0'), "an invalid name: {name:?}");
    assert!(data.windows(name.len()).any(|part| part == name.as_bytes()), "{name:?} is not in it");
}

fn identify(certificate: &CertificateDer<'_>) -> Option<Identity> {
    Identity::of_certificate(&certificate_name(certificate)?)
}

fn check_drawn(draw: &mut Draw<'_>) {
    let mut params = CertificateParams::default();
    let (mut uri, mut domain) = (None, None);
    for _ in 0..draw.below(6) {
        let index = draw.byte();
        params.subject_alt_names.push(match draw.below(4) {
            0 => {
                let name = pick(&URIS, index);
                uri = uri.or(Some(name));
                SanType::URI(name.try_into().expect("ASCII"))
            }
            1 => {
                let name = pick(&DOMAINS, index);
                domain = domain.or(Some(name));
                SanType::DnsName(name.try_into().expect("ASCII"))
            }
            2 => SanType::Rfc822Name(pick(&OTHERS, index).try_into().expect("ASCII")),
            _ => SanType::IpAddress([index; 4].into()),
        });
    }
    let certificate = params.self_signed(&*KEY).expect("a certificate");
    let identity = identify(certificate.der());
    let expected = uri.or(domain).filter(|name| !name.contains('\0')).map(|name| format!("cert:{name}"));
    assert_eq!(identity.as_ref().map(Identity::as_str), expected.as_deref());
}

fn pick(names: &[&'static str], index: u8) -> &'static str {
    names[usize::from(index) % names.len()]
}
