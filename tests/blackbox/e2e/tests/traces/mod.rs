//! Tests of traces, from the client's call to the statement in the database, as a collector sees them.

mod collector;
mod program;

use std::time::Duration;

use collector::{Collector, attribute, exporting_to, hex};
use opentelemetry_proto::tonic::trace::v1::Span;
use program::Program;
use tenure_client::{Client, ClientOptions};
use tenure_e2e::Store;
use tenure_harness::{Tenured, TenuredOptions, wait_until};
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::{
    AcquireRequest, Change, Changes, ConnectRequest, Declaration, DeclaredSession, GetLockRequest, Hello,
    ReleaseRequest, change,
};
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout};
use tokio_stream::StreamExt;
use tonic::Request;
use tonic::transport::Channel;

/// The timeout of a test.
const LONG: Duration = Duration::from_secs(60);

const ACQUIRE: &str = "tenure.v1.LockService/Acquire";
const GET_LOCK: &str = "tenure.v1.LockService/GetLock";
const DECLARE: &str = "tenure.v1.ClientService/Declare";
const WITHDRAW: &str = "tenure.v1.ClientService/Withdraw";

fn ttl() -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds: 60, nanos: 0 })
}

fn client(server: &Tenured) -> Client {
    Client::connect(ClientOptions::new().endpoints([server.url()])).unwrap()
}

async fn one_trace(store: Store, system: &str) {
    let (program, _guard) = Program::start();
    let collector = Collector::start().await;
    let server = Tenured::start(&collector.exporting_options(store.fresh().await.unwrap())).await.unwrap();
    let client = client(&server);
    // Connects: what is declared before that is stated in the Hello, which is in no trace.
    client.get_lock("other").await.unwrap();
    let guard = client.lock("job").owner("host-1").acquire().await.unwrap();
    let token = guard.token();
    guard.release().await.unwrap();
    client.close().await.unwrap();

    let acquire = program.span("tenure.acquire");
    let (trace, parent) = (acquire.span_context.trace_id(), acquire.span_context.span_id());
    let is_call = |span: &Span| span.name == DECLARE && span.parent_span_id == parent.to_bytes();
    let call = collector.span("the declaration below the client's acquire", is_call).await;
    assert_eq!(call.trace_id, trace.to_bytes(), "one trace across both");
    let sequencing = collector.child(&call, "tenure.sequencer").await;
    let append = collector.child(&sequencing, "tenure.append").await;
    let statement = collector.child(&append, "INSERT batches").await;

    let has = |span, key, value: &str| assert_eq!(attribute(span, key).as_deref(), Some(value), "{key}");
    has(&call, "rpc.system", "grpc");
    has(&call, "rpc.service", "tenure.v1.ClientService");
    has(&call, "rpc.method", "Declare");
    has(&call, "rpc.grpc.status_code", "0");
    has(&call, "tenure.lock.names", "job");
    has(&sequencing, "tenure.outcome", "reconciled");
    has(&append, "tenure.batch.commands", "1");
    has(&append, "tenure.revision.after", &token.to_string());
    has(&append, "tenure.append.outcome", "committed");
    has(&append, "db.system.name", system);
    has(&statement, "db.system.name", system);
    has(&statement, "db.operation.name", "INSERT");
    assert!(call.start_time_unix_nano <= sequencing.start_time_unix_nano);
    assert!(append.end_time_unix_nano >= statement.end_time_unix_nano);

    // The other operations of this client are traced as well: changes, and plain calls.
    for (name, at_server) in [("tenure.release", WITHDRAW), (GET_LOCK, GET_LOCK)] {
        let parent = program.span(name).span_context;
        let is_child = |span: &Span| span.name == at_server && span.parent_span_id == parent.span_id().to_bytes();
        assert_eq!(collector.span(at_server, is_child).await.trace_id, parent.trace_id().to_bytes());
    }
    let spans = collector.of_trace(&trace.to_string());
    assert!(spans.iter().all(|(service, _)| service.contains("tenured")), "{spans:?}");
}

