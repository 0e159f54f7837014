//! Drops history that is older than the retention time or exceeds the size limit of a namespace.
//!
//! Every server measures what was appended since its last measurement, in small pieces, and remembers the size of each
//! piece. So each server measures each batch once, and knows the excess without a query. After a start, the whole log
//! is measured once, piece by piece. Servers drop the same history, oldest first, so it does not matter which of them
//! does.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Revision, Text};
use tokio::time::Instant;

use super::metrics::History;
use crate::node::Node;
use crate::store::{Measured, Store, StoreError};
use crate::telemetry::wall_clock::now_ms;

/// The interval at which expired history is dropped.
const TRIM: Duration = Duration::from_secs(60);

/// The interval at which log sizes are measured. A log may exceed its limit by what is appended within it.
const MEASURE: Duration = Duration::from_secs(10);

/// The number of batches measured with one statement, which takes a few ms.
const STEP: usize = 500;

/// The minimum number of pieces in which a log of the maximum size is remembered.
const PIECES: u64 = 1024;

/// The size of a namespace's log.
#[derive(Debug, Default)]
struct Size {
    /// The measured pieces, oldest first. Part of the first one may have been dropped.
    pieces: VecDeque<Measured>,
    bytes: u64,
    /// The revision up to which it was measured.
    until: Revision,
}

impl Size {
    /// Measures the batches after the last measured one, up to this head.
    async fn measure(&mut self, store: &dyn Store, name: &str, head: Revision, most: u64) -> Result<(), StoreError> {
        while self.until < head
            && let Some(piece) = store.measure(name, self.until, STEP).await?
        {
            self.until = piece.until;
            self.bytes += piece.bytes;
            match self.pieces.back_mut() {
                Some(last) if last.bytes + piece.bytes <= most / PIECES => {
                    *last = Measured { until: piece.until, bytes: last.bytes + piece.bytes };
                }
                _ => self.pieces.push_back(piece),
            }
        }
        Ok(())
    }

    /// The revision up to which the log must be dropped to have at most `most` bytes. 0: no drop is needed.
    fn too_much(&self, most: u64) -> Revision {
        let mut bytes = self.bytes;
        let too_many = self.pieces.iter().take_while(|piece| {
            let is_too_much = bytes > most;
            bytes -= piece.bytes;
            is_too_much
        });
        too_many.last().map_or(Revision(0), |piece| piece.until)
    }

    /// Forgets pieces that end at or before the dropped revision.
    fn remove_until(&mut self, until: Revision) {
        let first_kept = self.pieces.partition_point(|piece| piece.until <= until);
        self.bytes -= self.pieces.drain(..first_kept).map(|piece| piece.bytes).sum::<u64>();
    }
}

/// Drops history that is too old or too large, for as long as the node runs.
pub async fn retain(node: Arc<Node>) {
    let most = node.options.history_max_bytes;
    let counts = node.metrics.of::<History>();
    counts.limit.set(i64::try_from(most).unwrap_or(i64::MAX));
    let mut sizes: HashMap<Text, Size> = HashMap::new();
    let mut trimmed = Instant::now();
    loop {
        tokio::time::sleep(MEASURE).await;
        let is_due = trimmed.elapsed() >= TRIM;
        if is_due {
            trimmed = Instant::now();
            node.namespaces.close_idle();
        }
        let before_ms = if is_due { before_ms(node.options.history_retention) } else { i64::MIN };
        let mut measured = HashMap::new();
        for namespace in node.namespaces.all() {
            let name = namespace.name().clone();
            let mut size = sizes.remove(&name).unwrap_or_default();
            let head = *namespace.hub().head().borrow();
            if let Err(error) = keep_within(&*node.store, &name, &mut size, head, most, before_ms).await {
                tracing::warn!(%error, namespace = %name, "cannot trim history");
            }
            measured.insert(name, size);
        }
        sizes = measured;
        let largest = sizes.values().map(|size| size.bytes).max().unwrap_or_default();
        counts.bytes.set(i64::try_from(largest).unwrap_or(i64::MAX));
    }
}

