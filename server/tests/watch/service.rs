//! A server on a database in memory, and requests to it over gRPC.

use std::sync::Arc;
use std::time::Duration;

use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::watch_response::Kind;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{
    AcquireRequest, EvictRequest, ListHistoryRequest, ListHistoryResponse, ListLocksRequest, ReleaseRequest, Snapshot,
    WatchRequest, WatchResponse,
};
use tenure_server::grpc::TtlBounds;
use tenure_server::node::NodeOptions;
use tenure_server::server::{Server, ServerOptions};
use tenure_server::store::{MemoryDatabase, MemoryStore, Store};
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::lab;
use crate::serving::{self, within};

pub struct Service {
    pub database: MemoryDatabase,
    pub store: Arc<MemoryStore>,
    pub channel: Channel,
    _server: Server,
}

impl Service {
    pub async fn start() -> Self {
        Self::on(MemoryDatabase::new()).await
    }

    /// Starts another server on the same database.
    pub async fn peer_of(other: &Self) -> Self {
        Self::on(other.database.clone()).await
    }

    async fn on(database: MemoryDatabase) -> Self {
        let store = database.server();
        let ttl = TtlBounds { min: Duration::from_millis(500), max: Duration::from_secs(3600) };
        let node = NodeOptions { address: String::new(), ..lab::options() };
        let options = ServerOptions { ttl, node, ..serving::options() };
        let server = serving::start_on(options, store.clone()).await.expect("started");
        let url = format!("http://{}", server.grpc_address);
        let channel = Channel::from_shared(url).expect("a URL").connect().await.expect("connected");
        Self { database, store, channel, _server: server }
    }

    fn locks(&self) -> LockServiceClient<Channel> {
        LockServiceClient::new(self.channel.clone())
    }

    /// Acquires a free lock; returns the token.
    pub async fn acquire(&self, session: &str, name: &str) -> u64 {
        self.acquire_for(session, name, Duration::ZERO).await
    }

    /// Acquires a free lock with a minimum hold; returns the token.
    pub async fn acquire_for(&self, session: &str, name: &str, min_hold: Duration) -> u64 {
        let request = AcquireRequest {
            names: vec![name.to_owned()],
            session_id: session.to_owned(),
            ttl: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
            wait: Some(prost_types::Duration::default()),
            min_hold: Some(prost_types::Duration::try_from(min_hold).expect("short")),
            ..AcquireRequest::default()
        };
        let answer = self.locks().acquire(request).await.expect("a reply").into_inner();
        assert!(answer.acquired, "{answer:?}");
        answer.token
    }

    /// Joins the queue of a lock that is held. The call continues in the background.
    pub async fn queue(&self, session: &str, name: &str) {
        let request = AcquireRequest {
            names: vec![name.to_owned()],
            session_id: session.to_owned(),
            ttl: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
            ..AcquireRequest::default()
        };
        let mut locks = self.locks();
        tokio::spawn(async move { locks.acquire(request).await });
        let queued = async {
            loop {
                let answer = self.locks().list_locks(ListLocksRequest::default()).await.expect("listed").into_inner();
                if answer.locks.iter().any(|lock| lock.name == name && lock.waiter_count > 0) {
                    return;
                }
            }
        };
        within(queued).await;
    }

    pub async fn release(&self, session: &str, name: &str, token: u64) {
        let (name, session_id) = (name.to_owned(), session.to_owned());
        let request = ReleaseRequest { name, session_id, token, ..ReleaseRequest::default() };
        self.locks().release(request).await.expect("held");
    }

    pub async fn evict(&self, name: &str) {
        let (operator, note) = ("root".to_owned(), "stuck".to_owned());
        let request = EvictRequest { name: name.to_owned(), operator, note, ..EvictRequest::default() };
        let answer = self.locks().evict(request).await.expect("allowed").into_inner();
        assert_eq!(answer.evicted.len(), 1);
    }

    /// Acquires and releases `count` locks, many at a time.
    pub async fn churn(&self, count: usize) {
        let tasks: Vec<_> = (0..count)
            .map(|number| {
                let name = format!("churn{number}");
                async move {
                    let token = self.acquire("churner", &name).await;
                    self.release("churner", &name, token).await;
                }
            })
            .collect();
        futures::future::join_all(tasks).await;
    }

    pub async fn revision(&self) -> u64 {
        self.locks().list_locks(ListLocksRequest::default()).await.expect("listed").into_inner().revision
    }

    /// Waits until the rows cover the whole log.
    pub async fn rows_are_written(&self) {
        let written = async {
            while self.store.load("default").await.expect("readable").revision != self.database.revision("default") {
                tokio::task::yield_now().await;
            }
        };
        within(written).await;
    }

    pub async fn history(&self, request: ListHistoryRequest) -> Result<ListHistoryResponse, Status> {
        Ok(self.locks().list_history(request).await?.into_inner())
    }

    pub async fn watch(&self, request: WatchRequest) -> Result<Streaming<WatchResponse>, Status> {
        Ok(WatchServiceClient::new(self.channel.clone()).watch(request).await?.into_inner())
    }
}

pub struct Reader {
    stream: Streaming<WatchResponse>,
    /// All events up to this revision have been received.
    pub revision: u64,
}

impl Reader {
    pub async fn start(service: &Service, request: WatchRequest) -> Self {
        Self { stream: service.watch(request).await.expect("allowed"), revision: 0 }
    }

    pub async fn next(&mut self) -> Kind {
        let message = within(self.stream.message()).await;
        let message = message.expect("no error").expect("not the end");
        self.revision = message.revision;
        message.kind.expect("a kind")
    }
}

pub fn names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.locks.iter().map(|lock| lock.name.clone()).collect()
}
