//! Reads the name in a client certificate.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

/// The name in a certificate: its first URI, else its first DNS name (RFC 5280, section 4.2.1.6). `None` if it has
/// neither.
#[must_use]
pub fn certificate_name(certificate: &CertificateDer<'_>) -> Option<Arc<str>> {
    let certificate = EndEntityCert::try_from(certificate).ok()?;
    let name = certificate.valid_uri_names().next().or_else(|| certificate.valid_dns_names().next())?;
    Some(name.into())
}
