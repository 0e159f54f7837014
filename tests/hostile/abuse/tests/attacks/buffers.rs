//! Attacks on the server's buffers: messages that are never complete, and replies that are never read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use prost::Message;
use tenure_abuse::frame::{data, flag, frame, headers, kind, setting};
use tenure_abuse::{Attack, FrameClient, GrpcCaller, GrpcResponse, Target, assert_no_leaks, block, many, message};
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{
    AcquireRequest, Change, Changes, ConnectRequest, Hello, OpenSessionRequest, RenewRequest, change, connect_request,
};
use tonic::transport::Channel;

const ACQUIRE: &str = "/tenure.v1.LockService/Acquire";
const ASSIGN: &str = "/tenure.v1.GroupService/AssignGroup";
const LIST: &str = "/tenure.v1.LockService/ListLocks";
const CONNECT: &str = "/tenure.v1.ClientService/Connect";

/// The usual message size limit of gRPC libraries.
const LARGEST: usize = 4 << 20;

const TTL: prost_types::Duration = prost_types::Duration { seconds: 3, nanos: 0 };

/// A client that holds a lock with a TTL of 3 s, on its own thread.
struct Holder {
    is_over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<(), tonic::Status>>,
}

impl Holder {
    async fn start(target: &Target, name: &str) -> Self {
        let channel = Channel::from_shared(format!("http://{}", target.address())).unwrap().connect_lazy();
        let (namespace, session_id) = ("holder".to_owned(), name.to_owned());
        let open = OpenSessionRequest {
            namespace: namespace.clone(),
            session_id: session_id.clone(),
            ttl: Some(TTL),
            ..OpenSessionRequest::default()
        };
        SessionServiceClient::new(channel.clone()).open_session(open).await.unwrap();
        let names = vec![name.to_owned()];
        let acquire = AcquireRequest { namespace, names, session_id, ..AcquireRequest::default() };
        assert!(LockServiceClient::new(channel).acquire(acquire).await.unwrap().into_inner().acquired);
        let is_over = Arc::<AtomicBool>::default();
        let (address, name, ends) = (target.address(), name.to_owned(), is_over.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect_lazy();
                let mut sessions = SessionServiceClient::new(channel);
                let mut pace = tokio::time::interval(Duration::from_millis(500));
                while !ends.load(Ordering::Relaxed) {
                    pace.tick().await;
                    let renew = RenewRequest { namespace: "holder".to_owned(), session_id: name.clone() };
                    sessions.renew(renew).await?;
                }
                Ok(())
            })
        });
        Self { is_over, thread }
    }

    /// Checks that it never lost its session, and so never its lock.
    fn assert_held(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().unwrap();
    }
}

/// Runs an attack beside a lock holder.
async fn run_beside_holder<T>(target: &Target, name: &'static str, attack: impl Future<Output = T>) -> T {
    let holder = Holder::start(target, name).await;
    let done = target.run(Attack::named(name).may_change(), attack).await;
    holder.assert_held();
    done
}

/// Sends all but the last byte of a large message on each of many concurrent streams, as far as the server takes it.
/// Returns the calls that were answered, because they were rejected.
async fn incomplete(target: &Target, path: &str, length: usize) -> Vec<GrpcResponse> {
    let caller = GrpcCaller::connect(target.address()).await.unwrap();
    let mut whole = message(&vec![0; length]);
    whole.pop();
    let whole = Bytes::from(whole);
    let calls = (0..many(300, 1_000)).map(|_| caller.call_unfinished(path, whole.clone()));
    let mut calls = calls.collect::<FuturesUnordered<_>>();
    let mut answers = Vec::new();
    // By the time others have been served for a while, each message has been taken or rejected.
    let mut ends = Box::pin(async {
        for _ in 0..200 {
            target.assert_served().await;
        }
    });
    loop {
        tokio::select! {
            Some(answer) = calls.next() => answers.extend(answer),
            () = &mut ends => return answers,
        }
    }
}

/// Checks that each was rejected by a limit.
fn assert_rejected(answers: &[GrpcResponse]) {
    assert!(!answers.is_empty());
    assert!(answers.iter().all(|answer| matches!(answer.grpc, Some(3 | 8))), "{answers:?}");
    answers.iter().for_each(|answer| assert_no_leaks(&answer.text));
}

#[tokio::test]
async fn incomplete_messages_of_unary_calls_are_bounded() {
    let target = Target::start().await.unwrap();
    assert_rejected(&run_beside_holder(&target, "large messages", incomplete(&target, ACQUIRE, LARGEST)).await);
    assert_rejected(&run_beside_holder(&target, "incomplete messages", incomplete(&target, ASSIGN, 1 << 20)).await);
}

#[tokio::test]
async fn incomplete_messages_of_client_streams_are_bounded() {
    let target = Target::start().await.unwrap();
    assert_rejected(
        &run_beside_holder(&target, "incomplete messages of Connect", incomplete(&target, CONNECT, LARGEST)).await,
    );
}

/// Each stream has sent a large message, and sends no more.
#[tokio::test]
async fn idle_streams_keep_no_memory_of_their_messages() {
    let target = Target::start().await.unwrap();
    let caller = GrpcCaller::connect(target.address()).await.unwrap();
    let attack = async {
        let mut calls = Vec::new();
        for number in 0..many(150, 990) {
            let hello = Hello { client_id: format!("{number:0>16}"), epoch: 1, ..Hello::default() };
            // Paused as soon as it is open: nothing is replied.
            let pause = Change { kind: Some(change::Kind::Pause(1)), traceparent: "0".repeat(130 << 10) };
            let requests =
                [connect_request::Kind::Hello(hello), connect_request::Kind::Changes(Changes { changes: vec![pause] })];
            let requests = requests.map(|kind| message(&ConnectRequest { kind: Some(kind) }.encode_to_vec()));
            calls.push(caller.call_on(CONNECT, Bytes::from(requests.concat())).await.unwrap());
        }
        calls.len()
    };
    run_beside_holder(&target, "idle streams", attack).await;
}

