//! Reads of the log that are not urgent: history for people, and for watches that are behind.
//!
//! They take turns, one statement each, so that however many ask, appends and heads find connections and processors free. What was
//! read for one watch is kept for a while, since after an outage many resume from the same revision.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::{Revision, Text};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::limits;
use crate::metrics::Buffer;
use crate::store::{Batch, Found, Store, StoreError};

/// How many turns there are at most: half of the connections that there are by default.
const TURNS: usize = 2;

/// Reads the log of all namespaces of a server.
#[derive(Clone)]
pub(crate) struct LogReader(Arc<Shared>);

struct Shared {
    store: Arc<dyn Store>,
    turns: Semaphore,
    pieces: Mutex<Pieces>,
}

/// Where a piece of the log begins: the namespace, how often its log began anew here, the revision before, and how many events were
/// asked for.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) namespace: Text,
    pub(crate) beginnings: u64,
    pub(crate) after: Revision,
    pub(crate) limit: usize,
}

/// Why the log could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    /// Too many others have their turns before.
    #[error("too many others read history")]
    Busy,
    /// The store could not be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was read, the newest last.
struct Pieces {
    kept: VecDeque<(Place, Vec<Arc<Batch>>)>,
    bytes: usize,
    counts: Buffer,
}

impl LogReader {
    /// A reader of this store, which counts there what it keeps.
    pub(crate) fn new(store: Arc<dyn Store>, counts: Buffer) -> Self {
        counts.limit.set(i64::try_from(limits::LOG_READ).unwrap_or(i64::MAX));
        let half = std::thread::available_parallelism().map_or(1, NonZero::get) / 2;
        let pieces = Mutex::new(Pieces { kept: VecDeque::new(), bytes: 0, counts });
        Self(Arc::new(Shared { store, turns: Semaphore::new(half.clamp(1, TURNS)), pieces }))
    }

    /// As [`Store::read`], without the head. Of the same place others may have been given the same before.
    ///
    /// # Errors
    /// As [`Store::read`], or if too many others have their turns before.
    pub(crate) async fn read(&self, place: Place) -> Result<Vec<Arc<Batch>>, LogError> {
        if let Some(batches) = self.0.kept(&place) {
            return Ok(batches);
        }
        let _turn = self.0.turn().await?;
        // Another one may have read it meanwhile.
        if let Some(batches) = self.0.kept(&place) {
            return Ok(batches);
        }
        let batches = self.0.store.read(&place.namespace, place.after, place.limit).await?.batches;
        // More may be added to the end of the log.
        if batches.iter().map(|batch| batch.events.len()).sum::<usize>() >= place.limit {
            self.0.keep(place, &batches);
        }
        Ok(batches)
    }

    /// As [`Store::search`].
    ///
    /// # Errors
    /// As [`Store::search`], or if too many others have their turns before.
    pub(crate) async fn search(
        &self,
        namespace: &str,
        name: &str,
        until: Revision,
        limit: usize,
    ) -> Result<Found, LogError> {
        let _turn = self.0.turn().await?;
        Ok(self.0.store.search(namespace, name, until, limit).await?)
    }
}

impl Shared {
    async fn turn(&self) -> Result<SemaphorePermit<'_>, LogError> {
        // They are never closed.
        timeout(limits::LOG_READ_TURN, self.turns.acquire()).await.ok().and_then(Result::ok).ok_or(LogError::Busy)
    }

    fn kept(&self, place: &Place) -> Option<Vec<Arc<Batch>>> {
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let found = pieces.kept.iter().find(|(kept, _)| kept == place);
        found.map(|(_, batches)| batches.clone())
    }

    fn keep(&self, place: Place, batches: &[Arc<Batch>]) {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.bytes += bytes(batches);
        pieces.kept.push_back((place, batches.to_vec()));
        while pieces.bytes > limits::LOG_READ
            && let Some((_, oldest)) = pieces.kept.pop_front()
        {
            pieces.bytes -= bytes(&oldest);
        }
        pieces.counts.bytes.set(i64::try_from(pieces.bytes).unwrap_or(i64::MAX));
    }
}

fn bytes(batches: &[Arc<Batch>]) -> usize {
    batches.iter().map(|batch| batch.bytes()).sum()
}
