//! What the behaviours are tried on.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tenure_server::store::{Batch, Store, StoreError};

/// Asks the database in plain SQL; the answer is the first column, as text.
pub type Plain = Box<dyn Fn(String) -> Pin<Box<dyn Future<Output = Vec<String>> + Send>> + Send + Sync>;

/// Makes the database look like another one: as if another server of the database had taken over.
pub type Identity = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A fresh database with the stores of two servers on it.
pub struct Subject {
    /// One server's store.
    pub one: Arc<dyn Store>,
    /// The other server's store; the same as `one` if the store is exclusive.
    pub two: Arc<dyn Store>,
    /// Plain SQL, where the database speaks it.
    pub plain: Option<Plain>,
    /// Where the database can be made to look like another one.
    pub fail_over: Option<Identity>,
    /// Whether `hint` is more than waiting for ever.
    pub hints: bool,
    /// Keeps whatever must live as long as the stores.
    pub keep: Box<dyn std::any::Any + Send + Sync>,
}

impl Subject {
    /// Appends batches that must be accepted.
    pub(crate) async fn append_all(&self, batches: &[Batch]) {
        for batch in batches {
            self.one.append(batch, false).await.expect("the append is accepted");
        }
    }

    /// All that the log has after a revision, read in steps.
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
