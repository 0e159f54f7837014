//! Connects simulated servers to the database. Requests and responses take time and may be lost, late or never
//! answered. A request that exceeds the caller's deadline still takes effect.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use tenure_core::{Revision, ServerId, Text};
use tenure_server::store::{
    Batch, Found, Measured, MemoryStore, RowChanges, Rows, ServerRecord, Store, StoreError, Tail,
};
use tokio::sync::{Notify, oneshot};

use crate::host::HostContext;
use crate::outbox::{Route, Sent};

/// Timeout of a database request.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// A database request.
pub type StoreRequest<T> = Box<dyn FnOnce(Arc<MemoryStore>) -> BoxFuture<'static, Result<T, StoreError>> + Send>;

/// One server's connection to the database.
pub struct SimStore {
    context: HostContext,
    hinted: Arc<Notify>,
}

impl SimStore {
    /// Creates the store of one server. `hinted` is notified when other servers append.
    #[must_use]
    pub fn new(context: HostContext, hinted: Arc<Notify>) -> Self {
        Self { context, hinted }
    }

    /// Sends a request. Returns `None` if no response arrives in time.
    async fn send<T: Send + 'static>(&self, request: StoreRequest<T>) -> Option<Result<T, StoreError>> {
        let (reply, response) = oneshot::channel();
        let (host, run) = (self.context.host, self.context.run);
        let action = Box::new(move |world: &mut crate::world::World| world.execute(host, run, request, reply));
        self.context.outbox.send(Sent { at: self.context.time.now(), from: host, route: Route::Database, action });
        tokio::time::timeout(TIMEOUT, response).await.ok()?.ok()
    }

    async fn query<T: Send + 'static>(&self, request: StoreRequest<T>) -> Result<T, StoreError> {
        self.send(request).await.unwrap_or_else(|| Err(StoreError::Unavailable("no response".to_owned())))
    }
}

macro_rules! request {
    ($store:ident, $call:expr) => {
        Box::new(move |$store: Arc<MemoryStore>| Box::pin(async move { $call.await }))
    };
}

#[async_trait]
impl Store for SimStore {
    fn exclusive(&self) -> bool {
        false
    }

    async fn append(&self, batch: &Batch, notify: bool) -> Result<(), StoreError> {
        let (reply, response) = oneshot::channel();
        let (host, run, batch) = (self.context.host, self.context.run, batch.clone());
        let action = Box::new(move |world: &mut crate::world::World| world.append(host, run, batch, notify, reply));
        self.context.outbox.send(Sent { at: self.context.time.now(), from: host, route: Route::Database, action });
        match tokio::time::timeout(TIMEOUT, response).await {
            Ok(Ok(response)) => response,
            _ => Err(StoreError::OutcomeUnknown("no response".to_owned())),
        }
    }

    async fn read(&self, namespace: &str, after: Revision, limit: usize) -> Result<Tail, StoreError> {
        let namespace = namespace.to_owned();
        self.query(request!(store, store.read(&namespace, after, limit))).await
    }

    async fn search(&self, namespace: &str, name: &str, until: Revision, limit: usize) -> Result<Found, StoreError> {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        self.query(request!(store, store.search(&namespace, &name, until, limit))).await
    }

    async fn load(&self, namespace: &str) -> Result<Rows, StoreError> {
        let namespace = namespace.to_owned();
        self.query(request!(store, store.load(&namespace))).await
    }

    async fn save(&self, namespace: &str, changes: &RowChanges) -> Result<(), StoreError> {
        let (namespace, changes) = (namespace.to_owned(), changes.clone());
        self.query(request!(store, store.save(&namespace, &changes))).await
    }

    async fn heads(&self) -> Result<Vec<(Text, Revision)>, StoreError> {
        self.query(request!(store, store.heads())).await
    }

    async fn heartbeat(&self, record: &ServerRecord) -> Result<Vec<ServerRecord>, StoreError> {
        let record = record.clone();
        self.query(request!(store, store.heartbeat(&record))).await
    }

    async fn mark_dead(&self, server: ServerId, heartbeat: u64) -> Result<bool, StoreError> {
        self.query(request!(store, store.mark_dead(server, heartbeat))).await
    }

    async fn forget(&self, servers: &[ServerId]) -> Result<(), StoreError> {
        let servers = servers.to_vec();
        self.query(request!(store, store.forget(&servers))).await
    }

    async fn measure(&self, namespace: &str, after: Revision, limit: usize) -> Result<Option<Measured>, StoreError> {
        let namespace = namespace.to_owned();
        self.query(request!(store, store.measure(&namespace, after, limit))).await
    }

    async fn trim(&self, namespace: &str, until: Revision, before_ms: i64) -> Result<Revision, StoreError> {
        let namespace = namespace.to_owned();
        self.query(request!(store, store.trim(&namespace, until, before_ms))).await
    }

    async fn hint(&self) {
        self.hinted.notified().await;
    }
}
