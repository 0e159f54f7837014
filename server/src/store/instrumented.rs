//! A wrapper that counts the results of a store's calls.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tenure_core::{Revision, ServerId, Text};
use tokio::time::Instant;

use super::{Batch, Found, Measured, RowChanges, Rows, ServerRecord, Store, StoreCounts, StoreError, Tail};

/// Wraps a store, so that the results of its calls are counted.
pub(crate) fn counted(store: Arc<dyn Store>, counts: StoreCounts) -> Arc<dyn Store> {
    Arc::new(Instrumented { store, counts, write_error: Mutex::default() })
}

/// A store and its metrics.
struct Instrumented {
    store: Arc<dyn Store>,
    counts: StoreCounts,
    /// Why the last write failed. Set only for an exclusive store, which has no lease that expires when its writes
    /// fail.
    write_error: Mutex<Option<String>>,
}

impl Instrumented {
    async fn count<T>(
        &self,
        operation: &'static str,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let asked = Instant::now();
        let answer = answer.await;
        self.counts.asked(operation, asked.elapsed(), &answer);
        if self.store.exclusive() && matches!(operation, "append" | "save" | "heartbeat") {
            let mut write_error = self.write_error.lock().unwrap_or_else(PoisonError::into_inner);
            match &answer {
                Ok(_) => *write_error = None,
                Err(StoreError::Unavailable(reason) | StoreError::OutcomeUnknown(reason)) => {
                    *write_error = Some(reason.clone());
                }
                Err(StoreError::Conflict | StoreError::Compacted(_)) => {}
            }
        }
        answer
    }
}

#[async_trait]
impl Store for Instrumented {
    fn exclusive(&self) -> bool {
        self.store.exclusive()
    }

    async fn append(&self, batch: &Batch, notify: bool) -> Result<(), StoreError> {
        self.count("append", self.store.append(batch, notify)).await
    }

    async fn read(&self, namespace: &str, after: Revision, limit: usize) -> Result<Tail, StoreError> {
        self.count("read", self.store.read(namespace, after, limit)).await
    }

    async fn search(&self, namespace: &str, name: &str, until: Revision, limit: usize) -> Result<Found, StoreError> {
        self.count("search", self.store.search(namespace, name, until, limit)).await
    }

    async fn load(&self, namespace: &str) -> Result<Rows, StoreError> {
        self.count("load", self.store.load(namespace)).await
    }

    async fn save(&self, namespace: &str, changes: &RowChanges) -> Result<(), StoreError> {
        self.count("save", self.store.save(namespace, changes)).await
    }

    async fn heads(&self) -> Result<Vec<(Text, Revision)>, StoreError> {
        self.count("heads", self.store.heads()).await
    }

    async fn heartbeat(&self, record: &ServerRecord) -> Result<Vec<ServerRecord>, StoreError> {
        self.count("heartbeat", self.store.heartbeat(record)).await
    }

    async fn mark_dead(&self, server: ServerId, heartbeat: u64) -> Result<bool, StoreError> {
        self.count("mark_dead", self.store.mark_dead(server, heartbeat)).await
    }

    async fn forget(&self, servers: &[ServerId]) -> Result<(), StoreError> {
        self.count("forget", self.store.forget(servers)).await
    }

    async fn measure(&self, namespace: &str, after: Revision, limit: usize) -> Result<Option<Measured>, StoreError> {
        self.count("measure", self.store.measure(namespace, after, limit)).await
    }

    async fn trim(&self, namespace: &str, until: Revision, before_ms: i64) -> Result<Revision, StoreError> {
        self.count("trim", self.store.trim(namespace, until, before_ms)).await
    }

    fn write_error(&self) -> Option<String> {
        self.write_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn hint(&self) {
        self.store.hint().await;
    }
}
