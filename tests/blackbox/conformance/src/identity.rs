//! Changes of the database's identity: the new database may have lost history.

use std::sync::Arc;

use tenure_core::Revision;
use tenure_server::store::StoreError;

use crate::Subject;
use crate::samples::{NAMESPACE, filler, fillers, loss, no_changes};

/// No batch is appended to a head written by another database until the loss of history is declared.
pub async fn change_blocks_appends_until_the_loss_is_declared(subject: &Subject) {
    let Some(fail_over) = &subject.fail_over else { return };
    subject.append_all(&fillers(NAMESPACE, &[2, 3])).await;
    fail_over().await;
    let tail = subject.two.read(NAMESPACE, Revision(0), 10).await.expect("it can be read");
    assert!(!tail.head.intact);
    assert_eq!(tail.batches.len(), 2, "the log can still be read");
    let conflict = subject.one.append(&filler(NAMESPACE, 5, 1), false).await;
    assert_eq!(conflict, Err(StoreError::Conflict));
    assert_eq!(subject.one.save(NAMESPACE, &no_changes(0, 5)).await, Err(StoreError::Conflict));
    let conflict = subject.one.append(&loss(NAMESPACE, 4, 1 << 40), false).await;
    assert_eq!(conflict, Err(StoreError::Conflict), "a declaration must know the head, too");

    subject.one.append(&loss(NAMESPACE, 5, 1 << 40), false).await.expect("the loss can be declared");
    let again = subject.two.append(&loss(NAMESPACE, 5, 1 << 41), false).await;
    assert_eq!(again, Err(StoreError::Conflict), "a loss is declared once");
    let tail = subject.two.read(NAMESPACE, Revision(5), 10).await.expect("it can be read");
    assert!(tail.head.intact);
    assert_eq!(tail.batches, [Arc::new(loss(NAMESPACE, 5, 1 << 40))]);
    subject.two.append(&filler(NAMESPACE, 1 << 40, 1), false).await.expect("the log continues");
    subject.one.save(NAMESPACE, &no_changes(0, 5)).await.expect("the rows are saved");
}

/// A loss can be declared also on the database that wrote the head: when a server saw revisions that no longer exist.
pub async fn declared_loss_advances_the_revision(subject: &Subject) {
    subject
        .append_all(&[filler(NAMESPACE, 0, 3), loss(NAMESPACE, 3, 1_000_000), filler(NAMESPACE, 1_000_000, 1)])
        .await;
    let tail = subject.two.read(NAMESPACE, Revision(3), 10).await.expect("it can be read");
    assert_eq!(tail.batches, [Arc::new(loss(NAMESPACE, 3, 1_000_000))], "the jump ends the step");
    assert!(tail.head.intact);
    assert_eq!(tail.head.revision, Revision(1_000_001));

    let first = loss("lost-all", 0, 500);
    subject.one.append(&first, false).await.expect("a namespace may begin with a loss");
    assert_eq!(subject.log_after("lost-all", 0).await.expect("it can be read"), [Arc::new(first)]);
}

/// The namespace may have existed, and be among the lost data.
pub async fn change_blocks_new_namespaces_until_the_loss_is_declared(subject: &Subject) {
    let head = subject.one.read("new", Revision(0), 10).await.expect("it can be read").head;
    assert!(head.intact, "the tables were created on this database");
    let Some(fail_over) = &subject.fail_over else { return };
    subject.append_all(&fillers(NAMESPACE, &[2])).await;
    fail_over().await;
    let head = subject.two.read("new", Revision(0), 10).await.expect("it can be read").head;
    assert!(!head.intact);
    assert_eq!(head.revision, Revision(0));
    let conflict = subject.one.append(&filler("new", 0, 1), false).await;
    assert_eq!(conflict, Err(StoreError::Conflict));
    subject.one.append(&loss("new", 0, 1 << 40), false).await.expect("the loss can be declared");
    let head = subject.two.read("new", Revision(0), 10).await.expect("it can be read").head;
    assert!(head.intact);
    subject.two.append(&filler("new", 1 << 40, 1), false).await.expect("the log continues");
}
