//! Certificates that do not authenticate a permitted client.

use std::path::Path;

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, date_time_ymd};
use tenure_abuse::{Attack, Target, assert_no_leaks};
use tenure_harness::{Authority, Certified, TenuredOptions};
use tenure_proto::v1::ListLocksRequest;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status};

fn read(file: &Path) -> Vec<u8> {
    std::fs::read(file).unwrap()
}

/// The TLS configuration of a client that shows this certificate.
fn tls(authority: &Authority, shown: Option<&Certified>) -> ClientTlsConfig {
    let tls =
        ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(&authority.ca()))).domain_name("127.0.0.1");
    match shown {
        Some(Certified { cert, key }) => tls.identity(Identity::from_pem(read(cert), read(key))),
        None => tls,
    }
}

/// Makes a call with this TLS configuration.
async fn call(target: &Target, tls: ClientTlsConfig) -> Result<(), Status> {
    let unreachable = |error: tonic::transport::Error| Status::unavailable(error.to_string());
    let endpoint = Endpoint::from_shared(format!("https://{}", target.address())).unwrap();
    let channel = endpoint.tls_config(tls).map_err(unreachable)?.connect().await.map_err(unreachable)?;
    LockServiceClient::new(channel).list_locks(ListLocksRequest::default()).await.map(drop)
}

/// Also CVE-2018-16886: a certificate without a subject alternative name has no identity, whatever its other fields.
#[tokio::test]
async fn unusable_certificates_are_rejected() {
    let (authority, other_authority) = (Authority::new("ca").unwrap(), Authority::new("ca").unwrap());
    let server = authority.certify("server", 1, &["127.0.0.1"]).unwrap();
    let client = authority.certify("client", 2, &["spiffe://prod/client"]).unwrap();
    let nameless = authority.certify("nameless", 3, &[]).unwrap();
    let addressed = authority.certify("addressed", 4, &["127.0.0.1"]).unwrap();
    let revoked = authority.certify("revoked", 5, &["spiffe://prod/client"]).unwrap();
    let controlled = authority.certify("controlled", 6, &["spiffe://prod/client\0"]).unwrap();
    let expired = |params: &mut CertificateParams| params.not_after = date_time_ymd(2024, 1, 1);
    let early = |params: &mut CertificateParams| params.not_before = date_time_ymd(2124, 1, 1);
    let serving =
        |params: &mut CertificateParams| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let expired = authority.certify_with("expired", 7, &["spiffe://prod/client"], expired).unwrap();
    let early = authority.certify_with("early", 8, &["spiffe://prod/client"], early).unwrap();
    let serving = authority.certify_with("serving", 9, &["spiffe://prod/client"], serving).unwrap();
    let foreign = other_authority.certify("foreign", 2, &["spiffe://prod/client"]).unwrap();
    let list = authority.revoke(&[5]).unwrap();
    let files = [&server.cert, &server.key, &authority.ca(), &list].map(|file| file.display().to_string());
    let settings = ["--tls-cert", "--tls-key", "--tls-client-ca", "--tls-client-crl"];
    let arguments = settings.into_iter().map(str::to_owned).zip(files).flat_map(|(name, file)| [name, file]).collect();
    let options = TenuredOptions { arguments, ..TenuredOptions::default() };
    let target = Target::start_with(&options, None, Some(tls(&authority, Some(&client)))).await.unwrap();
    let attack = async || {
        call(&target, tls(&authority, Some(&client))).await.unwrap();
        let unidentified = [
            ("none", None),
            ("no name", Some(&nameless)),
            ("an address only", Some(&addressed)),
            ("a name with a NUL", Some(&controlled)),
        ];
        for (name, shown) in unidentified {
            let rejected = call(&target, tls(&authority, shown)).await.unwrap_err();
            assert_eq!(rejected.code(), Code::Unauthenticated, "{name}: {rejected:?}");
            assert_no_leaks(rejected.message());
        }
        let invalid = [
            ("revoked", &revoked),
            ("from another authority", &foreign),
            ("expired", &expired),
            ("not valid yet", &early),
            ("for servers only", &serving),
        ];
        for (name, shown) in invalid {
            let rejected = call(&target, tls(&authority, Some(shown))).await.unwrap_err();
            // The handshake fails: there is no response at all.
            assert!(
                matches!(rejected.code(), Code::Unavailable | Code::Unknown | Code::Cancelled),
                "{name}: {rejected:?}"
            );
        }
    };
    target.run_repeatedly(Attack::named("unusable certificates"), attack).await;
}
