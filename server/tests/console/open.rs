//! A server without credentials: its console is read-only, and available only on this machine.

use std::collections::BTreeSet;

use prost::Message;
use serde_json::{Value, json};
use tenure_server::admin::console::READING;
use tenure_server::auth::CredentialOptions;

use crate::console::server::{ConsoleServer, answer};

/// All methods of the contract, and whether the client streams requests.
fn methods() -> Vec<(String, bool)> {
    let contract = prost_types::FileDescriptorSet::decode(tenure_proto::FILE_DESCRIPTOR_SET).unwrap();
    let services = contract.file.into_iter().filter(|file| file.package() == "tenure.v1").flat_map(|file| file.service);
    services
        .flat_map(|service| {
            let name = service.name().to_owned();
            service
                .method
                .into_iter()
                .map(move |method| (format!("{name}/{}", method.name()), method.client_streaming()))
        })
        .collect()
}

#[tokio::test]
async fn call_that_is_not_read_only_is_rejected() {
    let console = ConsoleServer::start().await;
    let before = console.revision().await;
    let mut passed = BTreeSet::new();
    for (method, _) in methods().into_iter().filter(|(method, _)| method != "WatchService/Watch") {
        // Fields that make a request of each kind valid.
        let requests =
            [json!({}), json!({"name": "job"}), json!({"sessionId": "s"}), json!({"group": "g", "sessionId": "s"})];
        for request in requests {
            let (status, reply) = console.ask(&method, request).await;
            match reply["reason"].as_str() {
                Some("CONSOLE_READ_ONLY") => assert_eq!(status, 403, "{method}"),
                // Any other error comes from the service or from decoding, so the call was let through.
                _ => drop(passed.insert(format!("tenure.v1.{method}"))),
            }
        }
    }
    passed.insert("tenure.v1.WatchService/Watch".to_owned());
    assert_eq!(passed, READING.iter().map(|method| (*method).to_owned()).collect());
    assert_eq!(console.revision().await, before, "no change");
    assert!(methods().len() > READING.len() + 10, "most methods are not read-only");
}

/// A new call must be added to the list or left out, deciding whether the console of an open server may make it.
#[test]
fn reading_methods_are_those_named_as_such() {
    let methods: BTreeSet<String> = methods().into_iter().map(|(method, _)| format!("tenure.v1.{method}")).collect();
    for method in READING {
        assert!(methods.contains(method), "{method}");
    }
    let reads = |method: &&String| {
        let (_, name) = method.split_once('/').unwrap();
        ["Get", "List", "Watch"].iter().any(|verb| name.starts_with(verb))
    };
    assert!(methods.iter().filter(reads).eq(READING.iter().copied()), "{methods:?}");
}

#[tokio::test]
async fn call_of_another_site_is_rejected() {
    let console = ConsoleServer::start().await;
    let call = || console.call("LockService/ListLocks", &json!({}));
    let own = format!("http://{}", console.address);
    let cases = [
        (call(), 200, ""),
        (call().header("sec-fetch-site", "same-origin").header("origin", &own), 200, ""),
        (call().header("origin", &own), 200, ""),
        (call().header("sec-fetch-site", "cross-site"), 403, "CONSOLE_CROSS_SITE"),
        (call().header("sec-fetch-site", "same-site"), 403, "CONSOLE_CROSS_SITE"),
        (call().header("origin", "http://example.com"), 403, "CONSOLE_CROSS_SITE"),
        (call().header("origin", "null"), 403, "CONSOLE_CROSS_SITE"),
        (call().header("host", "example.com"), 403, "CONSOLE_FOREIGN_HOST"),
        (call().header("host", format!("rebound.example:{}", console.address.port())), 403, "CONSOLE_FOREIGN_HOST"),
        (call().header("host", format!("localhost:{}", console.address.port())), 200, ""),
    ];
    for (index, (call, status, reason)) in cases.into_iter().enumerate() {
        let (got, reply) = answer(call).await;
        assert_eq!((got, reply["reason"].as_str().unwrap_or_default()), (status, reason), "case {index}");
    }
    let url = console.url("/console/api/tenure.v1.LockService/ListLocks");
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let (status, reply) = answer(console.client.post(&url).header("content-type", kind).body("{}")).await;
        assert_eq!((status, reply["reason"].as_str()), (415, Some("CONSOLE_MEDIA_TYPE")), "{kind}");
    }
    let preflight = console.client.request(reqwest::Method::OPTIONS, &url).header("origin", "http://example.com");
    let preflight = preflight.header("access-control-request-method", "POST").send().await.unwrap();
    assert_eq!(preflight.status(), 405);
    assert!(!preflight.headers().contains_key("access-control-allow-origin"));
    assert_eq!(console.client.get(&url).send().await.unwrap().status(), 405);
}

#[tokio::test]
async fn console_is_closed_to_other_machines() {
    let console = ConsoleServer::with(CredentialOptions::default(), Some("0.0.0.0:7421")).await;
    for method in READING {
        let (status, reply) = console.ask(method.trim_start_matches("tenure.v1."), json!({})).await;
        assert_eq!((status, reply["reason"].as_str()), (403, Some("CONSOLE_CLOSED")), "{method}");
    }
    let about: Value = serde_json::from_str(&console.get("/console/about").await.text().await.unwrap()).unwrap();
    assert_eq!(about["access"], "closed");
    let reason = about["why"]["message"].as_str().unwrap();
    assert!(reason.contains("0.0.0.0:7421") && reason.contains("tokens_file"), "{reason}");
}

#[tokio::test]
async fn reads_return_the_replies_of_the_service() {
    let console = ConsoleServer::start().await;
    let (status, reply) = console.ask("LockService/GetLock", json!({"name": "job"})).await;
    assert_eq!((status, &reply["lock"]), (200, &json!({"name": "job"})));
    let (status, reply) = console.ask("LockService/GetLock", json!({})).await;
    assert_eq!(
        (status, reply["code"].as_str(), reply["reason"].as_str()),
        (400, Some("INVALID_ARGUMENT"), Some("INVALID_FIELD"))
    );
    assert_eq!(reply["metadata"]["field"], "name");
    let (status, reply) = console.ask("SessionService/GetSession", json!({"sessionId": "unknown"})).await;
    assert_eq!(
        (status, reply["code"].as_str(), reply["reason"].as_str()),
        (404, Some("NOT_FOUND"), Some("SESSION_NOT_FOUND"))
    );
}
