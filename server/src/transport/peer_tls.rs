//! Mutual authentication of servers over TLS. Each server generates a certificate when it starts and publishes its hash
//! in the servers table: write access to that table is what identifies a server, so that no CA, file or shared secret
//! is needed.

use std::sync::Arc;

use ::aws_lc_rs::digest::{SHA256, digest};
use rcgen::{CertificateParams, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};

/// The protocol between servers over TLS (ALPN, RFC 7301), by which a called server recognizes another one.
pub(crate) const PROTOCOL: &[u8] = b"tenure-peer";

/// The name in all of these certificates; it is not checked.
pub(crate) const NAME: &str = "tenure-peer";

/// A server's key and certificate, whose hash is in the servers table.
pub struct Proof {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    server: Arc<ServerConfig>,
}

impl Proof {
    /// Generates a key and a self-signed certificate.
    ///
    /// # Errors
    /// If no randomness is available.
    pub fn make() -> anyhow::Result<Self> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new([NAME.to_owned()])?.self_signed(&key)?.der().clone();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = Arc::new(Noted(provider.signature_verification_algorithms));
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate.clone()], key.clone_key())?;
        server.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Self { certificate, key, server: Arc::new(server) })
    }

    /// The certificate hash for the servers table.
    #[must_use]
    pub fn hash(&self) -> String {
        hash(&self.certificate)
    }

    /// The TLS configuration for calls from other servers.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        self.server.clone()
    }

    /// The TLS configuration for calls to the server with this certificate hash.
    ///
    /// # Errors
    /// If rustls rejects the generated key, which is not expected.
    pub(crate) fn client(&self, hash: &str) -> Result<ClientConfig, Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let verifier = Arc::new(Pinned { hash: hash.to_owned(), algorithms });
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_auth_cert(vec![self.certificate.clone()], self.key.clone_key())?;
        client.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(client)
    }
}

/// The SHA-256 hash of a certificate, in hexadecimal.
pub(crate) fn hash(certificate: &CertificateDer<'_>) -> String {
    digest(&SHA256, certificate).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn too_old() -> Error {
    Error::General("TLS 1.3 is required between servers".to_owned())
}

/// Accepts any certificate whose key the peer owns. The hash is compared on each call, when the calling server is
/// known.
#[derive(Debug)]
struct Noted(WebPkiSupportedAlgorithms);

impl ClientCertVerifier for Noted {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// Accepts only the certificate with this hash.
#[derive(Debug)]
struct Pinned {
    hash: String,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if hash(certificate) == self.hash {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
