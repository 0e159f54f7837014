//! Backward search of the log for a lock.

use std::sync::Arc;

use tenure_core::{Event, Revision};
use tenure_server::store::{Batch, Older};

use crate::Subject;
use crate::samples::{NAMESPACE, batch, claim_spec, every_event, filler, loss, nasty_names, no_changes, session};

/// A batch of `count` events, of which the last concerns a lock.
fn about(name: &str, previous: u64, count: u64) -> Batch {
    let queued = Event::ClaimQueued(claim_spec(&session(1, "s"), &[name]));
    let fill = filler(NAMESPACE, previous, count).events.into_iter().map(|recorded| recorded.event);
    batch(NAMESPACE, previous, fill.take(count as usize - 1).chain([queued]).collect())
}

/// All batches found from the newest event on, the number of steps, and what precedes them.
async fn found(subject: &Subject, name: &str, limit: usize) -> (Vec<Arc<Batch>>, usize, Older) {
    let mut batches = Vec::new();
    let mut until = Revision(u64::MAX);
    for steps in 1.. {
        assert!(steps < 10_000, "the search does not end");
        let found = subject.two.search(NAMESPACE, name, until, limit).await.expect("it can be searched");
        batches.extend(found.batches);
        match found.older {
            Older::Until(older) => {
                assert!(older < until, "each step continues further back");
                until = older;
            }
            nothing @ Older::Nothing { .. } => return (batches, steps, nothing),
        }
    }
    unreachable!()
}

/// A namespace that does not exist has no history.
pub async fn absent_namespace_has_no_results(subject: &Subject) {
    for until in [0, 1, u64::MAX] {
        let found = subject.one.search("nowhere", "a", Revision(until), 10).await.expect("it can be searched");
        assert_eq!(found.batches, []);
        assert_eq!(found.older, Older::Nothing { dropped: Revision(0), since_ms: None });
    }
}

/// Names match exactly, whatever their characters and the database's collation.
pub async fn matches_names_exactly(subject: &Subject) {
    let names = nasty_names();
    let mut batches = Vec::new();
    for (name, previous) in names.iter().zip((0..).step_by(2)) {
        batches.push(about(name, previous, 2));
    }
    subject.append_all(&batches).await;
    subject.one.append(&filler("other", 0, 3), false).await.expect("the append is accepted");
    for (name, batch) in names.iter().zip(batches) {
        let (found, _, _) = found(subject, name, 1_000).await;
        assert_eq!(found, [Arc::new(batch)], "{name:?}");
    }
    let (found, _, _) = found(subject, "%", 1_000).await;
    assert_eq!(found, [], "a wildcard is an ordinary character");
}

/// Batches are returned as they were appended.
pub async fn returns_batches_as_appended(subject: &Subject) {
    let all = batch(NAMESPACE, 0, every_event());
    subject.append_all(std::slice::from_ref(&all)).await;
    let (found, _, _) = found(subject, "shared with others", 1).await;
    assert_eq!(found, [Arc::new(all)]);
}

/// For any step size, each batch is found once, newest first, and no step reads much more than requested.
pub async fn steps_backward_without_gaps(subject: &Subject) {
    let mut batches = Vec::new();
    let mut expected = Vec::new();
    let mut previous = 0;
    for number in 0..120 {
        let size = number % 5 + 1;
        if number % 7 == 0 {
            batches.push(about("a", previous, size));
            expected.push(Arc::new(about("a", previous, size)));
        } else {
            batches.push(about("b", previous, size));
        }
        previous += size;
    }
    expected.reverse();
    subject.append_all(&batches).await;
    for limit in [1, 3, 17, 1_000] {
        let (found, steps, _) = found(subject, "a", limit).await;
        assert_eq!(found, expected, "limit {limit}");
        // A step of one event still reads a whole batch.
        let most = batches.len().min(previous as usize / limit) + 2;
        assert!(steps <= most && steps >= previous as usize / (limit + 5), "limit {limit}: {steps} steps");
    }
}

/// A batch that ends after the revision belongs to the newer part.
pub async fn starts_with_the_batch_that_ends_at_the_revision(subject: &Subject) {
    let batches = [about("a", 0, 3), about("a", 3, 3)];
    subject.append_all(&batches).await;
    for (until, expected) in [(2, 0), (3, 1), (5, 1), (6, 2), (7, 2)] {
        let found = subject.two.search(NAMESPACE, "a", Revision(until), 100).await.expect("it can be searched");
        assert_eq!(found.batches.len(), expected, "until {until}");
    }
}

/// A jump of the revision does not count as events, and the batch that declares a loss is found by every search.
pub async fn finds_losses_and_continues_before_them(subject: &Subject) {
    let batches = [about("a", 0, 2), loss(NAMESPACE, 2, 1 << 60), about("b", 1 << 60, 3)];
    subject.append_all(&batches).await;
    let (found, steps, _) = found(subject, "a", 10).await;
    let [first, declared, _] = batches;
    assert_eq!(found, [Arc::new(declared), Arc::new(first)]);
    assert!(steps <= 3, "{steps} steps");
}

/// Dropped batches are not found, and the search reports where the log begins.
pub async fn reports_where_the_log_begins(subject: &Subject) {
    let stamped = |previous| Batch { at_ms: 1_000 + previous as i64, ..about("a", previous, 2) };
    let batches: Vec<Batch> = [0, 2, 4, 6].map(stamped).into();
    subject.append_all(&batches).await;
    let (all, _, older) = found(subject, "a", 3).await;
    assert_eq!((all.len(), older), (4, Older::Nothing { dropped: Revision(0), since_ms: Some(1_000) }));
    subject.one.save(NAMESPACE, &no_changes(0, 8)).await.expect("the rows are saved");
    subject.one.trim(NAMESPACE, Revision(0), 1_003).await.expect("history can be trimmed");
    let (rest, _, older) = found(subject, "a", 3).await;
    assert_eq!((rest.len(), older), (2, Older::Nothing { dropped: Revision(4), since_ms: Some(1_004) }));
    let found = subject.two.search(NAMESPACE, "a", Revision(4), 3).await.expect("it can be searched");
    assert_eq!(found.batches, []);
    assert_eq!(found.older, Older::Nothing { dropped: Revision(4), since_ms: Some(1_004) });
}
