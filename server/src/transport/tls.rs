//! TLS with certificates from files, which may be replaced while the server runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate, X509Error};

/// The application protocol of clients (ALPN).
const PROTOCOL: &[u8] = b"h2";

/// The TLS files of a server, all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate chain.
    pub cert: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
    /// The CA of client certificates. `None`: no client certificate is requested.
    pub client_ca: Option<PathBuf>,
    /// The revocation lists of that CA.
    pub client_crl: Option<PathBuf>,
}

/// The setting, the file, and the reason why the file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {}: {problem}", file.display())]
pub struct TlsError {
    setting: &'static str,
    file: PathBuf,
    problem: String,
}

/// The TLS configuration for incoming connections.
pub struct Tls {
    files: TlsFiles,
    current: ArcSwap<Current>,
    read: Mutex<Contents>,
}

/// The configuration in force.
struct Current {
    config: Arc<ServerConfig>,
    verifier: Arc<dyn ClientCertVerifier>,
    expiry: i64,
}

/// The contents of the files when last loaded.
#[derive(PartialEq, Eq)]
struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
    client_crl: Option<Vec<u8>>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let read = files.read()?;
        let current = ArcSwap::from_pointee(files.config(&read)?);
        Ok(Self { files, current, read: Mutex::new(read) })
    }

    /// The configuration for new connections.
    #[must_use]
    pub fn current(&self) -> Arc<ServerConfig> {
        self.current.load().config.clone()
    }

    /// When the first certificate of the served chain expires, in seconds since 1970.
    #[must_use]
    pub fn expiry(&self) -> i64 {
        self.current.load().expiry
    }

    /// Whether a client with this certificate chain would be accepted now.
    #[must_use]
    pub fn trusts(&self, chain: &[CertificateDer<'_>]) -> bool {
        let Some((first, others)) = chain.split_first() else { return false };
        let verifier = self.current.load().verifier.clone();
        verifier.offer_client_auth() && verifier.verify_client_cert(first, others, UnixTime::now()).is_ok()
    }

    /// Reloads the files and returns whether they have changed. Existing connections are not affected.
    ///
    /// # Errors
    /// If one of them cannot be used; the previous configuration stays in force.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let read = self.files.read()?;
        let mut before = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read == *before {
            return Ok(false);
        }
        self.current.store(Arc::new(self.files.config(&read)?));
        *before = read;
        Ok(true)
    }
}

impl TlsFiles {
    fn read(&self) -> Result<Contents, TlsError> {
        let optional = |setting, file: &Option<PathBuf>| file.as_ref().map(|file| read(setting, file)).transpose();
        Ok(Contents {
            cert: read("tls_cert", &self.cert)?,
            key: read("tls_key", &self.key)?,
            client_ca: optional("tls_client_ca", &self.client_ca)?,
            client_crl: optional("tls_client_crl", &self.client_crl)?,
        })
    }

    fn config(&self, read: &Contents) -> Result<Current, TlsError> {
        let certs: Vec<CertificateDer<'static>> = items("tls_cert", &self.cert, &read.cert, "certificate")?;
        let expiry = expiry(&certs).map_err(|error| problem("tls_cert", &self.cert, error))?;
        let key = PrivateKeyDer::from_pem_slice(&read.key)
            .map_err(|error| problem("tls_key", &self.key, format!("no private key in PEM: {error}")))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = match (&self.client_ca, &read.client_ca) {
            (Some(file), Some(pem)) => {
                let issuers: Vec<CertificateDer<'static>> = items("tls_client_ca", file, pem, "certificate")?;
                let revoked = self.revoked(read, &issuers)?;
                let mut roots = RootCertStore::empty();
                for issuer in issuers {
                    roots.add(issuer).map_err(|error| problem("tls_client_ca", file, error.to_string()))?;
                }
                let builder = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
                // Clients without a certificate may have other credentials.
                let builder = builder.allow_unauthenticated().with_crls(revoked);
                let builder = builder.only_check_end_entity_revocation();
                builder.build().map_err(|error| problem("tls_client_ca", file, error.to_string()))?
            }
            _ => WebPkiClientVerifier::no_client_auth(),
        };
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = builder.map(|builder| builder.with_client_cert_verifier(verifier.clone()));
        let mut config = config
            .and_then(|builder| builder.with_single_cert(certs, key))
            .map_err(|error| problem("tls_cert", &self.cert, error.to_string()))?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Current { config: Arc::new(config), verifier, expiry })
    }

    /// The revocation lists, each signed by one of these issuers.
    fn revoked(
        &self,
        read: &Contents,
        issuers: &[CertificateDer<'_>],
    ) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
        let (Some(file), Some(pem)) = (&self.client_crl, &read.client_crl) else { return Ok(Vec::new()) };
        let lists: Vec<CertificateRevocationListDer<'static>> = items("tls_client_crl", file, pem, "revocation list")?;
        let signed = lists.iter().try_for_each(|list| check_signature(list, issuers));
        signed.map_err(|error| problem("tls_client_crl", file, error))?;
        Ok(lists)
    }
}

fn read(setting: &'static str, file: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(file).map_err(|error| problem(setting, file, error.to_string()))
}

/// The items of this kind in a file, at least one.
fn items<T: PemObject>(setting: &'static str, file: &Path, pem: &[u8], kind: &str) -> Result<Vec<T>, TlsError> {
    match T::pem_slice_iter(pem).collect::<Result<Vec<T>, _>>() {
        Ok(items) if !items.is_empty() => Ok(items),
        Ok(_) => Err(problem(setting, file, format!("no {kind} in PEM"))),
        Err(error) => Err(problem(setting, file, error.to_string())),
    }
}

/// Checks that one of these has signed a revocation list. With any other list, every client certificate would be
/// rejected.
fn check_signature(list: &[u8], issuers: &[CertificateDer<'_>]) -> Result<(), String> {
    let (_, list) = CertificateRevocationList::from_der(list).map_err(|error| error.to_string())?;
    let has_signed = |issuer: &CertificateDer<'_>| {
        let Ok((_, issuer)) = X509Certificate::from_der(issuer) else { return false };
        let is_issuer = issuer.subject().as_raw() == list.issuer().as_raw();
        // The list may use an algorithm that only rustls supports.
        let verified = || list.verify_signature(issuer.public_key());
        is_issuer && matches!(verified(), Ok(()) | Err(X509Error::SignatureUnsupportedAlgorithm))
    };
    if issuers.iter().any(has_signed) {
        return Ok(());
    }
    Err(format!("the list of \"{}\" is not signed by any certificate of tls_client_ca", list.issuer()))
}

/// The earliest expiry of these certificates.
fn expiry(certificates: &[CertificateDer<'_>]) -> Result<i64, String> {
    let mut first = i64::MAX;
    for certificate in certificates {
        let (_, read) = X509Certificate::from_der(certificate).map_err(|error| error.to_string())?;
        first = first.min(read.validity().not_after.timestamp());
    }
    Ok(first)
}

fn problem(setting: &'static str, file: &Path, problem: String) -> TlsError {
    TlsError { setting, file: file.to_owned(), problem }
}
