//! Trimming history.

use tenure_core::Revision;
use tenure_server::store::{Batch, Measured, StoreError, encode_events};

use crate::Subject;
use crate::samples::{NAMESPACE, batch, every_event, filler, fillers, no_changes};

/// One batch per stamp, of two events each.
fn stamped(stamps: &[i64]) -> Vec<Batch> {
    let batch = |(at_ms, previous)| Batch { at_ms, ..filler(NAMESPACE, previous, 2) };
    stamps.iter().copied().zip((0..).step_by(2)).map(batch).collect()
}

async fn trim(subject: &Subject, before_ms: i64) -> u64 {
    subject.one.trim(NAMESPACE, Revision(0), before_ms).await.expect("history can be trimmed").0
}

/// Batches that the rows do not cover stay, and so do batches that are not old enough.
pub async fn trim_stops_at_the_rows_and_the_time(subject: &Subject) {
    assert_eq!(trim(subject, i64::MAX).await, 0, "an absent namespace");
    subject.append_all(&stamped(&[10, 20, 30, 40, 50])).await;
    assert_eq!(trim(subject, 45).await, 0, "no rows yet");
    subject.one.save(NAMESPACE, &no_changes(0, 6)).await.expect("the rows are saved");
    assert_eq!(trim(subject, 10).await, 0, "a batch stamped at the bound is not before it");
    assert_eq!(trim(subject, 11).await, 2);
    assert_eq!(trim(subject, 11).await, 2, "repeated");
    assert_eq!(trim(subject, 45).await, 6);

    for after in [0, 1, 5] {
        let tail = subject.two.read(NAMESPACE, Revision(after), 10).await;
        assert_eq!(tail, Err(StoreError::Compacted(Revision(6))), "after {after}");
    }
    let tail = subject.two.read(NAMESPACE, Revision(6), 10).await.expect("the rest can be read");
    assert_eq!(tail.batches.len(), 2);
    subject.one.append(&filler(NAMESPACE, 10, 1), false).await.expect("the log continues");
    subject.one.save(NAMESPACE, &no_changes(6, 10)).await.expect("the rows are saved");
}

/// Servers' clocks differ. The remaining log has no gaps nevertheless.
pub async fn trim_leaves_no_gaps(subject: &Subject) {
    subject.append_all(&stamped(&[10, 99, 20, 30])).await;
    subject.one.save(NAMESPACE, &no_changes(0, 8)).await.expect("the rows are saved");
    assert_eq!(trim(subject, 50).await, 2, "an old batch after a newer one stays");
    assert_eq!(subject.log_after(NAMESPACE, 2).await.expect("the rest can be read").len(), 3);
}

/// Without the newest batch, the log would lose its position.
pub async fn trim_keeps_the_newest_batch(subject: &Subject) {
    subject.append_all(&stamped(&[10, 20])).await;
    subject.one.save(NAMESPACE, &no_changes(0, 4)).await.expect("the rows are saved");
    assert_eq!(trim(subject, i64::MAX).await, 2);
    assert_eq!(subject.log_after(NAMESPACE, 2).await.expect("the rest can be read").len(), 1);
}

/// Trims more batches than fit into one transaction.
pub async fn trim_drops_more_batches_than_fit_into_a_transaction(subject: &Subject) {
    const BATCHES: u64 = 1_200;
    subject.append_all(&fillers(NAMESPACE, &[1; BATCHES as usize])).await;
    subject.one.save(NAMESPACE, &no_changes(0, BATCHES)).await.expect("the rows are saved");
    assert_eq!(trim(subject, i64::MAX).await, BATCHES - 1);
    assert_eq!(trim(subject, i64::MAX).await, BATCHES - 1);
    let tail = subject.two.read(NAMESPACE, Revision(BATCHES - 1), 10).await.expect("the newest batch can be read");
    assert_eq!(tail.batches.len(), 1);
}

/// The age of the batches does not matter.
pub async fn trim_stops_at_a_revision(subject: &Subject) {
    subject.append_all(&stamped(&[10, 20, 30, 40, 50])).await;
    subject.one.save(NAMESPACE, &no_changes(0, 8)).await.expect("the rows are saved");
    let trim = async |until: u64, before_ms: i64| subject.one.trim(NAMESPACE, Revision(until), before_ms).await;
    assert_eq!(trim(1, i64::MIN).await, Ok(Revision(0)), "inside a batch");
    assert_eq!(trim(3, i64::MIN).await, Ok(Revision(2)), "whole batches only");
    assert_eq!(trim(4, 25).await, Ok(Revision(4)), "either bound suffices");
    assert_eq!(trim(Revision::MAX.0, i64::MIN).await, Ok(Revision(8)), "not beyond the rows");
    assert_eq!(subject.log_after(NAMESPACE, 8).await.expect("the rest can be read").len(), 1);
    subject.one.save(NAMESPACE, &no_changes(8, 10)).await.expect("the rows are saved");
    assert_eq!(trim(Revision::MAX.0, i64::MIN).await, Ok(Revision(8)), "never the newest");
}

/// Sizes are in bytes as stored, for any content, and independent of the step.
pub async fn measure_adds_up_in_pieces(subject: &Subject) {
    let measure = async |after: u64, limit| subject.two.measure(NAMESPACE, Revision(after), limit).await;
    assert_eq!(measure(0, 10).await, Ok(None), "an absent namespace");
    let one_each = every_event().into_iter().zip(0..).map(|(event, previous)| batch(NAMESPACE, previous, vec![event]));
    let batches: Vec<Batch> = one_each.collect();
    subject.append_all(&batches).await;
    let sizes: Vec<u64> = batches.iter().map(|batch| encode_events(&batch.events).len() as u64).collect();
    let head = batches.last().expect("there are batches").revision();
    let all = Measured { until: head, bytes: sizes.iter().sum() };
    assert_eq!(measure(0, 1_000).await, Ok(Some(all)));
    assert_eq!(measure(head.0, 10).await, Ok(None));
    let (mut after, mut pieces) = (0, Vec::new());
    while let Some(piece) = measure(after, 1).await.expect("it can be measured") {
        after = piece.until.0;
        pieces.push(piece);
    }
    let each = batches.iter().zip(&sizes).map(|(batch, bytes)| Measured { until: batch.revision(), bytes: *bytes });
    assert_eq!(pieces, each.collect::<Vec<_>>());
    let first = batches.first().expect("there are batches").revision();
    let rest = Measured { until: head, bytes: all.bytes - sizes[0] };
    subject.one.save(NAMESPACE, &no_changes(0, head.0)).await.expect("the rows are saved");
    subject.one.trim(NAMESPACE, first, i64::MIN).await.expect("history can be trimmed");
    assert_eq!(measure(0, 1_000).await, Ok(Some(rest)), "dropped batches do not count");
}