#[tokio::test]
async fn one_trace_spans_client_server_and_sqlite() {
    one_trace(Store::Sqlite, "sqlite").await;
}

#[tokio::test]
async fn one_trace_spans_client_server_and_postgres() {
    one_trace(Store::Postgres, "postgresql").await;
}

#[tokio::test]
async fn one_trace_spans_client_server_and_mariadb() {
    one_trace(Store::MariaDb, "mariadb").await;
}

async fn channel(server: &Tenured) -> Channel {
    tonic::transport::Endpoint::new(server.url()).unwrap().connect().await.unwrap()
}

/// The calls of a program that supports no more of tracing than the header.
async fn calls(server: &Tenured) -> LockServiceClient<Channel> {
    LockServiceClient::new(channel(server).await)
}

fn with_header<M>(message: M, traceparent: &str) -> Request<M> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("traceparent", traceparent.parse().unwrap());
    request
}

fn lock(name: &str) -> GetLockRequest {
    GetLockRequest { namespace: String::new(), name: name.to_owned() }
}

fn traceparent(trace: &str, flags: &str) -> String {
    format!("00-{}-b7ad6b7169203331-{flags}", trace.repeat(16))
}

#[tokio::test]
async fn valid_traceparent_is_continued_and_an_invalid_one_is_ignored() {
    let collector = Collector::start().await;
    let server = Tenured::start(&collector.exporting_options(TenuredOptions::default())).await.unwrap();
    let mut calls = calls(&server).await;
    calls.get_lock(with_header(lock("unsampled"), &traceparent("aa", "00"))).await.unwrap();
    calls.get_lock(with_header(lock("bad"), "00-hello-world-01")).await.unwrap();
    let bad = collector.span("a call without a parent", |span| span.name == GET_LOCK).await;
    assert_eq!((hex(&bad.parent_span_id).as_str(), bad.trace_id.len()), ("", 16), "a trace of its own");

    let wanted = AcquireRequest { names: vec!["job".into()], ttl: ttl(), owner: "me".into(), ..Default::default() };
    let mut request = with_header(wanted, &traceparent("bb", "01"));
    request.metadata_mut().insert("authorization", "Bearer secret".parse().unwrap());
    calls.acquire(request).await.unwrap();
    let call = collector.span("the call", |span| span.name == ACQUIRE).await;
    assert_eq!(hex(&call.trace_id), "bb".repeat(16));
    assert_eq!(hex(&call.parent_span_id), "b7ad6b7169203331");
    assert_eq!(attribute(&call, "server.port"), Some(server.port().to_string()));
    assert_eq!(attribute(&call, "tenure.session.owner").as_deref(), Some("me"));
    assert!(!format!("{call:?}").contains("secret"), "{call:?}");
    let sequencing = collector.child(&call, "tenure.sequencer").await;
    let append = collector.child(&sequencing, "tenure.append").await;
    collector.child(&append, "INSERT batches").await;

    let rejection = calls.get_lock(with_header(lock(""), &traceparent("cc", "01"))).await.unwrap_err();
    let is_it = |span: &Span| hex(&span.trace_id) == "cc".repeat(16);
    let code = attribute(&collector.span("the rejected call", is_it).await, "rpc.grpc.status_code");
    assert_eq!(code, Some(i32::from(rejection.code()).to_string()));
    assert_eq!(collector.of_trace(&"aa".repeat(16)), [], "the caller did not sample it");
}

