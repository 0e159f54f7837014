//! Servers with TLS and client authentication: they forward commands to each other, and accept them from no other peer.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use tenure_core::{Event, ServerId};
use tenure_proto::internal::peer_service_client::PeerServiceClient;
use tenure_proto::internal::{ForwardRequest, Greeting};
use tenure_proto::v1::AcquireRequest;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_server::auth::{CredentialOptions, new_token};
use tenure_server::cluster::membership::MemberView;
use tenure_server::node::NodeOptions;
use tenure_server::peer::{Connector, Tls, Wire};
use tenure_server::server::{Server, ServerOptions};
use tenure_server::store::{MemoryDatabase, ServerRecord, Store};
use tenure_server::transport::TlsFiles;
use tenure_server::transport::peer_tls::Proof;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};

use crate::serving::{self, within};

/// Two servers on one database, which know one token.
struct Pair {
    database: MemoryDatabase,
    servers: [Server; 2],
    channels: [Channel; 2],
    bearer: String,
    _folder: tempfile::TempDir,
}

impl Pair {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap().pem();
        let (token, line) = new_token("ann").unwrap();
        for (file, text) in [("cert", &certificate), ("key", &key.serialize_pem()), ("tokens", &line)] {
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let database = MemoryDatabase::new();
        let servers = [start(&database, folder.path()).await, start(&database, folder.path()).await];
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(certificate));
        let channel = |server: &Server| {
            let url = format!("https://localhost:{}", server.grpc_address.port());
            Endpoint::from_shared(url).unwrap().tls_config(tls.clone()).unwrap().connect_lazy()
        };
        let channels = [channel(&servers[0]), channel(&servers[1])];
        Self { database, servers, channels, bearer: format!("Bearer {token}"), _folder: folder }
    }

    fn ask<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", self.bearer.parse().unwrap());
        request
    }

    async fn acquire(&self, server: usize, name: String) {
        let request = AcquireRequest {
            session_id: format!("of-{server}"),
            names: vec![name],
            ttl: Some(prost_types::Duration { seconds: 60, nanos: 0 }),
            ..AcquireRequest::default()
        };
        let answer = within(LockServiceClient::new(self.channels[server].clone()).acquire(self.ask(request))).await;
        assert!(answer.unwrap().into_inner().acquired);
    }

    /// The servers, in the order in which they were started.
    async fn records(&self) -> [ServerRecord; 2] {
        let observer = ServerRecord {
            server: ServerId(u64::MAX),
            heartbeat: 2,
            lease: Duration::ZERO,
            label: String::new(),
            address: String::new(),
            certificate: String::new(),
            dead: false,
        };
        let known = self.database.server().heartbeat(&observer).await.unwrap();
        self.servers.each_ref().map(|server| {
            let address = server.grpc_address.to_string();
            known.iter().find(|record| record.address == address).unwrap().clone()
        })
    }

    /// Whether one server has committed a grant to a session of the other one.
    fn has_forwarded(&self, servers: &[ServerRecord; 2]) -> bool {
        let log = self.database.log("default");
        log.iter().any(|batch| {
            let other = if batch.server == servers[0].server { "of-1" } else { "of-0" };
            let is_of_other =
                |event: &Event| matches!(event, Event::ClaimGranted { spec, .. } if *spec.session == *other);
            batch.events.iter().any(|recorded| is_of_other(&recorded.event))
        })
    }
}

async fn start(database: &MemoryDatabase, folder: &Path) -> Server {
    let (cert, key) = (folder.join("cert"), folder.join("key"));
    let options = ServerOptions {
        tls: Some(TlsFiles { cert, key, client_ca: None, client_crl: None }),
        credentials: CredentialOptions { tokens_file: Some(folder.join("tokens")), ..CredentialOptions::default() },
        node: NodeOptions { address: "127.0.0.1:0".to_owned(), ..serving::options().node },
        ..serving::options()
    };
    serving::start_on(options, database.server()).await.unwrap()
}

fn greeting(from: ServerId, to: ServerId) -> ForwardRequest {
    let greeting = Greeting { from: from.0, to: to.0, namespace: "default".into(), link: 1 };
    ForwardRequest { greeting: Some(greeting), forward: Vec::new() }
}

/// Claims to be the server `from`. Returns the other server's reply.
async fn claim(wire: Wire, from: ServerId, to: ServerId) -> Result<(), Status> {
    within(PeerServiceClient::new(wire).forward(tokio_stream::iter([greeting(from, to)]))).await.map(drop)
}

#[tokio::test]
async fn servers_authenticate_each_other_and_forward_commands() {
    let pair = Pair::start().await;
    let servers = pair.records().await;
    assert_eq!(servers.each_ref().map(|server| server.certificate.len()), [64; 2]);
    assert_ne!(servers[0].certificate, servers[1].certificate);
    let forwarded = async {
        for number in 0.. {
            pair.acquire(0, format!("first-{number}")).await;
            pair.acquire(1, format!("second-{number}")).await;
            if pair.has_forwarded(&servers) {
                return;
            }
        }
    };
    within(forwarded).await;
}

#[tokio::test]
async fn peer_service_rejects_callers_that_are_not_the_claimed_server() {
    let pair = Pair::start().await;
    let [first, second] = pair.records().await;
    let member = MemberView { address: first.address.clone(), certificate: first.certificate.clone() };

    // A peer whose certificate is not that of the server it claims to be. The reply is `Unavailable` until the first
    // server knows the second.
    let stranger = Tls(Arc::new(Proof::make().unwrap()));
    let wire = stranger.connect(&member).unwrap();
    let replied = async {
        loop {
            match claim(wire.clone(), second.server, first.server).await.unwrap_err() {
                unknown if unknown.code() == Code::Unavailable => tokio::task::yield_now().await,
                refused => return refused,
            }
        }
    };
    let refused = within(replied).await;
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");

    // Such a peer has no other rights.
    let asked = AcquireRequest { names: vec!["job".into()], session_id: "s".into(), ..AcquireRequest::default() };
    let refused = within(LockServiceClient::new(wire).acquire(asked)).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated, "{refused:?}");

    // A client with all other rights.
    let claimed = pair.ask(tokio_stream::iter([greeting(second.server, first.server)]));
    let refused = within(PeerServiceClient::new(pair.channels[0].clone()).forward(claimed)).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");

    // Nothing is sent to a peer at the address of a server without that server's certificate.
    let other = MemberView { certificate: second.certificate.clone(), ..member.clone() };
    let refused = claim(stranger.connect(&other).unwrap(), second.server, first.server).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    let none = MemberView { certificate: String::new(), ..member };
    assert!(stranger.connect(&none).is_err(), "a server without TLS is not called");
}
