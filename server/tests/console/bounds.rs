//! Bounds on calls of the console.

use serde_json::json;
use tenure_server::admin::Admin;
use tenure_server::admin::console::Console;
use tenure_server::node::readiness::Readiness;
use tenure_server::telemetry::metrics::Metrics;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::console::server::{ConsoleServer, answer};

#[tokio::test]
async fn request_outside_of_the_contract_or_its_bounds_is_rejected() {
    let console = ConsoleServer::start().await;
    let post = |method: &str, body: &str| {
        let call = console.client.post(console.url(&format!("/console/api/{method}")));
        call.header("content-type", "application/json").body(body.to_owned())
    };
    let get = "tenure.v1.LockService/GetLock";
    let large = json!({"name": "x".repeat(300 * 1024)}).to_string();
    let cases = [
        (post(get, ""), 400, "INVALID_FIELD"),
        (post(get, "{"), 400, "CONSOLE_INVALID_JSON"),
        (post(get, r#"{"nam": "x"}"#), 400, "CONSOLE_INVALID_JSON"),
        (post(get, r#"{"name": "x"} {}"#), 400, "CONSOLE_INVALID_JSON"),
        (post(get, &large), 413, "CONSOLE_TOO_LARGE"),
        (post("tenure.v1.LockService/Missing", "{}"), 404, "CONSOLE_UNKNOWN_METHOD"),
        (post("tenure.internal.v1.PeerService/Forward", "{}"), 404, "CONSOLE_UNKNOWN_METHOD"),
        (post("grpc.health.v1.Health/Check", "{}"), 404, "CONSOLE_UNKNOWN_METHOD"),
        (post("grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "{}"), 404, "CONSOLE_UNKNOWN_METHOD"),
    ];
    for (index, (call, status, reason)) in cases.into_iter().enumerate() {
        let (got, reply) = answer(call).await;
        assert_eq!((got, reply["reason"].as_str()), (status, Some(reason)), "case {index}: {reply}");
    }
}

#[tokio::test]
async fn call_before_the_server_has_started_is_rejected() {
    let (_readiness, shown) = watch::channel(Readiness::Ready);
    let admin = Admin::bind("127.0.0.1:0".parse().unwrap(), shown, Metrics::default()).await.unwrap();
    let address = admin.address().unwrap();
    let stop = CancellationToken::new();
    tokio::spawn(admin.serve(Some(Console::new(address).unwrap()), stop.clone()));
    let client = reqwest::Client::new();
    let (status, about) = answer(client.get(format!("http://{address}/console/about"))).await;
    assert_eq!((status, about["access"].as_str()), (200, Some("starting")));
    let call = client.post(format!("http://{address}/console/api/tenure.v1.LockService/ListLocks"));
    let (status, reply) = answer(call.header("content-type", "application/json").body("{}")).await;
    assert_eq!((status, reply["reason"].as_str()), (503, Some("CONSOLE_STARTING")));
    stop.cancel();
}
