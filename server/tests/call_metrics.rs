//! Call metrics, over TCP.

use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{
    ConnectRequest, GetLockRequest, Hello, KeepAlive, ListLocksRequest, WatchRequest, connect_request,
};
use tenure_server::auth::CredentialOptions;
use tenure_server::server::Server;
use tenure_server::transport::ConnectionLimits;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tower::ServiceExt;

use crate::serving::{start, within};

async fn start_service() -> (Server, Channel) {
    let server = start(CredentialOptions::default(), ConnectionLimits::default()).await.unwrap();
    let endpoint = Endpoint::from_shared(format!("http://{}", server.grpc_address)).unwrap();
    let channel = within(endpoint.connect()).await.unwrap();
    (server, channel)
}

/// The value of a method's sample, for a code if one is given. Panics if the sample is missing.
fn value(server: &Server, name: &str, kind: &str, service: &str, method: &str, code: Option<&str>) -> u64 {
    let code = code.map_or_else(String::new, |code| format!(",grpc_code=\"{code}\""));
    let sample = format!(
        "grpc_server_{name}{{grpc_type=\"{kind}\",grpc_service=\"{service}\",grpc_method=\"{method}\"{code}}} "
    );
    let text = server.metrics.text();
    let line = text.lines().find_map(|line| line.strip_prefix(&sample));
    line.unwrap_or_else(|| panic!("no sample {sample}")).parse().unwrap()
}

const LOCKS: &str = "tenure.v1.LockService";

#[tokio::test]
async fn every_method_has_metrics_from_the_start() {
    let (server, _) = start_service().await;
    for name in ["started_total", "msg_received_total", "msg_sent_total", "handling_seconds_count"] {
        assert_eq!(value(&server, name, "unary", LOCKS, "Acquire", None), 0, "{name}");
    }
    for code in ["OK", "Canceled", "Unavailable", "Unauthenticated"] {
        assert_eq!(value(&server, "handled_total", "bidi_stream", "tenure.v1.ClientService", "Connect", Some(code)), 0);
        assert_eq!(value(&server, "handled_total", "server_stream", "grpc.health.v1.Health", "Watch", Some(code)), 0);
    }
}

#[tokio::test]
async fn plain_calls_are_counted_by_their_code() {
    let (server, channel) = start_service().await;
    let mut locks = LockServiceClient::new(channel);
    within(locks.list_locks(ListLocksRequest::default())).await.unwrap();
    let refused = within(locks.get_lock(GetLockRequest::default())).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let of = |name, method, code| value(&server, name, "unary", LOCKS, method, code);
    assert_eq!(of("started_total", "ListLocks", None), 1);
    assert_eq!((of("msg_received_total", "ListLocks", None), of("msg_sent_total", "ListLocks", None)), (1, 1));
    assert_eq!(of("handled_total", "ListLocks", Some("OK")), 1);
    assert_eq!(of("handling_seconds_count", "ListLocks", None), 1);
    assert_eq!(of("handled_total", "GetLock", Some("InvalidArgument")), 1);
    assert_eq!((of("msg_sent_total", "GetLock", None), of("handled_total", "GetLock", Some("OK"))), (0, 0));
}

#[tokio::test]
async fn unknown_methods_are_counted_under_one_name() {
    let (server, channel) = start_service().await;
    for path in ["/tenure.v1.LockService/Steal", "/unknown/Knows", "/tenure.v1.LockService/Acquire/"] {
        let request = http::Request::post(path).header("content-type", "application/grpc");
        let request = request.body(tonic::body::Body::empty()).unwrap();
        let answer = within(channel.clone().oneshot(request)).await.unwrap();
        assert_eq!(answer.headers()["grpc-status"], "12", "{path}: unimplemented");
    }
    assert_eq!(value(&server, "handled_total", "bidi_stream", "unknown", "unknown", Some("Unimplemented")), 3);
    let text = server.metrics.text();
    assert!(!text.contains("Steal") && !text.contains("Knows"));
}

#[tokio::test]
async fn streams_are_counted_with_their_messages_when_they_end() {
    let (server, channel) = start_service().await;
    let of_watch = |name, code| value(&server, name, "server_stream", "tenure.v1.WatchService", "Watch", code);
    let mut watches = WatchServiceClient::new(channel.clone());
    let request = WatchRequest { names: vec!["job".to_owned()], ..WatchRequest::default() };
    let mut watch = within(watches.watch(request)).await.unwrap().into_inner();
    within(watch.message()).await.unwrap().unwrap();
    assert_eq!((of_watch("started_total", None), of_watch("handled_total", Some("Canceled"))), (1, 0));
    assert!(of_watch("msg_sent_total", None) >= 1);
    drop(watch);
    within(async {
        while of_watch("handled_total", Some("Canceled")) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;

    let of_client = |name, code| value(&server, name, "bidi_stream", "tenure.v1.ClientService", "Connect", code);
    let hello = Hello { client_id: "0123456789abcdef".to_owned(), epoch: 1, ..Hello::default() };
    let requests = [connect_request::Kind::Hello(hello), connect_request::Kind::KeepAlive(KeepAlive { number: 1 })]
        .map(|kind| ConnectRequest { kind: Some(kind) });
    let mut clients = ClientServiceClient::new(channel);
    let mut responses = within(clients.connect(tokio_stream::iter(requests))).await.unwrap().into_inner();
    let mut received = 0;
    while within(responses.message()).await.unwrap().is_some() {
        received += 1;
    }
    assert_eq!((of_client("msg_received_total", None), of_client("msg_sent_total", None)), (2, received));
    assert_eq!((of_client("handled_total", Some("OK")), of_client("handling_seconds_count", None)), (1, 1));
}
