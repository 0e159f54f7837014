//! Reads of large data: watches whose events are not read, and sessions with very many waiters.

use std::time::Duration;

use futures::channel::mpsc;
use futures::{SinkExt, StreamExt};
use prost::Message;
use tenure_abuse::frame::{data, headers, setting};
use tenure_abuse::{Attack, FrameClient, GrpcCaller, HEALTHY_NAMESPACE, Reaction, Target, block, many, message};
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::{
    AcquireRequest, Change, Changes, ConnectRequest, Declaration, DeclaredClaim, DeclaredSession, GetLockRequest,
    GetSessionRequest, Hello, OpenSessionRequest, WatchRequest, change, connect_request, connect_response,
};
use tokio::time::timeout;
use tonic::transport::Endpoint;

/// The maximum number of names in one Acquire.
const NAMES: usize = 16;

/// The timeout of a reply.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum number of changes in one message.
const CHANGES: usize = 1_000;

/// The session's 4 KiB of labels are repeated for each name of its claims.
#[tokio::test]
async fn unread_watches_of_large_claims_use_little_memory() {
    let target = Target::start().await.unwrap();
    let caller = GrpcCaller::connect(target.address()).await.unwrap();
    for at in 0..many(100, 1_000) {
        let acquire = AcquireRequest {
            namespace: HEALTHY_NAMESPACE.to_owned(),
            names: (0..NAMES).map(|name| format!("large/{at}/{name}")).collect(),
            session_id: format!("large-{at}"),
            ttl: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
            metadata: [("label".to_owned(), "x".repeat(4_000))].into(),
            ..AcquireRequest::default()
        };
        let acquired = caller.call("/tenure.v1.LockService/Acquire", &[], &message(&acquire.encode_to_vec())).await;
        assert_eq!(acquired.unwrap().grpc, Some(0));
    }
    let watches = u32::try_from(many(100, 200)).unwrap();
    let attack = async {
        let mut client =
            FrameClient::handshake_with(target.address(), &[(setting::INITIAL_WINDOW_SIZE, 0)]).await.unwrap();
        for at in 0..watches {
            // Half of the watches receive history, the others a snapshot.
            let watch = WatchRequest {
                namespace: HEALTHY_NAMESPACE.to_owned(),
                prefixes: vec!["large/".to_owned()],
                after_revision: u64::from(at % 2),
                ..WatchRequest::default()
            };
            let call = headers(at * 2 + 1, false, &block::call("/tenure.v1.WatchService/Watch"));
            client.send(&[call, data(at * 2 + 1, true, &message(&watch.encode_to_vec()))].concat()).await;
        }
        let reaction = client.reaction().await;
        // Other clients are served in the meantime.
        for _ in 0..500 {
            let get_lock = GetLockRequest { name: "job".to_owned(), ..GetLockRequest::default() };
            caller.call("/tenure.v1.LockService/GetLock", &[], &message(&get_lock.encode_to_vec())).await.unwrap();
        }
        reaction
    };
    let found = target.run(Attack::named("unread watches").may_change(), attack).await;
    assert_eq!(found, Reaction::Served);
}

/// A session with the maximum number of claims is opened repeatedly; each reply lists all claims.
#[tokio::test]
async fn unread_replies_with_many_claims_use_little_memory() {
    let target = Target::start().await.unwrap();
    let caller = GrpcCaller::connect(target.address()).await.unwrap();
    let ttl = Some(prost_types::Duration { seconds: 600, nanos: 0 });
    let mut rejected = None;
    for at in 0..1_000 {
        let acquire = AcquireRequest {
            namespace: "large".to_owned(),
            names: vec![format!("large/{at}")],
            session_id: "large".to_owned(),
            ttl,
            metadata: [("label".to_owned(), "x".repeat(4_000))].into(),
            ..AcquireRequest::default()
        };
        let acquired = caller.call("/tenure.v1.LockService/Acquire", &[], &message(&acquire.encode_to_vec())).await;
        let status = acquired.unwrap().grpc;
        if status != Some(0) {
            rejected = status;
            break;
        }
    }
    assert_eq!(rejected, Some(8), "the bytes of a session's claims are bounded");
    let open = OpenSessionRequest {
        namespace: "large".to_owned(),
        session_id: "large".to_owned(),
        ttl,
        ..OpenSessionRequest::default()
    };
    let get = GetSessionRequest { namespace: "large".to_owned(), session_id: "large".to_owned(), after_claim: 0 };
    let calls = [("opened", "OpenSession", open.encode_to_vec()), ("read", "GetSession", get.encode_to_vec())];
    for (name, method, request) in calls {
        let path = format!("/tenure.v1.SessionService/{method}");
        let attack = async {
            let mut client =
                FrameClient::handshake_with(target.address(), &[(setting::INITIAL_WINDOW_SIZE, 0)]).await.unwrap();
            for at in 0..u32::try_from(many(500, 990)).unwrap() {
                let call = headers(at * 2 + 1, false, &block::call(&path));
                if !client.send(&[call, data(at * 2 + 1, true, &message(&request))].concat()).await {
                    break;
                }
            }
            let reaction = client.reaction().await;
            // Other clients are served in the meantime.
            for _ in 0..500 {
                let get_lock = GetLockRequest { name: "job".to_owned(), ..GetLockRequest::default() };
                caller.call("/tenure.v1.LockService/GetLock", &[], &message(&get_lock.encode_to_vec())).await.unwrap();
            }
            reaction
        };
        let found = target.run(Attack::named(name), attack).await;
        assert!(matches!(found, Reaction::Served | Reaction::Closed), "{name}: {found:?}");
    }
}

