//! Tests of tokens from an issuer whose keys are at a URL.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tenure_client::v1::ErrorReason;
use tenure_client::{Attempt, Client, Error};
use tenure_harness::{Authority, Tenured, TenuredOptions, wait_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// How long a server may take to fetch keys after earlier attempts failed: it retries every few seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// A token issuer that serves its keys over https.
struct Issuer {
    authority: Authority,
    url: String,
    key: EncodingKey,
    response: Arc<Mutex<String>>,
}

impl Issuer {
    /// Starts an issuer that serves no keys yet.
    async fn start() -> Self {
        let authority = Authority::new("the issuer").unwrap();
        let files = authority.certify("issuer", 1, &["localhost"]).unwrap();
        let chain = vec![CertificateDer::from_pem_file(&files.cert).unwrap()];
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config =
            builder.with_no_client_auth().with_single_cert(chain, PrivateKeyDer::from_pem_file(&files.key).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}/keys", listener.local_addr().unwrap().port());
        let response = Arc::new(Mutex::new("HTTP/1.1 503 Not Yet\r\ncontent-length: 0\r\n\r\n".to_owned()));
        tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config.unwrap())), response.clone()));
        let key = rcgen::KeyPair::generate().unwrap();
        Self { authority, url, key: EncodingKey::from_ec_der(&key.serialize_der()), response }
    }

    /// From now on it serves its key.
    fn publish_keys(&self) {
        let mut key = Jwk::from_encoding_key(&self.key, Algorithm::ES256).unwrap();
        key.common.key_id = Some("first".to_owned());
        let keys = serde_json::to_string(&JwkSet { keys: vec![key] }).unwrap();
        *self.response.lock().unwrap() = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{keys}", keys.len());
    }

    fn token(&self) -> String {
        let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 600;
        let claims = json!({"iss": "https://id.example", "aud": "tenure", "sub": "worker", "exp": until});
        let header = Header { kid: Some("first".to_owned()), ..Header::new(Algorithm::ES256) };
        encode(&header, &claims, &self.key).unwrap()
    }
}

/// Sends this response to every request.
async fn serve(listener: TcpListener, acceptor: TlsAcceptor, response: Arc<Mutex<String>>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (acceptor, response) = (acceptor.clone(), response.clone());
        tokio::spawn(async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => request.push(byte),
                    Err(_) => return,
                }
            }
            let response = response.lock().unwrap().clone();
            let _ = stream.write_all(response.as_bytes()).await;
            let _ = stream.shutdown().await;
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn issuer_keys_are_fetched_when_available() {
    let issuer = Issuer::start().await;
    let mut options = TenuredOptions::default()
        .argument(format!("--jwt-keys={}", issuer.url))
        .argument("--jwt-issuer=https://id.example")
        .argument("--jwt-audience=tenure");
    options.environment.push(("SSL_CERT_FILE".to_owned(), issuer.authority.ca().display().to_string()));
    let server = Tenured::start(&options).await.unwrap();
    let acquire = || async {
        let client = Client::builder().endpoints([server.url()]).token(issuer.token()).connect().unwrap();
        client.lock("job").ttl(Duration::from_secs(10)).try_acquire().await
    };
    match acquire().await {
        Err(Error::Refused(rejection)) => {
            assert_eq!(
                (rejection.error_reason(), &*rejection.metadata["rule"]),
                (ErrorReason::Unauthenticated, "token-key")
            );
        }
        other => panic!("without keys: {other:?}"),
    }
    issuer.publish_keys();
    wait_until(PATIENCE, "the keys are fetched", async || matches!(acquire().await, Ok(Attempt::Acquired(_)))).await;
}