#[tokio::test]
async fn wait_records_its_grant() {
    let collector = Collector::start().await;
    let server = Tenured::start(&collector.exporting_options(TenuredOptions::default())).await.unwrap();
    let (client, mut calls) = (client(&server), calls(&server).await);
    let first = client.lock("job").acquire().await.unwrap();
    let wait = Some(prost_types::Duration { seconds: 60, nanos: 0 });
    let wanted = AcquireRequest { names: vec!["job".into()], ttl: ttl(), wait, ..Default::default() };
    let waiting = calls.acquire(with_header(wanted, &traceparent("aa", "01")));
    let releasing = async {
        let queued = async || client.get_lock("job").await.is_ok_and(|lock| lock.waiter_count == 1);
        wait_until(LONG, "the second is in the queue", queued).await;
        first.release().await.unwrap();
    };
    let (second, ()) = tokio::join!(waiting, releasing);
    let token = second.unwrap().into_inner().token;
    let has_waited = |span: &Span| span.name == ACQUIRE && !span.events.is_empty();
    let call = collector.span("an acquire that has waited", has_waited).await;
    let happened: Vec<&str> = call.events.iter().map(|event| &*event.name).collect();
    assert_eq!(happened, ["waiting", "granted"]);
    let granted = format!("{:?}", call.events[1].attributes);
    assert!(granted.contains("tenure.fencing_token") && granted.contains(&format!("IntValue({token})")), "{granted}");
}

#[tokio::test]
async fn batch_is_in_one_trace_and_linked_to_the_others() {
    let collector = Collector::start().await;
    let server = Tenured::start(&collector.exporting_options(TenuredOptions::default())).await.unwrap();
    let (requests, sent) = tokio::sync::mpsc::channel(8);
    let mut stream = ClientServiceClient::new(channel(&server).await);
    let mut replies = stream.connect(tokio_stream::wrappers::ReceiverStream::new(sent)).await.unwrap().into_inner();
    let hello = Hello { client_id: "a-client-of-this-test".into(), epoch: 1, ..Default::default() };
    requests.send(ConnectRequest { kind: Some(Sent::Hello(hello)) }).await.unwrap();
    timeout(LONG, replies.next()).await.unwrap().unwrap().unwrap();
    let declare = |(session, traceparent): (u64, String)| {
        let open = Some(DeclaredSession { ttl: ttl(), ..Default::default() });
        let declaration = Declaration { session, open, ..Default::default() };
        Change { kind: Some(change::Kind::Declare(declaration)), traceparent }
    };
    let changes = [
        (1, "x".repeat(10_000)),
        (2, traceparent("aa", "00")),
        (3, traceparent("bb", "01")),
        (4, traceparent("cc", "01")),
    ];
    let changes = Changes { changes: changes.map(declare).into() };
    requests.send(ConnectRequest { kind: Some(Sent::Changes(changes)) }).await.unwrap();
    timeout(LONG, replies.next()).await.unwrap().unwrap().unwrap();

    let sequencing = async |trace: &str| {
        let is_it = |span: &Span| span.name == "tenure.sequencer" && hex(&span.trace_id) == trace.repeat(16);
        collector.span("the sequencer span of a command", is_it).await
    };
    let (first, second) = (sequencing("bb").await, sequencing("cc").await);
    let append = collector.child(&first, "tenure.append").await;
    collector.child(&append, "INSERT batches").await;
    assert_eq!(attribute(&append, "tenure.batch.commands").as_deref(), Some("3"));
    let links = |span: &Span| span.links.iter().map(|link| hex(&link.span_id)).collect::<Vec<_>>();
    assert_eq!(links(&append), [hex(&second.span_id)]);
    assert_eq!(links(&second), [hex(&append.span_id)]);
    assert_eq!(links(&first), Vec::<String>::new());
    assert_eq!(collector.of_trace(&"aa".repeat(16)), []);
}