#[tokio::test]
async fn session_with_thousands_of_waits_is_read_quickly() {
    let target = Target::start().await.unwrap();
    let channel = Endpoint::new(format!("http://{}", target.address())).unwrap().connect().await.unwrap();
    let namespace = || HEALTHY_NAMESPACE.to_owned();
    let session = |number, name: &str| {
        let ttl = Some(prost_types::Duration { seconds: 600, nanos: 0 });
        let open = Some(DeclaredSession { session_id: name.to_owned(), ttl, ..DeclaredSession::default() });
        Declaration { session: number, open, ..Declaration::default() }
    };
    let (holder, waiter) = (1, 2);
    let hello = Hello {
        namespace: namespace(),
        client_id: "0123456789abcdef".to_owned(),
        epoch: 1,
        declared: vec![session(holder, "holder"), session(waiter, "waiter")],
        ..Hello::default()
    };
    let (mut sender, requests) = mpsc::channel(1);
    sender.send(ConnectRequest { kind: Some(connect_request::Kind::Hello(hello)) }).await.unwrap();
    let mut responses = ClientServiceClient::new(channel).connect(requests).await.unwrap().into_inner();
    let mut number = waiter;
    let mut claim = |session, name: String| {
        number += 1;
        let claims = vec![DeclaredClaim { number, names: vec![name], queue: true, ..DeclaredClaim::default() }];
        let declare = change::Kind::Declare(Declaration { session, claims, ..Declaration::default() });
        Change { kind: Some(declare), ..Change::default() }
    };
    let waits = many(4_000, 9_000);
    for session in [holder, waiter] {
        let claims: Vec<Change> = (0..waits).map(|at| claim(session, format!("wanted/{at}"))).collect();
        for changes in claims.chunks(CHANGES) {
            let changes = Changes { changes: changes.to_vec() };
            sender.send(ConnectRequest { kind: Some(connect_request::Kind::Changes(changes)) }).await.unwrap();
        }
        if session == holder {
            let mut granted = 0;
            while granted < waits {
                let received = timeout(TIMEOUT, responses.next()).await.unwrap().unwrap().unwrap().kind;
                // Any state counts: on a busy machine a claim may be rejected. The first two numbers are the sessions'.
                if let Some(connect_response::Kind::States(states)) = received {
                    granted += states.states.iter().filter(|state| state.number > waiter).count();
                }
            }
            // Each waiter also holds a lock: it may be part of a deadlock.
            let changes = Changes { changes: vec![claim(waiter, "own".to_owned())] };
            sender.send(ConnectRequest { kind: Some(connect_request::Kind::Changes(changes)) }).await.unwrap();
        }
    }
    // Neither is renewed, for longer than the test takes.
    let caller = GrpcCaller::connect(target.address()).await.unwrap();
    let get = GetSessionRequest { namespace: namespace(), session_id: "waiter".to_owned(), after_claim: 0 };
    let get = message(&get.encode_to_vec());
    // On a busy machine some may be rejected: it suffices that no more are listed.
    let mut listed = 0;
    tenure_harness::wait_until(TIMEOUT, "all waits", async || {
        let answer = caller.call("/tenure.v1.SessionService/GetSession", &[], &get).await.unwrap();
        let session = tenure_proto::v1::GetSessionResponse::decode(&answer.body[5..]).unwrap().session.unwrap();
        let before = std::mem::replace(&mut listed, session.claims.len());
        listed == before && listed > waits / 2
    })
    .await;
    let attack = async || {
        let reads = (0..2).map(|_| caller.call("/tenure.v1.SessionService/GetSession", &[], &get));
        futures::future::join_all(reads).await
    };
    let found = target.run_repeatedly(Attack::named("reads of a session").may_change(), attack).await;
    assert!(found.into_iter().flatten().all(|answer| answer.unwrap().grpc == Some(0)));
    drop((sender, responses));
}
