//! A server that requires credentials: the console's calls are authorized, rejected, counted and audited like all
//! others.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tenure_server::auth::{AuditOptions, CredentialOptions, new_token};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::console::server::{ConsoleServer, answer};
use crate::serving::within;

const POLICY: &str = r#"
[[roles.everything]]
verbs = ["acquire", "read", "watch", "operate"]

[[roles.observer]]
verbs = ["read", "watch"]
names = ["billing"]

[[grants]]
identity = "token:ann"
roles = ["everything"]

[[grants]]
identity = "token:bob"
roles = ["observer"]
"#;

struct Secured {
    console: ConsoleServer,
    folder: TempDir,
    ann: String,
    bob: String,
}

impl Secured {
    async fn start(admin: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [(ann, first), (bob, second)] = ["ann", "bob"].map(|name| new_token(name).unwrap());
        std::fs::write(folder.path().join("tokens"), format!("{first}\n{second}\n")).unwrap();
        std::fs::write(folder.path().join("policy"), POLICY).unwrap();
        let credentials = CredentialOptions {
            tokens_file: Some(folder.path().join("tokens")),
            policy: Some(folder.path().join("policy")),
            audit: Some(AuditOptions { file: folder.path().join("audit"), everything: false }),
            ..CredentialOptions::default()
        };
        Self { console: ConsoleServer::with(credentials, admin).await, folder, ann, bob }
    }

    async fn ask(&self, token: &str, method: &str, request: Value) -> (u16, Value) {
        answer(self.console.call(method, &request).bearer_auth(token)).await
    }

    /// Makes `ann` hold a lock. Returns the token.
    async fn held(&self, name: &str) -> Value {
        let request = json!({"names": [name], "sessionId": "s", "ttl": "60s", "wait": "0s"});
        let (status, reply) = self.ask(&self.ann, "LockService/Acquire", request).await;
        assert_eq!((status, &reply["acquired"]), (200, &json!(true)), "{reply}");
        reply["token"].clone()
    }
}

#[tokio::test]
async fn call_without_valid_credentials_is_rejected() {
    let server = Secured::start(None).await;
    let call = || server.console.call("LockService/ListLocks", &json!({}));
    let calls = [
        call(),
        call().bearer_auth("wrong"),
        call().header("authorization", "Basic eDp5"),
        call().header("cookie", "token=x"),
    ];
    for call in calls {
        let (status, reply) = answer(call).await;
        assert_eq!((status, reply["reason"].as_str()), (401, Some("UNAUTHENTICATED")), "{reply}");
    }
    let about: Value = serde_json::from_str(&server.console.get("/console/about").await.text().await.unwrap()).unwrap();
    assert_eq!(about["access"], "token", "the page requires no identity");
}

#[tokio::test]
async fn policy_grants_verbs_to_identities() {
    let server = Secured::start(None).await;
    let token = server.held("job").await;
    let evict = json!({"name": "job", "token": token, "operator": "bob", "note": "why not"});
    let (status, reply) = server.ask(&server.bob, "LockService/Evict", evict.clone()).await;
    assert_eq!((status, reply["reason"].as_str()), (403, Some("PERMISSION_DENIED")), "{reply}");
    assert_eq!(reply["metadata"]["verb"], "operate");
    for (name, status) in [("job", 403), ("billing", 200), ("billing/report", 200)] {
        let (got, reply) = server.ask(&server.bob, "LockService/GetLock", json!({"name": name})).await;
        assert_eq!(got, status, "{name}: {reply}");
    }
    let (status, reply) = server.ask(&server.bob, "WatchService/Watch", json!({"prefixes": [""]})).await;
    assert_eq!(
        (status, reply["reason"].as_str()),
        (403, Some("PERMISSION_DENIED")),
        "a stream is rejected with a status"
    );
    let (status, reply) = server.ask(&server.ann, "LockService/Evict", evict).await;
    assert_eq!((status, &reply["evicted"][0]["token"]), (200, &token), "{reply}");
}

#[tokio::test]
async fn calls_are_audited_and_counted() {
    let server = Secured::start(None).await;
    server.held("job").await;
    server.ask(&server.ann, "LockService/Evict", json!({"name": "job", "operator": "ann", "note": "stuck"})).await;
    server.ask(&server.bob, "LockService/Evict", json!({"name": "job", "operator": "bob"})).await;
    let file = server.folder.path().join("audit");
    let read = async {
        loop {
            let text = std::fs::read_to_string(&file).unwrap();
            if text.lines().count() >= 2 {
                return text;
            }
            tokio::task::yield_now().await;
        }
    };
    let text = within(read).await;
    assert!(!text.contains(&server.ann) && !text.contains(&server.bob), "a secret: {text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("token:ann") && lines[0].contains("stuck") && lines[0].contains("127.0.0.1"), "{text}");
    assert!(lines[1].contains("token:bob") && lines[1].contains("policy"), "{text}");
    let counted = server.console.server.metrics.text();
    let evictions =
        |line: &&str| line.starts_with("grpc_server_handled_total") && line.contains("grpc_method=\"Evict\"");
    let codes: Vec<&str> = counted.lines().filter(evictions).filter(|line| !line.ends_with(" 0")).collect();
    assert!(codes.iter().any(|line| line.contains("\"OK\"") && line.ends_with(" 1")), "{codes:?}");
    assert!(codes.iter().any(|line| line.contains("\"PermissionDenied\"") && line.ends_with(" 1")), "{codes:?}");
}

#[tokio::test]
async fn any_host_but_no_other_site_is_accepted_behind_a_proxy() {
    let server = Secured::start(Some("0.0.0.0:7421")).await;
    let call = || {
        server
            .console
            .call("LockService/ListLocks", &json!({}))
            .bearer_auth(&server.ann)
            .header("host", "console.example")
    };
    assert_eq!(answer(call()).await.0, 200);
    assert_eq!(
        answer(call().header("origin", "https://other-name.example").header("sec-fetch-site", "same-origin")).await.0,
        200
    );
    assert_eq!(answer(call().header("sec-fetch-site", "cross-site")).await.0, 403);
}

#[tokio::test]
async fn incomplete_requests_of_unidentified_callers_block_no_operator() {
    let server = Secured::start(None).await;
    let incomplete = "POST /console/api/tenure.v1.LockService/ListLocks HTTP/1.1\r\nhost: localhost\r\n\
        content-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    let mut connections = Vec::new();
    for _ in 0..70 {
        let mut connection = within(TcpStream::connect(server.console.address)).await.unwrap();
        within(connection.write_all(incomplete.as_bytes())).await.unwrap();
        // The server has read the partial request: while it waits for the rest, it sends no reply.
        let mut answered = [0; 12];
        let refused = tokio::time::timeout(Duration::from_millis(200), connection.read_exact(&mut answered)).await;
        assert!(refused.is_err() || answered == *b"HTTP/1.1 401", "{answered:?}");
        connections.push(connection);
        if connections.len() >= 64 {
            let (status, answer) = server.ask(&server.ann, "LockService/ListLocks", json!({})).await;
            assert_eq!(status, 200, "{answer}");
        }
    }
}
