//! TLS, certificates and tokens: which clients are served, the errors that others get, and files that change.

use crate::support;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use support::{Cluster, PATIENCE, until, within};
use tenure_client::v1::{ErrorReason, WatchRequest};
use tenure_client::{Attempt, Client, ClientOptions, Error};
use tenure_harness::{Authority, Certified};
use tenure_server::auth::{CredentialOptions, new_token};
use tenure_server::grpc::TtlBounds;
use tenure_server::node::NodeOptions;
use tenure_server::server::{Server, ServerOptions};
use tenure_server::store::MemoryDatabase;
use tenure_server::transport::{ConnectionLimits, TlsFiles};

/// A server with TLS, and the authority that issued its certificate and those of its clients.
struct SecuredServer {
    authority: Authority,
    server: Server,
}

impl SecuredServer {
    /// Accepts client certificates, except those with revoked serial numbers, and the tokens in this file.
    async fn start(revoked: &[u64], tokens_file: Option<PathBuf>) -> Self {
        let authority = Authority::new("an authority").unwrap();
        let Certified { cert, key } = authority.certify("server", 1, &["localhost"]).unwrap();
        let client_crl = Some(authority.revoke(revoked).unwrap());
        let tls = TlsFiles { cert, key, client_ca: Some(authority.ca()), client_crl };
        let options = ServerOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            tls: Some(tls),
            credentials: CredentialOptions { certificates: true, tokens_file, jwt: None, policy: None, audit: None },
            connections: ConnectionLimits::default(),
            ttl: TtlBounds { min: Duration::from_millis(100), max: Duration::from_secs(3_600) },
            drain_timeout: Duration::from_secs(1),
            node: NodeOptions {
                lease: Duration::from_secs(10),
                label: "secured".to_owned(),
                address: String::new(),
                certificate: String::new(),
                reattach: Duration::from_secs(1),
                poll_interval: Duration::from_millis(20),
                max_namespaces: 10,
                history_retention: Duration::from_secs(3_600),
                history_max_bytes: 1 << 30,
            },
        };
        let server = Server::start_with(options, MemoryDatabase::new().server()).await.unwrap();
        let mut readiness = server.readiness();
        within(readiness.wait_for(|readiness| readiness.is_ready())).await.unwrap();
        Self { authority, server }
    }

    fn url(&self) -> String {
        format!("https://localhost:{}", self.server.grpc_address.port())
    }

    /// Options for a client that trusts the authority.
    fn options(&self) -> ClientOptions {
        Client::builder().endpoints([self.url()]).ca_cert(self.authority.ca()).call_timeout(PATIENCE)
    }

    /// Options with a client certificate for this name.
    fn certified(&self, serial: u64, name: &str) -> ClientOptions {
        let Certified { cert, key } = self.authority.certify(&format!("client-{serial}"), serial, &[name]).unwrap();
        self.options().client_cert(cert).client_key(key)
    }
}

/// Acquires a lock and releases it; reads it by a plain call, too.
async fn use_lock(client: &Client) -> tenure_client::Result<()> {
    let Attempt::Acquired(guard) = client.lock("job").ttl(Duration::from_secs(10)).try_acquire().await? else {
        panic!("another client holds the lock");
    };
    assert_eq!(client.get_lock("job").await?.holders.len(), 1);
    guard.release().await
}

fn rule(refused: &Error) -> &str {
    match refused {
        Error::Refused(refusal) if refusal.error_reason() == ErrorReason::Unauthenticated => &refusal.metadata["rule"],
        other => panic!("not an authentication error: {other:?}"),
    }
}

/// The server cannot be reached, and the error has the reason, in lower case, once a connection was tried.
async fn unavailable(options: ClientOptions, reason: &str) {
    let client = options.call_timeout(Duration::from_secs(1)).connect().unwrap();
    let is_reported = async || match client.get_lock("job").await {
        Err(Error::Unavailable(problem)) => problem.to_lowercase().contains(reason),
        other => panic!("it should not be reached: {other:?}"),
    };
    until(reason, is_reported).await;
}

