//! The store in memory.

use tenure_conformance::{Subject, conformance};
use tenure_server::store::MemoryDatabase;

async fn subject() -> Subject {
    let database = MemoryDatabase::new();
    let other = database.clone();
    Subject {
        one: database.server(),
        two: database.server(),
        query: None,
        fail_over: Some(Box::new(move || {
            other.fail_over();
            Box::pin(async {})
        })),
        hints: true,
        keep: Box::new(()),
    }
}

conformance!(store, subject().await);
