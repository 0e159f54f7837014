//! TLS, certificates and tokens: which clients are served, the errors that others get, and files that change.

use crate::support;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use support::{Cluster, PATIENCE, until, within};
use tenure_client::{Attempt, Client, ClientOptions, Error, Reason};
use tenure_harness::{Authority, Certified};
use tenure_server::auth::{CredentialOptions, new_token};
use tenure_server::grpc::TtlBounds;
use tenure_server::node::NodeOptions;
use tenure_server::server::{Server, ServerOptions};
use tenure_server::store::MemoryDatabase;
use tenure_server::transport::{ConnectionLimits, TlsFiles};

/// A server with TLS, and the authority that issued its certificate and those of its clients.
struct Secured {
    authority: Authority,
    server: Server,
}

impl Secured {
    /// Accepts client certificates, except those with revoked serial numbers, and the tokens in this file.
    async fn open(revoked: &[u64], tokens_file: Option<PathBuf>) -> Self {
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
        self.options().client_cert(cert, key)
    }
}

/// Acquires a lock and releases it; reads it by a plain call, too.
async fn use_it(client: &Client) -> tenure_client::Result<()> {
    let Attempt::Acquired(guard) = client.lock("job").ttl(Duration::from_secs(10)).try_acquire().await? else {
        panic!("nobody else is there");
    };
    assert_eq!(client.get_lock("job").await?.holders.len(), 1);
    guard.release().await
}

fn rule(refused: &Error) -> &str {
    match refused {
        Error::Refused(refusal) if refusal.reason == Reason::Unauthenticated => refusal.fact("rule").unwrap(),
        other => panic!("not told who it is: {other:?}"),
    }
}

/// Returns the error of the first use, which must arrive long before the call's timeout.
async fn refused(options: ClientOptions) -> Error {
    let client = options.connect().unwrap();
    let begun = Instant::now();
    let error = use_it(&client).await.unwrap_err();
    let plain = client.get_lock("job").await.unwrap_err();
    assert_eq!(format!("{plain}"), format!("{error}"));
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    error
}

#[tokio::test]
async fn a_certificate_says_who_it_is() {
    let secured = Secured::open(&[13], None).await;
    use_it(&secured.certified(7, "spiffe://secured/worker").connect().unwrap()).await.unwrap();
    use_it(&secured.certified(8, "worker.secured").connect().unwrap()).await.unwrap();

    assert_eq!(rule(&refused(secured.options()).await), "credentials-required");
    assert_eq!(rule(&refused(secured.certified(9, "10.0.0.1")).await), "certificate-name");
    assert_eq!(rule(&refused(secured.options().token("anything")).await), "known-token");
    let both = secured.certified(10, "worker.secured").token("anything");
    assert_eq!(rule(&refused(both).await), "known-token", "the certificate does not make up for a wrong token");
}

#[tokio::test]
async fn who_is_not_to_be_trusted_is_told_so_by_name() {
    let secured = Secured::open(&[13], None).await;
    let unavailable = async |options: ClientOptions| {
        let client = options.call_timeout(Duration::from_millis(500)).connect().unwrap();
        match use_it(&client).await.unwrap_err() {
            Error::Unavailable(problem) => problem,
            other => panic!("{other:?}"),
        }
    };
    let stranger = Authority::new("a stranger").unwrap();
    let problem = unavailable(secured.options().ca_cert(stranger.ca())).await;
    assert!(problem.contains("invalid peer certificate: UnknownIssuer"), "{problem}");
    let problem = unavailable(secured.options().tls_server_name("elsewhere")).await;
    assert!(problem.contains("not valid for name \"elsewhere\""), "{problem}");
    let problem = unavailable(secured.certified(13, "spiffe://secured/worker")).await;
    assert!(problem.to_lowercase().contains("revoked"), "{problem}");
    let Certified { cert, key } = stranger.certify("client", 5, &["spiffe://secured/worker"]).unwrap();
    let problem = unavailable(secured.options().client_cert(cert, key)).await;
    assert!(problem.to_lowercase().contains("unknownca") || problem.to_lowercase().contains("unknown ca"), "{problem}");
    let plain = Client::builder().endpoints([format!("http://{}", secured.server.grpc_address)]);
    assert!(!unavailable(plain).await.is_empty());
}

