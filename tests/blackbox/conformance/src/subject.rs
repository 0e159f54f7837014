//! The subject of the tests.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tenure_server::store::{Batch, Store, StoreError};

/// Runs SQL in the database; returns the first column as text.
pub type Query = Box<dyn Fn(String) -> Pin<Box<dyn Future<Output = Vec<String>> + Send>> + Send + Sync>;

/// Changes the database's identity, as a failover to another server of the database would.
pub type FailOver = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A fresh database with the stores of two servers.
pub struct Subject {
    /// One server's store.
    pub one: Arc<dyn Store>,
    /// The other server's store; the same as `one` if the store is exclusive.
    pub two: Arc<dyn Store>,
    /// Runs SQL, where the database supports it.
    pub query: Option<Query>,
    /// Changes the database's identity, where that is possible.
    pub fail_over: Option<FailOver>,
    /// Whether `hint` is supported, and does not just wait for ever.
    pub hints: bool,
    /// Resources that must live as long as the stores.
    pub keep: Box<dyn std::any::Any + Send + Sync>,
}

impl Subject {
    /// Appends batches, all of which must be accepted.
    pub(crate) async fn append_all(&self, batches: &[Batch]) {
        for batch in batches {
            self.one.append(batch, false).await.expect("the append is accepted");
        }
    }

    /// The log after a revision, read in steps.
    pub(crate) async fn log_after(&self, namespace: &str, after: u64) -> Result<Vec<Arc<Batch>>, StoreError> {
        let mut batches: Vec<Arc<Batch>> = Vec::new();
        let mut after = tenure_core::Revision(after);
        loop {
            let tail = self.two.read(namespace, after, 1000).await?;
            let Some(last) = tail.batches.last() else { return Ok(batches) };
            after = last.revision();
            batches.extend(tail.batches);
        }
    }
}
