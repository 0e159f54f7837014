//! Tests of three servers behind HAProxy, with the shipped configuration `deploy/compose/haproxy.cfg`.

use std::process::Command;
use std::time::Duration;

use tenure_client::v1::{Event, EventType, WatchRequest, watch_response::Kind};
use tenure_client::{Client, ClientOptions, Guard, Metadata, Watch};
use tenure_e2e::Calls;
use tenure_harness::{Postgres, Served, Tenured, TenuredOptions, find, wait_until};
use tenure_proto::v1::GetSessionRequest;
use tokio::net::TcpStream;
use tonic::Code;

const SHIPPED: &str = include_str!("../../../../deploy/compose/haproxy.cfg");
const TTL: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(60);

async fn within<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wait).await.expect("it does not end in time")
}

async fn three_servers() -> Vec<Tenured> {
    let url = Postgres::shared().await.unwrap().create_database().await.unwrap();
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(Tenured::start(&TenuredOptions::store(&url)).await.unwrap());
    }
    servers
}

/// The shipped configuration, with local addresses in place of the containers'.
fn configuration(servers: &[Tenured], port: u16, health_port: u16) -> String {
    let mut text = SHIPPED.to_owned();
    let mut replace = |from: &str, to: &str| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    };
    replace("bind :7420 proto", &format!("bind 127.0.0.1:{port} proto"));
    replace("bind :8404", &format!("bind 127.0.0.1:{health_port}"));
    for (number, server) in (1..).zip(servers) {
        let line = format!(" 127.0.0.1:{} check port {}\n", server.port(), server.admin_port());
        replace(&format!(" server-{number}:7420 check port 7421\n"), &line);
    }
    text
}

async fn balancer(servers: &[Tenured]) -> Served {
    let program = find("haproxy", "haproxy").unwrap();
    let health_port = tenure_harness::free_port().unwrap();
    let command = |folder: &std::path::Path, port| {
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, configuration(servers, port, health_port))?;
        let mut command = Command::new(program);
        command.arg("-db").arg("-f").arg(file);
        Ok(command)
    };
    Served::start("HAProxy", command, async |port| TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await.unwrap()
}

/// The running server that is the home of a session.
async fn home(servers: &mut [Tenured], session: &str) -> Option<usize> {
    for (number, server) in servers.iter_mut().enumerate() {
        if !server.is_running() {
            continue;
        }
        let mut sessions = Calls::connect(&server.url()).await.unwrap().sessions;
        let request = GetSessionRequest { session_id: session.into(), ..GetSessionRequest::default() };
        let found = sessions.get_session(request).await.unwrap().into_inner().session.unwrap();
        if found.remaining.is_some() {
            return Some(number);
        }
    }
    None
}

/// The next event of a watch, which must be a single event, delivered without a restart of the watch.
async fn next_event(watch: &mut Watch) -> Event {
    loop {
        match within(watch.next()).await.unwrap().unwrap().kind {
            Some(Kind::Progress(_)) => {}
            Some(Kind::Events(mut batch)) if batch.events.len() == 1 => return batch.events.remove(0),
            other => panic!("{other:?}"),
        }
    }
}

async fn relabel(guard: &Guard, round: &str) {
    let labels = Metadata::from([("round".to_owned(), round.to_owned())]);
    within(guard.update_metadata(labels)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_server_costs_only_a_reconnect() {
    let mut servers = three_servers().await;
    let balancer = balancer(&servers).await;
    let url = format!("http://127.0.0.1:{}", balancer.port());
    let client = Client::connect(ClientOptions::new().endpoints([&url])).unwrap();
    let watcher = Client::connect(ClientOptions::new().endpoints([&url])).unwrap();
    let guard = within(client.lock("ledger").ttl(TTL).acquire()).await.unwrap();
    let mut watch = watcher.watch(WatchRequest { names: vec!["ledger".into()], ..Default::default() });
    let first = within(watch.next()).await.unwrap().unwrap();
    assert!(matches!(first.kind, Some(Kind::Snapshot(_))), "{first:?}");

    for round in 0..3 {
        let session = guard.session().id().to_owned();
        let killed = home(&mut servers, &session).await.unwrap();
        servers[killed].kill().await.unwrap();
        let moved = async || home(&mut servers, &session).await.is_some();
        wait_until(PATIENCE, "another server is the session's home", moved).await;
        relabel(&guard, &round.to_string()).await;
        let event = next_event(&mut watch).await;
        assert_eq!((event.r#type(), &event.claim.unwrap().metadata["round"]), (EventType::Updated, &round.to_string()));
        assert!(guard.is_valid() && guard.lost_reason().is_none());
        servers[killed].start_again().await.unwrap();
    }

    // A plain call that waits, and is idle until the lock is granted.
    let calls = Calls::connect(&url).await.unwrap();
    let token = guard.token();
    let waiter =
        tokio::spawn(async move { calls.acquire(calls.acquire_request("ledger", "next", TTL)).await.unwrap() });
    assert_eq!(next_event(&mut watch).await.r#type(), EventType::Queued);
    within(guard.release()).await.unwrap();
    assert!(within(waiter).await.unwrap().token > token);
}

#[tokio::test(flavor = "multi_thread")]
async fn balancer_without_servers_replies_unavailable() {
    let mut servers = three_servers().await;
    let balancer = balancer(&servers).await;
    let calls = Calls::connect(&format!("http://127.0.0.1:{}", balancer.port())).await.unwrap();
    assert!(calls.try_lock("a", "b", TTL).await.unwrap().acquired);
    let waiting = calls.clone();
    let waiter = tokio::spawn(async move { waiting.acquire(waiting.acquire_request("a", "waiter", TTL)).await });
    wait_until(PATIENCE, "the waiter is queued", async || calls.lock("a").await.unwrap().waiter_count == 1).await;
    for server in &mut servers {
        server.kill().await.unwrap();
    }
    assert_eq!(within(waiter).await.unwrap().unwrap_err().code(), Code::Unavailable);
    wait_until(PATIENCE, "HAProxy knows that no server is ready", async || {
        let status = within(calls.try_lock("a", "b", TTL)).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
        status.message() == "no server is ready"
    })
    .await;
    servers[1].start_again().await.unwrap();
    wait_until(PATIENCE, "the server serves again", async || calls.try_lock("a", "b", TTL).await.is_ok()).await;
}