#[tokio::test]
async fn forwarded_command_stays_in_its_trace() {
    let collector = Collector::start().await;
    let options = collector.exporting_options(Store::Postgres.fresh().await.unwrap());
    let servers = [Tenured::start(&options).await.unwrap(), Tenured::start(&options).await.unwrap()];
    let calls = [calls(&servers[0]).await, calls(&servers[1]).await];
    let acquire_and_release = async |server: usize| {
        let (mut calls, name) = (calls[server].clone(), format!("job-{server}"));
        let wanted = AcquireRequest { names: vec![name.clone()], ttl: ttl(), ..Default::default() };
        let claim = calls.acquire(wanted).await.unwrap().into_inner().claim.unwrap();
        let token = claim.token;
        let release = ReleaseRequest { name, session_id: claim.session_id, token, ..Default::default() };
        calls.release(release).await.unwrap();
    };
    let is_forwarded = |span: &Span| attribute(span, "tenure.forwarded_by").is_some();
    // The servers themselves determine which of the two is the writer.
    let forwarding = async || {
        tokio::join!(acquire_and_release(0), acquire_and_release(1));
        collector.arrived(is_forwarded).is_some()
    };
    wait_until(LONG, "one server forwards a command to the other", forwarding).await;
    let received = collector.arrived(is_forwarded).unwrap();
    assert_eq!(received.name, "tenure.sequencer");
    let is_parent = |span: &Span| span.span_id == received.parent_span_id && span.trace_id == received.trace_id;
    let forwarded = collector.span("the span of the forwarding server", is_parent).await;
    assert_eq!(forwarded.name, "tenure.sequencer");
    assert!(forwarded.events.iter().any(|event| event.name == "forwarded"), "{:?}", forwarded.events);
    let call = collector.span("the call", |span| span.span_id == forwarded.parent_span_id).await;
    assert!(call.name.starts_with("tenure.v1."), "{}", call.name);
}

#[tokio::test]
async fn disabled_export_opens_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let disabled = [
        vec![("OTEL_TRACES_SAMPLER", "always_on")],
        vec![("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint), ("OTEL_SDK_DISABLED", "true")],
        vec![("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint), ("OTEL_TRACES_EXPORTER", "none")],
        vec![("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", &*endpoint)],
    ];
    for variables in disabled {
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut server = Tenured::start(&TenuredOptions { environment, ..Default::default() }).await.unwrap();
        let header = traceparent("bb", "01");
        calls(&server).await.get_lock(with_header(lock("job"), &header)).await.unwrap();
        server.stop().await.unwrap();
        let connected = timeout(Duration::ZERO, listener.accept()).await;
        assert!(connected.is_err(), "{variables:?}");
    }
}

#[tokio::test]
async fn unreachable_collector_is_logged_once_and_delays_no_call() {
    let unreachable = format!("http://127.0.0.1:{}", tenure_harness::free_port().unwrap());
    let mut server = Tenured::start(&exporting_to(TenuredOptions::default(), &unreachable)).await.unwrap();
    let mut calls = calls(&server).await;
    let log_file = server.log_file();
    let logged = || {
        let log = std::fs::read_to_string(&log_file).unwrap();
        log.lines().filter(|line| line.contains("cannot export traces")).count()
    };
    let is_logged = async || {
        // Each call has a span, so that there is always something to export.
        calls.get_lock(lock("job")).await.unwrap();
        logged() == 1
    };
    wait_until(LONG, "the failure is logged", is_logged).await;
    for _ in 0..500 {
        calls.get_lock(lock("job")).await.unwrap();
    }
    assert_eq!(logged(), 1);
    let stopping = Instant::now();
    server.stop().await.unwrap();
    assert!(stopping.elapsed() < Duration::from_secs(10), "{:?}", stopping.elapsed());
}

#[tokio::test]
async fn invalid_sampler_is_logged_and_the_server_serves() {
    let mut options = exporting_to(TenuredOptions::default(), "http://127.0.0.1:1");
    options.environment.push(("OTEL_TRACES_SAMPLER".to_owned(), "sometimes".to_owned()));
    let server = Tenured::start(&options).await.unwrap();
    calls(&server).await.get_lock(lock("job")).await.unwrap();
    let log = std::fs::read_to_string(server.log_file()).unwrap();
    assert!(log.contains("cannot start the export of traces") && log.contains("not sometimes"), "{log}");
}