#[tokio::test]
async fn tokens_and_certificates_may_be_replaced_while_all_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (tokens, mine) = (folder.path().join("tokens"), folder.path().join("mine"));
    let (first, line) = new_token("worker").unwrap();
    std::fs::write(&tokens, &line).unwrap();
    std::fs::write(&mine, format!("{first}\n")).unwrap();
    let secured = Secured::open(&[], Some(tokens.clone())).await;
    let client = secured.options().token_file(&mine).connect().unwrap();
    use_it(&client).await.unwrap();

    // An invalid file changes nothing; then a valid one replaces it.
    std::fs::write(&tokens, "nonsense").unwrap();
    let (second, line) = new_token("worker").unwrap();
    assert_eq!(rule(&refused(secured.options().token(&second)).await), "known-token");
    use_it(&client).await.unwrap();
    std::fs::write(&tokens, &line).unwrap();
    let taken = async || use_it(&secured.options().token(&second).connect().unwrap()).await.is_ok();
    until("the new token is known", taken).await;
    assert_eq!(rule(&client.get_lock("job").await.unwrap_err()), "known-token");
    std::fs::write(&mine, &second).unwrap();
    until("it shows the new token", async || client.get_lock("job").await.is_ok()).await;

    let successor = Authority::new("its successor").unwrap();
    let Certified { cert, key } = successor.certify("server", 1, &["localhost"]).unwrap();
    std::fs::copy(key, secured.authority.folder().join("server.key")).unwrap();
    std::fs::copy(cert, secured.authority.folder().join("server.crt")).unwrap();
    let by_successor =
        secured.options().ca_cert(successor.ca()).token(&second).call_timeout(Duration::from_millis(500));
    let taken = async || use_it(&by_successor.clone().connect().unwrap()).await.is_ok();
    until("the new certificate is shown", taken).await;
    use_it(&client).await.expect("a connection that is there goes on");
}

#[tokio::test]
async fn a_stream_ends_when_what_was_shown_counts_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    let (token, line) = new_token("worker").unwrap();
    std::fs::write(&tokens, &line).unwrap();
    let secured = Secured::open(&[], Some(tokens.clone())).await;
    let by_token = secured.options().token(&token).connect().unwrap();
    let by_certificate = secured.certified(21, "spiffe://secured/worker").connect().unwrap();
    let ttl = Duration::from_secs(2);
    let first = by_token.lock("one").ttl(ttl).acquire().await.unwrap();
    let second = by_certificate.lock("two").ttl(ttl).acquire().await.unwrap();
    let mut watch = by_token.watch(tenure_client::WatchOptions::names(["two"]));
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
async fn a_revocation_list_of_another_key_is_rejected_and_the_one_before_stays() {
    let secured = Secured::open(&[31], None).await;
    let is_counted =
        || !secured.server.metrics.text().contains("tenure_reloads_refused_total{what=\"certificates\"} 0");
    assert!(!is_counted());
    // An authority of the same name: only the signature differs.
    let stranger = Authority::new("an authority").unwrap();
    for authority in [stranger, Authority::new("a stranger").unwrap()] {
        std::fs::copy(authority.revoke(&[]).unwrap(), secured.authority.folder().join("revoked.crl")).unwrap();
        secured.server.reload();
        until("it is counted", async || is_counted()).await;
        use_it(&secured.certified(32, "ann").connect().unwrap()).await.expect("she is not locked out");
        let options = secured.certified(31, "bob").call_timeout(Duration::from_millis(500));
        use_it(&options.connect().unwrap()).await.expect_err("he is still revoked");
    }
}

#[tokio::test]
async fn handshakes_that_fail_are_counted() {
    let secured = Secured::open(&[], None).await;
    // The server replies with an alert instead of a ServerHello.
    for _ in 0..3 {
        let mut stranger = tokio::net::TcpStream::connect(secured.server.grpc_address).await.unwrap();
        within(tokio::io::AsyncWriteExt::write_all(&mut stranger, &[21, 3, 3, 0, 2, 2, 40])).await.unwrap();
        within(tokio::io::AsyncReadExt::read_to_end(&mut stranger, &mut Vec::new())).await.ok();
    }
    let is_counted = async || secured.server.metrics.text().contains("tenure_tls_handshakes_failed_total 3");
    until("each is counted", is_counted).await;
    use_it(&secured.certified(2, "ann").connect().unwrap()).await.unwrap();
    assert!(is_counted().await, "and no other");
}

/// Returns the error of a client that cannot reach this server.
async fn problem(options: ClientOptions) -> String {
    let client = options.call_timeout(Duration::from_secs(2)).connect().unwrap();
    match within(client.get_lock("job")).await {
        Err(Error::Unavailable(problem)) => problem,
        other => panic!("it should not be reached: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_on_one_side_only_is_called_that() {
    let secured = Secured::open(&[], None).await;
    let port = secured.server.grpc_address.port();
    let told = problem(Client::builder().endpoints([format!("http://localhost:{port}")])).await;
    assert!(
        told.contains(&format!("the server at localhost:{port} expects TLS, use https://localhost:{port}")),
        "{told}"
    );

    let cluster = Cluster::start(1).await.unwrap();
    let plain = cluster.direct_url(0).replace("http://", "");
    let options = Client::builder().endpoints([format!("https://{plain}")]).ca_cert(secured.authority.ca());
    let told = problem(options).await;
    assert!(told.contains(&format!("the server at {plain} speaks plaintext, use http://{plain}")), "{told}");
    // Neither server is affected by that.
    use_it(&cluster.direct_client(0).unwrap()).await.unwrap();
    use_it(&secured.certified(2, "ann").connect().unwrap()).await.unwrap();
}
