//! Appending.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Revision, ServerId, Text};
use tenure_server::store::{Batch, StoreError};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::Subject;
use crate::samples::{NAMESPACE, batch, every_event, filler, fillers};

/// Longer than any operation in these tests; reached only on failure.
const DEADLINE: Duration = Duration::from_secs(30);

/// The first append creates the namespace; no other creation is needed.
pub async fn first_append_creates_the_namespace(subject: &Subject) {
    let first = filler(NAMESPACE, 0, 3);
    subject.one.append(&first, false).await.expect("the first append is accepted");
    let tail = subject.two.read(NAMESPACE, Revision(0), 100).await.expect("the log can be read");
    assert_eq!(tail.batches, [Arc::new(first)]);
    assert_eq!((tail.head.revision, tail.head.rows_revision, tail.head.intact), (Revision(3), Revision(0), true));
}

/// Appends compare the revision and set it.
pub async fn append_at_another_revision_conflicts_and_changes_nothing(subject: &Subject) {
    let too_early = subject.one.append(&filler(NAMESPACE, 5, 1), false).await;
    assert_eq!(too_early, Err(StoreError::Conflict), "the log is empty");
    let batches = fillers(NAMESPACE, &[2, 3]);
    subject.append_all(&batches).await;
    for previous in [0, 1, 2, 3, 4, 6, 1 << 60] {
        let conflict = subject.two.append(&filler(NAMESPACE, previous, 2), false).await;
        assert_eq!(conflict, Err(StoreError::Conflict), "an append after {previous}");
    }
    let log = subject.log_after(NAMESPACE, 0).await.expect("the log can be read");
    assert_eq!(log, batches.into_iter().map(Arc::new).collect::<Vec<_>>());
}

/// Of several racing appends, exactly one wins each revision, and the log has neither gaps nor foreign batches.
pub async fn concurrent_appends_have_one_winner_per_revision(subject: &Subject) {
    const WRITERS: u64 = 12;
    const ROUNDS: u64 = 12;
    let mut winners = Vec::new();
    let mut previous = 0;
    for round in 0..ROUNDS {
        let mut racers = JoinSet::new();
        for writer in 1..=WRITERS {
            let store = if writer % 2 == 0 { subject.one.clone() } else { subject.two.clone() };
            let batch =
                Batch { server: ServerId(writer), number: round, ..filler(NAMESPACE, previous, writer % 3 + 1) };
            racers.spawn(async move { (store.append(&batch, false).await, batch) });
        }
        let mut won = Vec::new();
        for (outcome, batch) in racers.join_all().await {
            match outcome {
                Ok(()) => won.push(batch),
                Err(error) => assert_eq!(error, StoreError::Conflict),
            }
        }
        assert_eq!(won.len(), 1, "round {round}: {won:?}");
        previous = won[0].revision().0;
        winners.append(&mut won);
    }
    let log = subject.log_after(NAMESPACE, 0).await.expect("the log can be read");
    assert_eq!(log, winners.into_iter().map(Arc::new).collect::<Vec<_>>());
}

/// A retry after an unknown outcome reveals whether the first append succeeded.
pub async fn repeated_append_conflicts_and_is_found_in_the_log(subject: &Subject) {
    let batch = filler(NAMESPACE, 0, 1);
    subject.one.append(&batch, false).await.expect("the first attempt is accepted");
    assert_eq!(subject.one.append(&batch, false).await, Err(StoreError::Conflict));
    let log = subject.log_after(NAMESPACE, 0).await.expect("the log can be read");
    assert!(log.iter().any(|found| (found.server, found.number) == (batch.server, batch.number)));
    assert_eq!(log.len(), 1);
}

/// A dropped append leaves neither half a batch nor an unusable store.
pub async fn dropped_append_is_atomic(subject: &Subject) {
    let mut previous = 0;
    for round in 0..30 {
        let batch = filler(NAMESPACE, previous, 3);
        // The delay before the drop varies with the round, so that it hits the append at different points.
        let _ = timeout(Duration::from_micros(round * 40), subject.one.append(&batch, false)).await;
        match subject.one.append(&batch, false).await {
            Ok(()) => previous = batch.revision().0,
            Err(StoreError::Conflict) => {
                let log = subject.log_after(NAMESPACE, previous).await.expect("the log can be read");
                assert_eq!(log, [Arc::new(batch)], "the conflicting batch is the first attempt");
                previous += 3;
            }
            Err(error) => panic!("round {round}: {error}"),
        }
    }
    assert_eq!(subject.log_after(NAMESPACE, 0).await.expect("the log can be read").len(), 30);
}