/// A stream may be idle forever between two messages, but not within one.
#[tokio::test]
async fn stream_with_an_incomplete_message_times_out() {
    let target = Target::start().await.unwrap();
    let caller = GrpcCaller::connect(target.address()).await.unwrap();
    let half = Bytes::from_static(&[0, 0, 0, 1, 0, 1]);
    let attack = caller.call_unfinished(CONNECT, half);
    let answer = target.run(Attack::named("half a message of a stream").quiet(), attack).await.unwrap();
    assert_eq!(answer.grpc, Some(4), "{answer:?}");
}

/// The server stops reading from a client that reads no replies; its message must still be complete in time.
#[tokio::test]
async fn stream_with_an_incomplete_message_times_out_while_replies_are_unread() {
    let target = Target::start().await.unwrap();
    // The states exceed what is queued for the reader, and the request fits into the initial HTTP/2 window.
    let hello =
        Hello { client_id: "reads no replies".into(), epoch: 1, known: (1..=8_000).collect(), ..Hello::default() };
    let hello = ConnectRequest { kind: Some(connect_request::Kind::Hello(hello)) };
    let sent = [message(&hello.encode_to_vec()), vec![0, 0, 0, 1, 0, 1]].concat();
    let attack = async {
        let mut client =
            FrameClient::handshake_with(target.address(), &[(setting::INITIAL_WINDOW_SIZE, 0)]).await.unwrap();
        let begun = Instant::now();
        client.send(&headers(1, false, &block::call(CONNECT))).await;
        for piece in sent.chunks(16 << 10) {
            client.send(&data(1, false, piece)).await;
        }
        while begun.elapsed() < Duration::from_secs(30) {
            let Some(received) = client.next_frame_within(Duration::from_secs(30)).await else { break };
            if received.kind == kind::PING && received.flags == 0 {
                client.send(&frame(kind::PING, flag::ACK, 0, &received.payload)).await;
            }
        }
        client.ends_within(Duration::from_millis(10)).await
    };
    let end = target.run(Attack::named("half a message and unread replies").quiet().may_connect(), attack).await;
    assert!(end.is_some(), "the connection stays open");
}

/// A connection with window 0 and this many calls, none of whose replies is read.
async fn unread(target: &Target, path: &str, request: &[u8], calls: u32) -> FrameClient {
    let ours = [(setting::INITIAL_WINDOW_SIZE, 0)];
    let mut client = FrameClient::handshake_with(target.address(), &ours).await.unwrap();
    for at in 0..calls {
        let id = at * 2 + 1;
        let call = headers(id, false, &block::call(path));
        if !client.send(&[call, data(id, true, &message(request))].concat()).await {
            break;
        }
    }
    client.reaction().await;
    client
}

#[tokio::test]
async fn unread_replies_are_bounded() {
    let target = Target::start().await.unwrap();
    // Health checks need no credentials.
    for (name, path) in
        [("unread replies", LIST), ("unread replies without credentials", "/grpc.health.v1.Health/Check")]
    {
        let attack = async {
            let mut clients = Vec::new();
            for _ in 0..many(9, 100) {
                clients.push(unread(&target, path, &[], 990).await);
            }
            futures::future::join_all(clients.iter_mut().map(|client| client.ends_within(Duration::ZERO))).await
        };
        let ends = run_beside_holder(&target, name, attack).await;
        assert!(ends.iter().any(Option::is_some), "no connection is closed");
        assert!(ends.iter().any(Option::is_none), "all connections are closed");
    }
}

/// Each reply is large.
#[tokio::test]
async fn connection_with_large_unread_replies_is_closed() {
    let target = Target::start().await.unwrap();
    let caller = GrpcCaller::connect(target.address()).await.unwrap();
    for at in 0..1_000_u32 {
        let acquire = AcquireRequest {
            names: vec![format!("{at:0>250}")],
            session_id: "large".to_owned(),
            ttl: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
            metadata: [("note".to_owned(), "x".repeat(700))].into(),
            ..AcquireRequest::default()
        };
        let body = message(&acquire.encode_to_vec());
        assert_eq!(caller.call(ACQUIRE, &[], &body).await.unwrap().grpc, Some(0));
    }
    let attack = async {
        // page_size: 1000
        let mut client = unread(&target, LIST, &[0x18, 0xe8, 0x07], 100).await;
        client.ends_within(Duration::from_secs(20)).await
    };
    assert!(run_beside_holder(&target, "unread pages", attack).await.is_some(), "the connection stays open");
}

/// Bytes that decode to a hundred times their size.
#[tokio::test]
async fn message_of_empty_changes_is_rejected_before_it_is_decoded() {
    let target = Target::start().await.unwrap();
    // A quarter of the size limit: decoded, it would be 100 MiB.
    let changes = Changes { changes: vec![Change::default(); LARGEST / 8] };
    let request = ConnectRequest { kind: Some(connect_request::Kind::Changes(changes)) }.encode_to_vec();
    let attack = async {
        let caller = GrpcCaller::connect(target.address()).await.unwrap();
        caller.call(CONNECT, &[], &message(&request)).await.unwrap()
    };
    let answer = run_beside_holder(&target, "empty changes", attack).await;
    assert_eq!(answer.grpc, Some(3), "{answer:?}");
}
