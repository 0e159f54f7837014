//! Deadlines that only the server enforces.

use futures::future::join_all;
use http::HeaderMap;
use prost::Message;
use tenure_proto::v1::AcquireRequest;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::calls::cluster::Cluster;
use crate::serving::within;

/// Returns the status in the headers of a trailers-only response.
async fn acquire(client: &reqwest::Client, url: &str, request: &AcquireRequest, timeout: &str) -> Status {
    let message = request.encode_to_vec();
    let mut body = vec![0];
    body.extend(u32::try_from(message.len()).expect("short").to_be_bytes());
    body.extend(message);
    let call = client.post(format!("{url}/tenure.v1.LockService/Acquire")).header("te", "trailers");
    let call = call.header("content-type", "application/grpc").header("grpc-timeout", timeout).body(body);
    let response = within(call.send()).await.expect("a response");
    let headers: HeaderMap = response.headers().clone();
    Status::from_header_map(&headers).unwrap_or_else(|| panic!("no status: {headers:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn deadline_of_a_call_ends_it_with_the_code_and_the_reason_of_the_contract() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    caller.hold("ann", "a").await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().expect("a client");
    let url = cluster.url(0);
    let waiting = |number: usize| AcquireRequest {
        names: vec!["a".to_owned()],
        session_id: format!("waiter-{number}"),
        ttl: Some(prost_types::Duration { seconds: 60, nanos: 0 }),
        ..AcquireRequest::default()
    };
    // Many requests, because the transport enforces the same deadline.
    let requests: Vec<AcquireRequest> = (0..60).map(waiting).collect();
    let timeouts = ["20m", "30000u", "47m"].into_iter().cycle();
    let calls = requests.iter().zip(timeouts).map(|(request, timeout)| acquire(&client, &url, request, timeout));
    for status in join_all(calls).await {
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
        let info = status.get_details_error_info().unwrap_or_else(|| panic!("no reason: {status:?}"));
        assert_eq!((info.domain.as_str(), info.reason.as_str()), ("tenure", "DEADLINE_EXCEEDED"));
    }
}
