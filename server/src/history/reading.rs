//! Reading a page of history from the log: no more of it at a time than takes a moment.

use std::time::Duration;

use tenure_core::{Claim, ClaimState, Revision, Text};
use tokio::time::Instant;

use super::assembly::Assembly;
use super::{Cursor, Entry};
use crate::sequencer::{Namespace, Refusal, View};
use crate::store::log_reader::LogError;
use crate::store::{Older, StoreError};

/// How many events a statement looks at: the first, which finds what a busy lock needs, and the longest, which takes some ms.
const STEPS: (usize, usize) = (500, 2_000);

/// After a step that found so much, in bytes, the next one is no longer.
const MUCH: usize = 1024 * 1024;

/// For how long a page looks back, and for how long it then looks up how what it found began. At least one step is made of each.
const LOOK_BACK: Duration = Duration::from_secs(1);
const LOOK_UP: Duration = Duration::from_secs(1);

/// The most holds that last which are listed.
const LASTING: usize = 100;

/// A page of a lock's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The first page begins with the holds that last (the 100 newest, newest first). Then what ended, newest first.
    pub entries: Vec<Entry>,
    /// Where the next page begins, if there may be one.
    pub next: Option<Cursor>,
    /// On the last page: the stamp of the oldest event that is left in the log, in ms since 1970.
    pub since_ms: Option<i64>,
    /// The namespace's revision before the page was read.
    pub revision: Revision,
}

/// Reads a page of the history of a lock: what lasts and at most `size` entries more. It has less, or nothing, if it would
/// take too long to find them: then the next page goes on.
///
/// # Errors
/// If the store cannot be asked.
pub async fn read(namespace: &Namespace, name: &Text, size: usize, cursor: Option<Cursor>) -> Result<Page, Refusal> {
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
        let found = namespace.search_log(name, until, step).await.map_err(refusal)?;
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

/// Looks up how the holds of the page began, one batch after the other. Returns how many entries the page can have: those
/// that are not complete in time are left for the next one.
async fn look_up(namespace: &Namespace, page: &mut Assembly, size: usize) -> Result<usize, Refusal> {
    let started = Instant::now();
    while let Some(wanted) = page.wanted(size) {
        if started.elapsed() >= LOOK_UP {
            return Ok(page.complete_count().clamp(1, size));
        }
        match namespace.read_log(Revision(wanted.0.saturating_sub(1)), 1).await {
            Ok(batches) => {
                batches.iter().for_each(|batch| page.learn(batch));
                // If it is not there, it never will be.
                page.gone(wanted, wanted);
            }
            Err(LogError::Store(StoreError::Compacted(gone))) => page.gone(Revision(0), gone.max(wanted)),
            Err(error) => return Err(refusal(error)),
        }
    }
    Ok(size)
}

/// The claims that hold a lock now, the newest first, and when each was granted.
fn holders(view: &View<'_>, name: &str) -> Vec<(Claim, Option<i64>)> {
    let table = view.table;
    let held = |claim: &&Claim| matches!(claim.state, ClaimState::Held { .. });
    let holders = table.lock(name).into_iter().flat_map(|lock| lock.holders().iter().rev());
    let held = holders.filter_map(|id| table.claim(*id)).filter(held).take(LASTING);
    held.map(|claim| (claim.clone(), view.granted_ms(claim))).collect()
}

fn refusal(error: LogError) -> Refusal {
    match error {
        LogError::Busy => Refusal::Overloaded,
        LogError::Store(error) => Refusal::Unavailable(error.to_string()),
    }
}
