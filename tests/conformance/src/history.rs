//! Trimming history.

use tenure_core::Revision;
use tenure_server::store::{Batch, StoreError};

use crate::Subject;
use crate::samples::{NAMESPACE, filler, fillers, no_changes};

/// A batch for each of these stamps, of two events each.
fn stamped(stamps: &[i64]) -> Vec<Batch> {
    let batch = |(at_ms, previous)| Batch { at_ms, ..filler(NAMESPACE, previous, 2) };
    stamps.iter().copied().zip((0..).step_by(2)).map(batch).collect()
}

async fn trim(subject: &Subject, before_ms: i64) -> u64 {
    subject.one.trim(NAMESPACE, before_ms).await.expect("history can be trimmed").0
}

/// What the rows do not sum up yet stays, and so does what is not old enough.
pub async fn is_trimmed_up_to_the_rows_and_the_time(subject: &Subject) {
    assert_eq!(trim(subject, i64::MAX).await, 0, "a namespace that does not exist");
    subject.append_all(&stamped(&[10, 20, 30, 40, 50])).await;
    assert_eq!(trim(subject, 45).await, 0, "no rows yet");
    subject.one.save(NAMESPACE, &no_changes(0, 6)).await.expect("the rows are saved");
    assert_eq!(trim(subject, 10).await, 0, "stamped at the time is not before it");
    assert_eq!(trim(subject, 11).await, 2);
    assert_eq!(trim(subject, 11).await, 2, "once more");
    assert_eq!(trim(subject, 45).await, 6);

    for after in [0, 1, 5] {
        let tail = subject.two.read(NAMESPACE, Revision(after), 10).await;
        assert_eq!(tail, Err(StoreError::Compacted(Revision(6))), "after {after}");
    }
    let tail = subject.two.read(NAMESPACE, Revision(6), 10).await.expect("the rest is there");
    assert_eq!(tail.batches.len(), 2);
    subject.one.append(&filler(NAMESPACE, 10, 1), false).await.expect("the log goes on");
    subject.one.save(NAMESPACE, &no_changes(6, 10)).await.expect("the rows go on");
}

/// Servers' clocks differ. What is left has no holes all the same.
pub async fn is_trimmed_in_order(subject: &Subject) {
    subject.append_all(&stamped(&[10, 99, 20, 30])).await;
    subject.one.save(NAMESPACE, &no_changes(0, 8)).await.expect("the rows are saved");
    assert_eq!(trim(subject, 50).await, 2, "an old batch after a newer one stays");
    assert_eq!(subject.log_after(NAMESPACE, 2).await.expect("the rest is there").len(), 3);
}

/// Or the log would not tell any more where it was.
pub async fn keeps_the_newest_batch(subject: &Subject) {
    subject.append_all(&stamped(&[10, 20])).await;
    subject.one.save(NAMESPACE, &no_changes(0, 4)).await.expect("the rows are saved");
    assert_eq!(trim(subject, i64::MAX).await, 2);
    assert_eq!(subject.log_after(NAMESPACE, 2).await.expect("the rest is there").len(), 1);
}

/// More than go into one transaction.
pub async fn of_many_batches_is_trimmed(subject: &Subject) {
    const BATCHES: u64 = 1_200;
    subject.append_all(&fillers(NAMESPACE, &[1; BATCHES as usize])).await;
    subject.one.save(NAMESPACE, &no_changes(0, BATCHES)).await.expect("the rows are saved");
    assert_eq!(trim(subject, i64::MAX).await, BATCHES - 1);
    assert_eq!(trim(subject, i64::MAX).await, BATCHES - 1);
    let tail = subject.two.read(NAMESPACE, Revision(BATCHES - 1), 10).await.expect("the newest is there");
    assert_eq!(tail.batches.len(), 1);
}