/// Changes in one namespace are not visible in another.
pub async fn namespaces_are_independent(subject: &Subject) {
    for name in ["a", "b", "a-1", "0"] {
        subject.append_all(&fillers(name, &[1, 2])).await;
    }
    subject.one.append(&filler("b", 3, 4), false).await.expect("b is at 3");
    let conflict = subject.one.append(&filler("a", 7, 1), false).await;
    assert_eq!(conflict, Err(StoreError::Conflict), "a is not at b's revision");
    assert_eq!(subject.log_after("a", 0).await.expect("the log can be read").len(), 2);
    assert_eq!(subject.log_after("b", 0).await.expect("the log can be read").len(), 3);
}

/// Ten thousand events, more than a megabyte.
pub async fn huge_batch_is_read_as_one_batch(subject: &Subject) {
    let events: Vec<_> = every_event().into_iter().cycle().take(10_000).collect();
    let huge = batch(NAMESPACE, 0, events);
    subject.one.append(&huge, false).await.expect("the huge batch is accepted");
    subject.one.append(&filler(NAMESPACE, 10_000, 1), false).await.expect("the next one follows");
    let tail = subject.two.read(NAMESPACE, Revision(0), 1).await.expect("the log can be read");
    assert_eq!(tail.batches.len(), 1, "the limit is reached by the first batch");
    assert!(*tail.batches[0] == huge);
}

/// Revisions jump when history is lost; a jump must not exceed the database's number range.
pub async fn append_near_the_highest_revision_succeeds(subject: &Subject) {
    subject.append_all(&[filler(NAMESPACE, 0, 1), crate::samples::loss(NAMESPACE, 1, 1 << 62)]).await;
    subject.one.append(&filler(NAMESPACE, 1 << 62, 2), true).await.expect("the next one follows");
    let tail = subject.two.read(NAMESPACE, Revision(1 << 62), usize::MAX).await.expect("the log can be read");
    assert_eq!(tail.batches, [Arc::new(filler(NAMESPACE, 1 << 62, 2))]);
    assert_eq!(tail.head.revision, Revision((1 << 62) + 2));
}

/// Events are read exactly as they were written.
pub async fn every_event_is_read_as_written(subject: &Subject) {
    let written = Batch { number: u64::MAX, at_ms: -1, ..batch(NAMESPACE, 0, every_event()) };
    subject.one.append(&written, true).await.expect("the batch is accepted");
    let tail = subject.two.read(NAMESPACE, Revision(0), 1000).await.expect("the log can be read");
    for (read, written) in tail.batches[0].events.iter().zip(&written.events) {
        assert_eq!(read, written);
    }
    assert_eq!(*tail.batches[0], written);
}

/// The heads of all namespaces, on which polling relies.
pub async fn heads_list_every_namespace(subject: &Subject) {
    assert_eq!(subject.one.heads().await, Ok(Vec::new()));
    subject.append_all(&fillers("b", &[1, 2])).await;
    subject.append_all(&fillers("a", &[5])).await;
    let mut heads = subject.two.heads().await.expect("heads can be read");
    heads.sort();
    assert_eq!(heads, [(Text::from("a"), Revision(5)), (Text::from("b"), Revision(3))]);
}

/// Appends wake the other server, where the store supports hints.
pub async fn append_sends_a_hint_to_the_other_server(subject: &Subject) {
    if !subject.hints {
        let hint = timeout(Duration::from_millis(50), subject.one.hint());
        assert!(hint.await.is_err(), "a store without hints sends none");
        return;
    }
    // The first hint may only be that listening has begun. Appends continue until there is another hint.
    let hinted = tokio::spawn({
        let two = subject.two.clone();
        async move {
            two.hint().await;
            two.hint().await;
        }
    });
    let mut previous = 0;
    let appending = async {
        while !hinted.is_finished() {
            subject.one.append(&filler(NAMESPACE, previous, 1), true).await.expect("the append is accepted");
            previous += 1;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(DEADLINE, appending).await.expect("a hint arrives");
}