/// Returns the error of the first use, which must arrive long before the call's timeout.
async fn refused(options: ClientOptions) -> Error {
    let client = options.connect().unwrap();
    let begun = Instant::now();
    let error = use_lock(&client).await.unwrap_err();
    let plain = client.get_lock("job").await.unwrap_err();
    assert_eq!(format!("{plain}"), format!("{error}"));
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    error
}

#[tokio::test]
async fn certificate_authenticates_by_its_name() {
    let secured = SecuredServer::start(&[13], None).await;
    use_lock(&secured.certified(7, "spiffe://secured/worker").connect().unwrap()).await.unwrap();
    use_lock(&secured.certified(8, "worker.secured").connect().unwrap()).await.unwrap();

    assert_eq!(rule(&refused(secured.options()).await), "credentials-required");
    assert_eq!(rule(&refused(secured.certified(9, "10.0.0.1")).await), "certificate-name");
    assert_eq!(rule(&refused(secured.options().token("anything")).await), "known-token");
    let both = secured.certified(10, "worker.secured").token("anything");
    assert_eq!(rule(&refused(both).await), "known-token", "the certificate does not make up for a wrong token");
}

#[tokio::test]
async fn untrusted_peers_fail_with_the_reason() {
    let secured = SecuredServer::start(&[13], None).await;
    let stranger = Authority::new("a stranger").unwrap();
    unavailable(secured.options().ca_cert(stranger.ca()), "invalid peer certificate: unknownissuer").await;
    unavailable(secured.options().tls_server_name("elsewhere"), "not valid for name \"elsewhere\"").await;
    unavailable(secured.certified(13, "spiffe://secured/worker"), "revoked").await;
    let Certified { cert, key } = stranger.certify("client", 5, &["spiffe://secured/worker"]).unwrap();
    unavailable(secured.options().client_cert(cert).client_key(key), "unknownca").await;
}

#[tokio::test]
async fn tokens_and_certificates_are_replaced_while_serving() {
    let folder = tempfile::tempdir().unwrap();
    let (tokens, mine) = (folder.path().join("tokens"), folder.path().join("mine"));
    let (first, line) = new_token("worker").unwrap();
    std::fs::write(&tokens, &line).unwrap();
    std::fs::write(&mine, format!("{first}\n")).unwrap();
    let secured = SecuredServer::start(&[], Some(tokens.clone())).await;
    let client = secured.options().token_file(&mine).connect().unwrap();
    use_lock(&client).await.unwrap();

    // An invalid file changes nothing; then a valid one replaces it.
    std::fs::write(&tokens, "nonsense").unwrap();
    let (second, line) = new_token("worker").unwrap();
    assert_eq!(rule(&refused(secured.options().token(&second)).await), "known-token");
    use_lock(&client).await.unwrap();
    std::fs::write(&tokens, &line).unwrap();
    let taken = async || use_lock(&secured.options().token(&second).connect().unwrap()).await.is_ok();
    until("the new token is known", taken).await;
    assert_eq!(rule(&client.get_lock("job").await.unwrap_err()), "known-token");
    std::fs::write(&mine, &second).unwrap();
    until("the client sends the new token", async || client.get_lock("job").await.is_ok()).await;

    let successor = Authority::new("its successor").unwrap();
    let Certified { cert, key } = successor.certify("server", 1, &["localhost"]).unwrap();
    std::fs::copy(key, secured.authority.folder().join("server.key")).unwrap();
    std::fs::copy(cert, secured.authority.folder().join("server.crt")).unwrap();
    let by_successor =
        secured.options().ca_cert(successor.ca()).token(&second).call_timeout(Duration::from_millis(500));
    let taken = async || use_lock(&by_successor.clone().connect().unwrap()).await.is_ok();
    until("the server sends the new certificate", taken).await;
    use_lock(&client).await.expect("an open connection stays usable");
}

