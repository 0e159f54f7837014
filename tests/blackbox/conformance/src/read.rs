//! Reading the log.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_core::Revision;

use crate::Subject;
use crate::samples::{NAMESPACE, filler, fillers, loss};

/// A namespace that does not exist is at revision 0, and intact.
pub async fn absent_namespace_is_empty(subject: &Subject) {
    for after in [0, 1, u64::MAX] {
        let tail = subject.one.read("nowhere", Revision(after), 10).await.expect("it can be read");
        assert_eq!(tail.batches, []);
        assert_eq!((tail.head.revision, tail.head.rows_revision, tail.head.intact), (Revision(0), Revision(0), true));
    }
}

/// Batches that extend beyond the revision are returned whole; at or beyond the head there are none.
pub async fn starts_after_the_revision(subject: &Subject) {
    let batches: Vec<_> = fillers(NAMESPACE, &[2, 3, 1]).into_iter().map(Arc::new).collect();
    for batch in &batches {
        subject.one.append(batch, false).await.expect("the append is accepted");
    }
    for (after, skipped) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (5, 2), (6, 3), (7, 3), (u64::MAX, 3)] {
        let tail = subject.two.read(NAMESPACE, Revision(after), 100).await.expect("it can be read");
        assert_eq!(tail.batches, batches[skipped..], "after {after}");
        assert_eq!(tail.head.revision, Revision(6));
    }
}

/// At least one batch, and not many more events than requested; a jump of the revision does not count as events.
pub async fn stops_near_the_limit(subject: &Subject) {
    let mut batches = fillers(NAMESPACE, &[4; 10]);
    batches.push(loss(NAMESPACE, 40, 1 << 50));
    batches.push(filler(NAMESPACE, 1 << 50, 3));
    subject.append_all(&batches).await;
    for (limit, expected) in [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (12, 3)] {
        let tail = subject.two.read(NAMESPACE, Revision(0), limit).await.expect("it can be read");
        assert_eq!(tail.batches.len(), expected, "limit {limit}");
    }
    let log = subject.log_after(NAMESPACE, 3).await.expect("it can be read");
    assert_eq!(log, batches.into_iter().map(Arc::new).collect::<Vec<_>>(), "steps reach the end");
}

/// An acknowledged commit is visible to all servers.
pub async fn sees_commits_of_another_server(subject: &Subject) {
    for previous in 0..50 {
        let (writer, reader) =
            if previous % 2 == 0 { (&subject.one, &subject.two) } else { (&subject.two, &subject.one) };
        writer.append(&filler(NAMESPACE, previous, 1), false).await.expect("the append is accepted");
        let tail = reader.read(NAMESPACE, Revision(previous), 10).await.expect("it can be read");
        assert_eq!(tail.head.revision, Revision(previous + 1));
        assert_eq!(tail.batches, [Arc::new(filler(NAMESPACE, previous, 1))]);
    }
}

/// Concurrent readers see the log grow only at its end.
pub async fn never_skips_earlier_batches(subject: &Subject) {
    const BATCHES: u64 = 150;
    let reader = tokio::spawn({
        let store = subject.two.clone();
        async move {
            let mut seen = Revision(0);
            while seen < Revision(BATCHES * 2) {
                let tail = store.read(NAMESPACE, seen, 7).await.expect("it can be read");
                for batch in tail.batches {
                    assert_eq!(batch.previous, seen, "a batch follows the one before");
                    seen = batch.revision();
                }
                assert!(tail.head.revision >= seen, "the head is not older than the batches");
            }
        }
    });
    for number in 0..BATCHES {
        subject.one.append(&filler(NAMESPACE, number * 2, 2), false).await.expect("the append is accepted");
    }
    tokio::time::timeout(Duration::from_secs(30), reader)
        .await
        .expect("the reader reaches the end")
        .expect("batches arrive in order");
}

/// The database's clock, in ms since 1970; in this test it is that of the same machine.
pub async fn returns_the_database_clock(subject: &Subject) {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let before = now();
    let tail = subject.one.read("nowhere", Revision(0), 1).await.expect("it can be read");
    let clock = u128::try_from(tail.head.clock_ms).expect("after 1970");
    assert!((before.saturating_sub(1000)..=now() + 1000).contains(&clock), "{clock} is not about {before}");
}
