//! Reads of the log that are not urgent: history for display, and for watches that lag behind.
//!
//! Concurrent reads are limited, one statement each, so that appends and head reads find free connections and
//! processors regardless of the number of readers. Batches read for one watch are cached for a while, since after an
//! outage many watches resume from the same revision.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::{Rejection, Revision, Text};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::limits;
use crate::limits::Buffer;
use crate::store::{Batch, Found, Store, StoreError};

/// Maximum number of concurrent reads: half of the default number of connections.
const READS: usize = 2;

/// Pieces of fewer events are not cached: finding one among very many takes as long as reading it.
const KEPT: usize = 100;

/// Reads the log of all namespaces of a server.
pub(crate) struct LogReader {
    store: Arc<dyn Store>,
    permits: Semaphore,
    pieces: Mutex<Pieces>,
}

/// The start of a piece of the log: the namespace, the number of times its log began anew on this server, the revision
/// before the piece, and the requested number of events.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PieceStart {
    pub(crate) namespace: Text,
    pub(crate) beginnings: u64,
    pub(crate) after: Revision,
    pub(crate) limit: usize,
}

/// Why the log could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    /// Too many other reads wait for a permit.
    #[error("too many concurrent reads of history")]
    Busy,
    /// The store returned an error.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<LogError> for Rejection {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Busy => Self::Overloaded,
            LogError::Store(error) => error.into(),
        }
    }
}

/// Cached pieces of the log, newest last.
struct Pieces {
    kept: VecDeque<(PieceStart, Vec<Arc<Batch>>)>,
    bytes: usize,
    counts: Buffer,
}

impl LogReader {
    /// Creates a reader of this store, which reports the size of its cache in `counts`.
    pub(crate) fn new(store: Arc<dyn Store>, counts: Buffer) -> Self {
        counts.limit.set(i64::try_from(limits::LOG_READ).unwrap_or(i64::MAX));
        let half = std::thread::available_parallelism().map_or(1, NonZero::get) / 2;
        let pieces = Mutex::new(Pieces { kept: VecDeque::new(), bytes: 0, counts });
        Self { store, permits: Semaphore::new(half.clamp(1, READS)), pieces }
    }

    /// Like [`Store::read`], without the head. Readers of the same piece may receive the same cached batches.
    ///
    /// # Errors
    /// As [`Store::read`], or [`LogError::Busy`] if too many other reads wait for a permit.
    pub(crate) async fn read(&self, start: PieceStart) -> Result<Vec<Arc<Batch>>, LogError> {
        if let Some(batches) = self.kept(&start) {
            return Ok(batches);
        }
        let _permit = self.permit().await?;
        // Another reader may have cached it while this one waited.
        if let Some(batches) = self.kept(&start) {
            return Ok(batches);
        }
        let batches = self.store.read(&start.namespace, start.after, start.limit).await?.batches;
        // A shorter piece ends at the end of the log, which may still grow.
        if batches.iter().map(|batch| batch.events.len()).sum::<usize>() >= start.limit.max(KEPT) {
            self.keep(start, &batches);
        }
        Ok(batches)
    }

    /// Like [`Store::search`].
    ///
    /// # Errors
    /// As [`Store::search`], or [`LogError::Busy`] if too many other reads wait for a permit.
    pub(crate) async fn search(
        &self,
        namespace: &str,
        name: &str,
        until: Revision,
        limit: usize,
    ) -> Result<Found, LogError> {
        let _permit = self.permit().await?;
        Ok(self.store.search(namespace, name, until, limit).await?)
    }

    async fn permit(&self) -> Result<SemaphorePermit<'_>, LogError> {
        // The semaphore is never closed.
        timeout(limits::LOG_READ_WAIT, self.permits.acquire()).await.ok().and_then(Result::ok).ok_or(LogError::Busy)
    }

    fn kept(&self, start: &PieceStart) -> Option<Vec<Arc<Batch>>> {
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let found = pieces.kept.iter().find(|(kept, _)| kept == start);
        found.map(|(_, batches)| batches.clone())
    }

    fn keep(&self, start: PieceStart, batches: &[Arc<Batch>]) {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.bytes += bytes(batches);
        pieces.kept.push_back((start, batches.to_vec()));
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::testing::filler;
    use tenure_core::{Recorded, ServerId};

    use super::*;
    use crate::store::MemoryDatabase;

    /// A log of 500 batches of one event each.
    async fn log() -> (LogReader, MemoryDatabase, Buffer) {
        let (database, counts) = (MemoryDatabase::new(), Buffer::default());
        let store = database.server();
        for previous in 0..500 {
            let events = vec![Recorded { revision: Revision(previous + 1), event: filler(1) }];
            let (previous, number) = (Revision(previous), previous);
            let batch = Batch { namespace: "default".into(), previous, events, server: ServerId(2), number, at_ms: 0 };
            store.append(&batch, false).await.expect("appended");
        }
        (LogReader::new(store, counts.clone()), database, counts)
    }

    fn start(after: u64, limit: usize) -> PieceStart {
        PieceStart { namespace: "default".into(), beginnings: 1, after: Revision(after), limit }
    }

    #[tokio::test]
    async fn piece_is_read_once_for_all_until_the_log_begins_anew() {
        let (reader, database, counts) = log().await;
        let read = reader.read(start(100, 200)).await.expect("readable");
        assert_eq!((read.len(), read[0].previous), (200, Revision(100)));
        assert!(counts.bytes.get() > 0);
        database.set_available(false);
        assert_eq!(reader.read(start(100, 200)).await.expect("kept"), read);
        assert!(reader.read(start(101, 200)).await.is_err(), "another piece");
        assert!(reader.read(PieceStart { beginnings: 2, ..start(100, 200) }).await.is_err(), "the log has begun anew");
    }

    #[tokio::test]
    async fn end_of_the_log_and_small_pieces_are_not_kept() {
        let (reader, _, counts) = log().await;
        assert_eq!(reader.read(start(400, 200)).await.expect("readable").len(), 100);
        assert_eq!(reader.read(start(7, 1)).await.expect("readable").len(), 1);
        assert_eq!(counts.bytes.get(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn read_that_waits_too_long_for_its_turn_is_rejected() {
        let (reader, database, _) = log().await;
        database.set_search_delay(limits::LOG_READ_WAIT + Duration::from_secs(1));
        let search = || reader.search("default", "a", Revision(500), 500);
        let searches = futures::future::join_all((0..=READS).map(|_| search())).await;
        let is_busy = |search: &&Result<Found, LogError>| matches!(search, Err(LogError::Busy));
        assert!(searches.iter().any(|search| search.is_ok()));
        assert!(searches.iter().filter(is_busy).count() >= 1);
    }
}