#[tokio::test]
async fn stream_ends_when_its_credentials_are_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    let (token, line) = new_token("worker").unwrap();
    std::fs::write(&tokens, &line).unwrap();
    let secured = SecuredServer::start(&[], Some(tokens.clone())).await;
    let by_token = secured.options().token(&token).connect().unwrap();
    let by_certificate = secured.certified(21, "spiffe://secured/worker").connect().unwrap();
    let ttl = Duration::from_secs(2);
    let first = by_token.lock("one").ttl(ttl).acquire().await.unwrap();
    let second = by_certificate.lock("two").ttl(ttl).acquire().await.unwrap();
    let mut watch = by_token.watch(WatchRequest { names: vec!["two".into()], ..Default::default() });
    within(watch.next()).await.unwrap().unwrap();

    std::fs::write(&tokens, "").unwrap();
    secured.authority.revoke(&[21]).unwrap();
    within(first.lost()).await;
    within(second.lost()).await;
    assert_eq!(rule(&by_token.get_lock("one").await.unwrap_err()), "known-token");
    let witness = secured.certified(22, "spiffe://secured/witness").connect().unwrap();
    let free = async || witness.get_lock("one").await.unwrap().holders.is_empty();
    until("its session has ended at the server, too", free).await;
}

#[tokio::test]
async fn revocation_list_of_another_key_is_rejected_and_the_previous_one_stays() {
    let secured = SecuredServer::start(&[31], None).await;
    let is_counted =
        || !secured.server.metrics.text().contains("tenure_reloads_refused_total{what=\"certificates\"} 0");
    assert!(!is_counted());
    // An authority of the same name: only the signature differs.
    let stranger = Authority::new("an authority").unwrap();
    for authority in [stranger, Authority::new("a stranger").unwrap()] {
        std::fs::copy(authority.revoke(&[]).unwrap(), secured.authority.folder().join("revoked.crl")).unwrap();
        secured.server.reload();
        until("the rejected list is counted", async || is_counted()).await;
        use_lock(&secured.certified(32, "ann").connect().unwrap()).await.expect("a certificate that is not revoked");
        let options = secured.certified(31, "bob").call_timeout(Duration::from_millis(500));
        use_lock(&options.connect().unwrap()).await.expect_err("the certificate is still revoked");
    }
}

#[tokio::test]
async fn failed_handshakes_are_counted() {
    let secured = SecuredServer::start(&[], None).await;
    // The server replies with an alert instead of a ServerHello.
    for _ in 0..3 {
        let mut stranger = tokio::net::TcpStream::connect(secured.server.grpc_address).await.unwrap();
        within(tokio::io::AsyncWriteExt::write_all(&mut stranger, &[21, 3, 3, 0, 2, 2, 40])).await.unwrap();
        within(tokio::io::AsyncReadExt::read_to_end(&mut stranger, &mut Vec::new())).await.ok();
    }
    let is_counted = async || secured.server.metrics.text().contains("tenure_tls_handshakes_failed_total 3");
    until("each is counted", is_counted).await;
    use_lock(&secured.certified(2, "ann").connect().unwrap()).await.unwrap();
    assert!(is_counted().await, "no other handshake is counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_on_one_side_only_is_reported_as_such() {
    let secured = SecuredServer::start(&[], None).await;
    let port = secured.server.grpc_address.port();
    let clear = Client::builder().endpoints([format!("http://localhost:{port}")]);
    unavailable(clear, &format!("the server at localhost:{port} expects tls, use https://localhost:{port}")).await;

    let cluster = Cluster::start(1).await.unwrap();
    let plain = cluster.direct_url(0).replace("http://", "");
    let options = Client::builder().endpoints([format!("https://{plain}")]).ca_cert(secured.authority.ca());
    unavailable(options, &format!("the server at {plain} speaks plaintext, use http://{plain}")).await;
    // Neither server is affected by that.
    use_lock(&cluster.direct_client(0).unwrap()).await.unwrap();
    use_lock(&secured.certified(2, "ann").connect().unwrap()).await.unwrap();
}
