//! The audit log records who was allowed or denied which operation on which lock, and from which address.

#[cfg(feature = "fuzzing")]
pub(super) mod fuzzing;
mod line;
mod tally;
mod writer;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub(crate) use self::line::Act;
use self::line::Line;
use self::tally::Tally;
use crate::auth::metrics::AuditLines;

/// The capacity of the queue to the writer; further lines are lost.
const WAITING: usize = 10_000;

/// An encoded line, pending until it is dropped.
type Pending = (Vec<u8>, TaskTrackerToken);

/// Options of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditOptions {
    /// The file to append to; `-`: standard output.
    pub file: PathBuf,
    /// Also record allowed calls and stream commands that are not operator actions, except renewals.
    pub everything: bool,
}

/// The importance of an allowed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It affects what other callers hold.
    Operators,
    /// Any other operation except renewals.
    Usual,
    /// It only keeps a session alive.
    Renewal,
}

/// The identity and address that perform an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Actor<'a> {
    pub(crate) identity: Option<&'a str>,
    pub(crate) address: Option<SocketAddr>,
}

/// The audit log.
pub(crate) struct Audit {
    everything: bool,
    lines: SyncSender<Pending>,
    pending: TaskTracker,
    tally: Arc<Tally>,
}

impl Audit {
    /// Opens the audit log.
    ///
    /// # Errors
    /// If the file cannot be written: the setting and the reason.
    pub(crate) fn open(options: &AuditOptions, counts: &AuditLines) -> Result<Arc<Self>, String> {
        let problem = |error| format!("audit_log: {error}");
        let writer = writer::Writer::open(&options.file).map_err(problem)?;
        let (audit, lines) = Self::new(options.everything, counts);
        let tally = audit.tally.clone();
        let run = move || writer.run(&lines, &tally);
        std::thread::Builder::new().name("audit".to_owned()).spawn(run).map_err(problem)?;
        Ok(Arc::new(audit))
    }

    fn new(everything: bool, counts: &AuditLines) -> (Self, Receiver<Pending>) {
        let (lines, queued) = sync_channel(WAITING);
        let tally = Arc::new(Tally::counting(counts.clone()));
        (Self { everything, lines, pending: TaskTracker::new(), tally }, queued)
    }

    /// Whether allowed operations of this weight are recorded.
    pub(crate) fn is_for(&self, weight: Weight) -> bool {
        weight == Weight::Operators || (self.everything && weight == Weight::Usual)
    }

    /// Records an allowed operation.
    pub(crate) fn allowed(&self, actor: Actor<'_>, act: &Act) {
        self.put(Line::new(actor, act, None));
    }

    /// Records an operation denied by `rule`.
    pub(crate) fn refused(&self, actor: Actor<'_>, act: &Act, rule: &str) {
        if self.tally.admits_refusal(actor, Instant::now()) {
            self.put(Line::new(actor, act, Some(rule)));
        }
    }

    fn put(&self, line: Line) {
        if self.lines.try_send((line.encode(SystemTime::now()), self.pending.token())).is_err() {
            self.tally.lost(1);
        }
    }

    /// Waits until all lines queued so far are written, for at most one second.
    pub(crate) async fn settled(&self) {
        self.pending.close();
        // Lines that the disk has not accepted by then are lost; the writer has logged the error.
        let _ = tokio::time::timeout(Duration::from_secs(1), self.pending.wait()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::tally::Sums;
    use super::*;

    #[test]
    fn line_beyond_the_queue_is_counted_and_blocks_no_caller() {
        let counts = AuditLines::default();
        let (audit, lines) = Audit::new(true, &counts);
        for _ in 0..WAITING + 3 {
            audit.allowed(Actor::default(), &Act::new("tenure.v1.LockService/Evict"));
        }
        let queued: Vec<_> = lines.try_iter().collect();
        assert_eq!((queued.len(), audit.pending.len()), (WAITING, WAITING));
        assert_eq!(audit.tally.sum_up(Instant::now()), Sums { lost: 3, left_out: 0 });
        assert_eq!(counts.lost.get(), 3);
        drop(queued);
        assert!(audit.pending.is_empty());
    }

    #[tokio::test]
    async fn settled_log_is_written_and_its_writer_ends_with_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("audit");
        let audit = Audit::open(&AuditOptions { file: file.clone(), everything: true }, &AuditLines::default())
            .expect("writable");
        for _ in 0..100 {
            audit.allowed(Actor::default(), &Act::new("tenure.v1.LockService/Evict"));
        }
        audit.settled().await;
        assert_eq!(std::fs::read_to_string(file).expect("there").lines().count(), 100);
        let tally = Arc::downgrade(&audit.tally);
        drop(audit);
        let ended = async {
            while tally.strong_count() > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), ended).await.expect("all senders are dropped");
    }
}
