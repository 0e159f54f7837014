//! Watching through the console.

use serde_json::{Value, json};
use tenure_proto::v1::AcquireRequest;
use tenure_proto::v1::lock_service_client::LockServiceClient;

use crate::console::server::{ConsoleServer, Lines};
use crate::serving::within;

/// Makes a session hold a lock, over gRPC. Returns the token.
async fn hold(console: &ConsoleServer, name: &str) -> u64 {
    let address = format!("http://{}", console.server.grpc_address);
    let mut locks =
        LockServiceClient::new(within(tonic::transport::Endpoint::new(address).unwrap().connect()).await.unwrap());
    let request = AcquireRequest {
        names: vec![name.to_owned()],
        session_id: format!("of-{name}"),
        ttl: Some(prost_types::Duration { seconds: 60, nanos: 0 }),
        wait: Some(prost_types::Duration::default()),
        ..AcquireRequest::default()
    };
    within(locks.acquire(request)).await.unwrap().into_inner().token
}

async fn events(lines: &mut Lines) -> Value {
    loop {
        let line = lines.next().await.expect("not the end");
        if !line["result"]["events"].is_null() {
            return line["result"].clone();
        }
    }
}

#[tokio::test]
async fn watch_reports_events_and_resumes() {
    let console = ConsoleServer::start().await;
    hold(&console, "first").await;
    let mut lines = Lines::of(console.call("WatchService/Watch", &json!({}))).await;
    let snapshot = lines.next().await.unwrap();
    assert_eq!(snapshot["result"]["snapshot"]["locks"][0]["name"], "first");
    let token = hold(&console, "second").await;
    let reply = events(&mut lines).await;
    assert_eq!(reply["events"]["events"][0]["names"][0], "second");
    assert_eq!(reply["events"]["events"][0]["claim"]["token"], token.to_string());
    drop(lines);
    let third = hold(&console, "third").await;
    let resumed = json!({"afterRevision": reply["revision"]});
    let mut lines = Lines::of(console.call("WatchService/Watch", &resumed)).await;
    let reply = events(&mut lines).await;
    assert_eq!(
        reply["events"]["events"][0]["claim"]["token"],
        third.to_string(),
        "neither a snapshot nor an earlier event"
    );
}

#[tokio::test]
async fn streams_are_limited_while_they_are_open() {
    let console = ConsoleServer::start().await;
    let mut streams = Vec::new();
    // The maximum for one address.
    for _ in 0..32 {
        streams.push(Lines::of(console.call("WatchService/Watch", &json!({}))).await);
    }
    let (status, reply) = console.ask("WatchService/Watch", json!({})).await;
    assert_eq!((status, reply["reason"].as_str()), (429, Some("CONSOLE_BUSY")));
    let (status, _) = console.ask("LockService/ListLocks", json!({})).await;
    assert_eq!(status, 200, "plain calls are not limited");
    streams.pop();
    let opened = async {
        loop {
            let answer = console.call("WatchService/Watch", &json!({})).send().await.unwrap();
            if answer.status() == 200 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    within(opened).await;
}

#[tokio::test]
async fn stream_ends_with_the_server() {
    let console = ConsoleServer::start().await;
    let mut lines = Lines::of(console.call("WatchService/Watch", &json!({}))).await;
    assert!(!lines.next().await.unwrap()["result"]["snapshot"].is_null());
    let ConsoleServer { server, stop: _stop, .. } = console;
    let stopping = tokio::spawn(server.drain_and_stop());
    let received = async {
        let mut lines_received = Vec::new();
        while let Some(line) = lines.next().await {
            lines_received.push(line);
        }
        lines_received
    };
    // The stream ends with a `DRAINING` error, or without an error.
    let errors: Vec<Value> = within(received).await.into_iter().filter(|line| !line["error"].is_null()).collect();
    assert!(errors.iter().all(|line| line["error"]["reason"] == "DRAINING") && errors.len() <= 1, "{errors:?}");
    within(stopping).await.unwrap();
}
