//! A certificate authority for a test, in a folder of its own.

use std::path::{Path, PathBuf};

use anyhow::Context;
use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod, KeyPair,
    KeyUsagePurpose, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};
use tempfile::TempDir;

/// An authority, and the files that it has created.
pub struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// The paths of a certificate and its key, both PEM.
#[derive(Clone, Debug)]
pub struct Certified {
    /// The certificate.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Authority {
    /// Creates an authority of this name.
    ///
    /// # Errors
    /// If its files cannot be written.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key)?;
        std::fs::write(folder.path().join("ca.pem"), certificate.pem())?;
        Ok(Self { folder, issuer: Issuer::new(params, key) })
    }

    /// The folder of all its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its own certificate.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Issues a certificate with these names (each a URI, a host or an address), in files that begin with `file`.
    /// Replaces an existing one.
    ///
    /// # Errors
    /// If a name is invalid, or the files cannot be written.
    pub fn certify(&self, file: &str, serial: u64, names: &[&str]) -> anyhow::Result<Certified> {
        self.certify_with(file, serial, names, |_| ())
    }

    /// Like [`Authority::certify`], but with modified parameters.
    ///
    /// # Errors
    /// If a name is invalid, or the files cannot be written.
    pub fn certify_with(
        &self,
        file: &str,
        serial: u64,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> anyhow::Result<Certified> {
        let (uris, others): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| name.contains("://"));
        let others: Vec<String> = others.into_iter().map(str::to_owned).collect();
        let mut params = CertificateParams::new(others)?;
        for uri in uris {
            params.subject_alt_names.push(SanType::URI(Ia5String::try_from(uri)?));
        }
        params.serial_number = Some(SerialNumber::from(serial));
        change(&mut params);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let files = Certified { cert: self.file(file, "crt"), key: self.file(file, "key") };
        std::fs::write(&files.key, key.serialize_pem())?;
        std::fs::write(&files.cert, certificate.pem()).context("writing a certificate")?;
        Ok(files)
    }

    /// Writes a list that revokes the certificates of these serial numbers.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn revoke(&self, serials: &[u64]) -> anyhow::Result<PathBuf> {
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2124, 1, 1),
            crl_number: SerialNumber::from(serials.len() as u64),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let file = self.file("revoked", "crl");
        std::fs::write(&file, list.signed_by(&self.issuer)?.pem()?)?;
        Ok(file)
    }

    fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.{ending}"))
    }
}
