//! Reads a page of history from the log, in short steps.

use std::time::Duration;

use tenure_core::{Claim, ClaimState, Rejection, Revision, Text};
use tokio::time::Instant;

use super::assembly::Assembly;
use super::{Cursor, Entry};
use crate::sequencer::{Namespace, View};
use crate::store::log_reader::LogError;
use crate::store::{Older, StoreError};

/// Number of events that a statement examines: at first, enough for a busy lock, and at most, which takes some ms.
const STEPS: (usize, usize) = (500, 2_000);

/// After a step that found this many bytes, the next one has the first size again.
const MUCH: usize = 1024 * 1024;

/// How long a page looks back, and how long it then looks up the beginnings of what it found. At least one step is made
/// of each.
const LOOK_BACK: Duration = Duration::from_secs(1);
const LOOK_UP: Duration = Duration::from_secs(1);

/// Maximum number of current holds that are listed.
const LASTING: usize = 100;

/// A page of a lock's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The first page begins with the current holds (the 100 newest, newest first). Ended entries follow, newest first.
    pub entries: Vec<Entry>,
    /// Where the next page begins, if there may be one.
    pub next: Option<Cursor>,
    /// On the last page: the timestamp of the oldest event left in the log, in ms since 1970.
    pub since_ms: Option<i64>,
    /// The namespace's revision before the page was read.
    pub revision: Revision,
}

/// Reads a page of the history of a lock: current holds and at most `size` more entries. It has fewer, or none, if
/// finding them would take too long: then the next page continues.
///
/// # Errors
/// If the store cannot be read.
pub async fn read(namespace: &Namespace, name: &Text, size: usize, cursor: Option<Cursor>) -> Result<Page, Rejection> {
    let first = cursor.is_none();
    let held = name.clone();
    let now = move |view: &View<'_>| (if first { holders(view, &held) } else { Vec::new() }, view.table.revision());
    let (lasting, revision) = namespace.view(now).await?;
    let from = cursor.unwrap_or(Cursor::at(revision));
    let mut until = from.until;
    let mut page = Assembly::new(name.clone(), from);
    lasting.iter().for_each(|(claim, granted_ms)| page.lasts(claim, *granted_ms));
    let mut since_ms = None;
    let mut step = STEPS.0;
    let started = Instant::now();
    let further = loop {
        let found = namespace.search_log(name, until, step).await?;
        found.batches.iter().for_each(|batch| page.look_back(batch));
        let enough = page.ended_count() >= size || started.elapsed() >= LOOK_BACK;
        match found.older {
            Older::Until(older) if enough => break Some(older),
            Older::Until(older) => until = older,
            Older::Nothing { since_ms: since, .. } => {
                since_ms = since;
                break None;
            }
        }
        let bytes: usize = found.batches.iter().map(|batch| batch.bytes()).sum();
        step = if bytes < MUCH { (step * 4).min(STEPS.1) } else { STEPS.0 };
    };
    let complete = look_up(namespace, &mut page, size).await?;
    let (entries, next) = page.finish(complete, further);
    let since_ms = since_ms.filter(|_| next.is_none());
    Ok(Page { entries, next, since_ms, revision })
}

/// Looks up how the holds of the page began, one batch at a time. Returns how many entries the page can have: those not
/// completed in time are left to the next page.
async fn look_up(namespace: &Namespace, page: &mut Assembly, size: usize) -> Result<usize, Rejection> {
    let started = Instant::now();
    while let Some(wanted) = page.wanted(size) {
        if started.elapsed() >= LOOK_UP {
            return Ok(page.complete_count().clamp(1, size));
        }
        match namespace.read_log(Revision(wanted.0.saturating_sub(1)), 1).await {
            Ok(batches) => {
                batches.iter().for_each(|batch| page.learn(batch));
                // If the event is not in the log now, it never will be.
                page.dropped(wanted, wanted);
            }
            Err(LogError::Store(StoreError::Compacted(dropped))) => page.dropped(Revision(0), dropped.max(wanted)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(size)
}

/// The claims that hold a lock now, newest first, and when each was granted.
fn holders(view: &View<'_>, name: &str) -> Vec<(Claim, Option<i64>)> {
    let table = view.table;
    let held = |claim: &&Claim| matches!(claim.state, ClaimState::Held { .. });
    let holders = table.lock(name).into_iter().flat_map(|lock| lock.holders().iter().rev());
    let held = holders.filter_map(|id| table.claim(*id)).filter(held).take(LASTING);
    held.map(|claim| (claim.clone(), view.granted_ms(claim))).collect()
}
