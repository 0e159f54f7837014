//! Reads the history of the database from its log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_checker::{Commit, Loss, Moment, Past, Violation};
use tenure_core::{Event, Revision};
use tenure_server::store::{Batch, StoreOptions, open};

/// The namespace of all clients.
pub const NAMESPACE: &str = "default";

/// The number of events per read.
const PAGE: usize = 5_000;

/// Reads the log after a revision.
///
/// # Errors
/// If the database cannot be read.
pub async fn read_log(url: &str, after: u64) -> anyhow::Result<Vec<Arc<Batch>>> {
    let mut log = Vec::new();
    scan_log(url, after, |batch| log.push(batch)).await?;
    Ok(log)
}

/// Reads the log after a revision, one batch at a time.
///
/// # Errors
/// If the database cannot be read.
pub async fn scan_log(url: &str, mut after: u64, mut visit: impl FnMut(Arc<Batch>)) -> anyhow::Result<()> {
    let store = open(&StoreOptions::new(url)).await?;
    loop {
        let tail = store.read(NAMESPACE, Revision(after), PAGE).await?;
        let Some(last) = tail.batches.last() else { return Ok(()) };
        after = last.revision().0;
        tail.batches.into_iter().for_each(&mut visit);
    }
}

/// Commits lost by a database: batches that were committed and are missing from the remaining log.
#[derive(Debug)]
pub struct LostCommits {
    /// When the loss was over, at the latest.
    pub at: Duration,
    /// The last earlier revision that remains.
    pub after: u64,
    /// The lost batches after it.
    pub batches: Vec<Arc<Batch>>,
}

/// Merges the log with the events that watches reported. An event that a watch has reported was committed by then, as
/// were all before it.
#[must_use]
pub fn past(log: Vec<Arc<Batch>>, lost: Vec<LostCommits>, reported: &BTreeMap<u64, Duration>) -> Past {
    let losses = lost.iter().map(|lost| Loss { at: lost.at, after: lost.after }).collect();
    let mut all: Vec<_> = lost.into_iter().flat_map(|lost| lost.batches).chain(log.iter().cloned()).collect();
    all.sort_by_key(|batch| batch.previous);
    let mut reported = reported.iter().rev().peekable();
    let mut earliest: Option<Duration> = None;
    let mut commits: Vec<Commit> = Vec::with_capacity(all.len());
    for batch in all.into_iter().rev() {
        while let Some((_, at)) = reported.next_if(|(revision, _)| **revision > batch.previous.0) {
            earliest = Some(earliest.map_or(*at, |earliest| earliest.min(*at)));
        }
        commits.push(Commit { moment: earliest.map_or(Moment::Unknown, Moment::By), batch });
    }
    commits.reverse();
    Past { commits, log, losses }
}

/// Checks that servers assume lost history only if the database was promoted or restored.
#[must_use]
pub fn jumps_match_promotions(past: &Past, promotions: usize) -> Option<Violation> {
    let jumps = past.surviving().filter(|recorded| matches!(recorded.event, Event::HistoryLost { .. })).count();
    (jumps != promotions).then(|| Violation {
        rule: "history is declared lost once for each promotion".into(),
        seen: format!("{jumps} times, for {promotions}"),
    })
}

#[cfg(test)]
mod tests {
    use tenure_core::{Recorded, ServerId};

    use super::*;

    fn batch(previous: u64, revision: u64, event: Event) -> Arc<Batch> {
        let events = vec![Recorded { revision: Revision(revision), event }];
        let (namespace, previous, server) = (NAMESPACE.into(), Revision(previous), ServerId(1));
        Arc::new(Batch { namespace, previous, events, server, number: revision, at_ms: 0 })
    }

    fn adopted() -> Event {
        Event::ServerAdopted { dead: ServerId(1), by: ServerId(2) }
    }

    #[test]
    fn reported_event_is_committed_by_then_with_all_before_it() {
        let log = (0..4).map(|previous| batch(previous, previous + 1, adopted())).collect();
        let reported = [(2, Duration::from_secs(9)), (3, Duration::from_secs(5))].into();
        let moments: Vec<_> = past(log, Vec::new(), &reported).commits.iter().map(|commit| commit.moment).collect();
        let by = Moment::By(Duration::from_secs(5));
        assert_eq!(moments, [by, by, by, Moment::Unknown]);
    }

    #[test]
    fn lost_commit_is_committed_but_does_not_survive() {
        let (kept, lost) = (batch(0, 1, adopted()), batch(1, 2, adopted()));
        let jump = batch(1, 100, Event::HistoryLost { after: Revision(1) });
        let lost = LostCommits { at: Duration::from_secs(1), after: 1, batches: vec![lost] };
        let past = past(vec![kept, jump], vec![lost], &BTreeMap::new());
        let revisions = past.committed().map(|(_, recorded)| recorded.revision.0);
        assert_eq!(revisions.collect::<Vec<_>>(), [1, 2, 100]);
        assert_eq!(past.surviving().map(|recorded| recorded.revision.0).collect::<Vec<_>>(), [1, 100]);
        assert_eq!(past.loss_of(2).map(|loss| loss.after), Some(1));
        assert!(past.loss_of(1).is_none() && past.loss_of(100).is_none());
        assert_eq!(jumps_match_promotions(&past, 1), None);
        assert!(jumps_match_promotions(&past, 0).is_some());
    }
}