/// The cutoff time of this retention, in ms since 1970.
fn before_ms(retention: Duration) -> i64 {
    now_ms().saturating_sub(i64::try_from(retention.as_millis()).unwrap_or(i64::MAX))
}

/// Drops history stamped before `before_ms`, and the oldest history beyond `most` bytes.
async fn keep_within(
    store: &dyn Store,
    name: &str,
    size: &mut Size,
    head: Revision,
    most: u64,
    before_ms: i64,
) -> Result<(), StoreError> {
    size.measure(store, name, head, most).await?;
    let until = size.too_much(most);
    if until == Revision(0) && before_ms == i64::MIN {
        return Ok(());
    }
    // The store drops a limited number of batches at a time.
    let mut dropped = Revision(0);
    loop {
        let more = store.trim(name, until, before_ms).await?;
        size.remove_until(more);
        if more <= dropped {
            return Ok(());
        }
        dropped = more;
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::testing::filler;
    use tenure_core::{Recorded, ServerId};

    use super::*;
    use crate::store::{Batch, MemoryDatabase, RowChanges, encode_events};

    const NAME: &str = "default";

    fn batch(previous: u64) -> Batch {
        let events = vec![Recorded { revision: Revision(previous + 1), event: filler(1) }];
        let (previous, number) = (Revision(previous), previous);
        Batch { namespace: NAME.into(), previous, events, server: ServerId(2), number, at_ms: 0 }
    }

    /// A database of one-event batches, saved as rows up to a revision, and the size of one batch in bytes.
    async fn database(batches: u64, rows: u64) -> (MemoryDatabase, u64) {
        let database = MemoryDatabase::new();
        append(&database, 0, batches).await;
        let changes = RowChanges { from: Revision(0), to: Revision(rows), ..RowChanges::default() };
        database.server().save(NAME, &changes).await.expect("saved");
        (database, encode_events(&batch(1_000).events).len() as u64)
    }

    async fn append(database: &MemoryDatabase, from: u64, to: u64) {
        for previous in from..to {
            database.server().append(&batch(previous), false).await.expect("appended");
        }
    }

    async fn keep(database: &MemoryDatabase, size: &mut Size, most: u64) -> (usize, u64) {
        let head = database.revision(NAME);
        keep_within(&*database.server(), NAME, size, head, most, i64::MIN).await.expect("kept");
        let log = database.log(NAME);
        (log.len(), log.iter().map(|batch| encode_events(&batch.events).len() as u64).sum())
    }

    #[tokio::test]
    async fn history_is_dropped_oldest_first_to_the_bound() {
        let (database, one) = database(9_000, 8_000).await;
        let mut size = Size::default();
        let most = one * 5_000;
        let (batches, bytes) = keep(&database, &mut size, most).await;
        assert!(bytes <= most && batches > 4_000, "{batches} batches, {bytes} bytes");
        assert_eq!(size.bytes, bytes);
        append(&database, 9_000, 11_000).await;
        let (batches, bytes) = keep(&database, &mut size, most).await;
        assert!(bytes <= most && batches > 4_000, "{batches} batches, {bytes} bytes");
        let newest = database.log(NAME).last().map(|batch| batch.revision());
        assert_eq!(newest, Some(Revision(11_000)));
    }

    #[tokio::test]
    async fn history_that_the_rows_do_not_cover_is_kept() {
        let (database, one) = database(3_000, 1_000).await;
        let (batches, _) = keep(&database, &mut Size::default(), one).await;
        assert_eq!(batches, 2_000);
    }

    #[tokio::test]
    async fn history_that_another_server_dropped_is_not_counted() {
        let (database, one) = database(9_000, 9_000).await;
        let mut size = Size::default();
        assert_eq!(keep(&database, &mut size, one * 100_000).await.0, 9_000);
        keep(&database, &mut Size::default(), one * 5_000).await;
        let before = database.log(NAME).len();
        let (batches, bytes) = keep(&database, &mut size, one * 5_000).await;
        assert_eq!((batches, size.bytes), (before, bytes));
    }
}
