//! A server without the network, with an in-memory database and a paused clock, which advances when there is nothing
//! else to do.

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, Full};
use prost::Message;
use prost::bytes::{Buf, Bytes, BytesMut};
use prost_reflect::{DynamicMessage, MethodDescriptor};
use tenure_core::Table;
use tenure_server::cluster::clock::Clock;
use tenure_server::grpc::{Api, TtlBounds};
use tenure_server::node::follow;
use tenure_server::node::heartbeat::Heartbeats;
use tenure_server::node::{Node, NodeOptions};
use tenure_server::store::{Fault, MemoryDatabase};
use tenure_server::telemetry::metrics::Metrics;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Status;
use tonic::body::Body;
use tonic::service::Routes;
use tower::ServiceExt;

use crate::contract::path;
use crate::invariants;

/// The limit of a call that does not wait; the service's own limit is shorter.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);

/// Tokio's clock.
struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The outcome of a call.
pub(super) enum Answer {
    Replied(Vec<DynamicMessage>),
    Rejected(Status),
    /// It has not ended.
    Pending,
}

#[derive(Clone)]
pub(super) struct TestServer {
    node: Arc<Node>,
    routes: Routes,
    database: Arc<MemoryDatabase>,
    _open: Arc<DropGuard>,
}

impl TestServer {
    pub(super) async fn open() -> Self {
        let options = NodeOptions {
            lease: Duration::from_secs(10),
            label: "fuzz".to_owned(),
            address: String::new(),
            certificate: String::new(),
            reattach: Duration::from_secs(1),
            poll_interval: Duration::from_secs(1),
            max_namespaces: 2,
            history_retention: Duration::from_secs(3_600),
            history_max_bytes: 1 << 30,
        };
        let database = Arc::new(MemoryDatabase::new());
        let cancel = CancellationToken::new();
        let clock = Arc::new(Paused(Instant::now()));
        let node = Node::new(options, database.server(), clock, None, Metrics::default(), cancel.clone());
        let mut heartbeats = Heartbeats::begin(node.clone()).await.expect("registered");
        heartbeats.during(node.namespaces.open_all()).await.expect("alive").expect("opened");
        node.tasks.spawn(follow::run(node.clone()));
        node.tasks.spawn(async move {
            heartbeats.run().await;
        });
        let ttl = TtlBounds { min: Duration::from_millis(100), max: Duration::from_secs(3_600) };
        let api = Api::new(ttl, CancellationToken::new());
        api.serve(Some(node.clone()));
        Self { node, routes: api.routes().prepare(), database, _open: Arc::new(cancel.drop_guard()) }
    }

    /// Makes the next append without a fault fail in one of the possible ways.
    pub(super) fn fail_next(&self, way: u8) {
        let faults = [Fault::Unavailable, Fault::OutcomeUnknown, Fault::OutcomeUnknownAndLost];
        self.database.fail_next(faults[usize::from(way) % faults.len()]);
    }

    pub(super) async fn call(&self, method: &MethodDescriptor, request: &DynamicMessage) -> Answer {
        timeout(TIMEOUT, self.send(method, request)).await.unwrap_or(Answer::Pending)
    }

    async fn send(&self, method: &MethodDescriptor, request: &DynamicMessage) -> Answer {
        let message = request.encode_to_vec();
        let length = u32::try_from(message.len()).expect("short").to_be_bytes();
        let body = Body::new(Full::new(Bytes::from([&[0], &length[..], &message].concat())));
        let request = http::Request::post(path(method)).header(CONTENT_TYPE, "application/grpc").body(body);
        let response = self.routes.clone().oneshot(request.expect("a request")).await;
        let (head, mut body) = response.unwrap_or_else(|never| match never {}).into_parts();
        if let Some(status) = Status::from_header_map(&head.headers) {
            return Answer::Rejected(status);
        }
        let mut received = BytesMut::new();
        while let Some(frame) = body.frame().await {
            match frame.expect("a complete body").into_data() {
                Ok(data) => received.extend_from_slice(&data),
                Err(frame) => {
                    let status = frame.trailers_ref().and_then(Status::from_header_map).expect("a status at the end");
                    if status.code() != tonic::Code::Ok {
                        return Answer::Rejected(status);
                    }
                }
            }
        }
        Answer::Replied(read(received, method))
    }

    /// Asserts the invariants of the tables, and that they equal a replay of the log.
    pub(super) async fn check(&self) {
        for namespace in self.node.namespaces.all() {
            let (database, name) = (self.database.clone(), namespace.name().clone());
            let read = namespace.read(move |table| {
                invariants::check(table);
                let mut replayed = Table::default();
                let log = database.log(&name);
                let events = log.iter().flat_map(|batch| &batch.events);
                events
                    .take_while(|recorded| recorded.revision <= table.revision())
                    .for_each(|recorded| replayed.apply(recorded));
                assert_eq!(replayed, *table, "the log does not contain every change");
            });
            // Without its lease a server does not return its state.
            let _ = timeout(TIMEOUT, read).await.expect("a reply in time");
        }
    }
}

/// The messages of an answer.
fn read(mut received: BytesMut, method: &MethodDescriptor) -> Vec<DynamicMessage> {
    let mut messages = Vec::new();
    while received.has_remaining() {
        assert_eq!(received.get_u8(), 0, "not compressed");
        let length = received.get_u32() as usize;
        let message = received.split_to(length);
        messages.push(DynamicMessage::decode(method.output(), message).expect("it is of its type"));
    }
    messages
}
