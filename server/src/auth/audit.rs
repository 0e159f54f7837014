//! The audit log: who was let do what to which lock from where, and who was not.

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

pub(crate) use self::line::Act;
use self::line::Line;
use self::tally::Tally;
use crate::auth::metrics::AuditLines;

/// How many lines wait for the writer before more are lost.
const WAITING: usize = 10_000;

/// How often is looked whether all is written.
const SETTLING: Duration = Duration::from_millis(5);

/// What is written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditOptions {
    /// A file, to which lines are added; `-`: standard output.
    pub file: PathBuf,
    /// Also what is no operator's act and was allowed: every call and every command of a stream but renewals.
    pub everything: bool,
}

/// How much it matters that somebody was let do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It is about what others hold.
    Operators,
    /// It is not.
    Usual,
    /// It only says that somebody is still there.
    Renewal,
}

/// Who does something, from where.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Actor<'a> {
    pub(crate) identity: Option<&'a str>,
    pub(crate) address: Option<SocketAddr>,
}

/// The audit log.
pub(crate) struct Audit {
    everything: bool,
    lines: SyncSender<Vec<u8>>,
    tally: Arc<Tally>,
}

impl Audit {
    /// Opens it.
    ///
    /// # Errors
    /// If its file cannot be written: which setting, and why.
    pub(crate) fn open(options: &AuditOptions, counts: &AuditLines) -> Result<Arc<Self>, String> {
        let problem = |error| format!("audit_log: {error}");
        let writer = writer::Writer::open(&options.file).map_err(problem)?;
        let (audit, lines) = Self::new(options.everything, counts);
        let tally = audit.tally.clone();
        let run = move || writer.run(&lines, &tally);
        std::thread::Builder::new().name("audit".to_owned()).spawn(run).map_err(problem)?;
        Ok(Arc::new(audit))
    }

    fn new(everything: bool, counts: &AuditLines) -> (Self, Receiver<Vec<u8>>) {
        let (lines, told) = sync_channel(WAITING);
        (Self { everything, lines, tally: Arc::new(Tally::counting(counts.clone())) }, told)
    }

    /// Whether what was allowed is written.
    pub(crate) fn is_for(&self, weight: Weight) -> bool {
        weight == Weight::Operators || (self.everything && weight == Weight::Usual)
    }

    /// Somebody was let do this.
    pub(crate) fn allowed(&self, actor: Actor<'_>, act: &Act) {
        self.put(Line::new(actor, act, None));
    }

    /// Somebody was not, by this rule.
    pub(crate) fn refused(&self, actor: Actor<'_>, act: &Act, rule: &str) {
        if self.tally.admits_refusal(actor, Instant::now()) {
            self.put(Line::new(actor, act, Some(rule)));
        }
    }

    fn put(&self, line: Line) {
        self.tally.told();
        if self.lines.try_send(line.encode(SystemTime::now())).is_err() {
            self.tally.lost(1);
        }
    }

    /// Waits until all is written that was told so far; no longer than a second.
    pub(crate) async fn settled(&self) {
        let settled = async {
            while self.tally.is_waiting() {
                tokio::time::sleep(SETTLING).await;
            }
        };
        // What a disk does not take by then is lost, and the log said so.
        let _ = tokio::time::timeout(Duration::from_secs(1), settled).await;
    }
}

#[cfg(test)]
mod tests {
    use super::tally::Sums;
    use super::*;

    #[test]
    fn what_there_is_no_room_for_is_counted_and_nobody_waits() {
        let counts = AuditLines::default();
        let (audit, lines) = Audit::new(true, &counts);
        for _ in 0..WAITING + 3 {
            audit.allowed(Actor::default(), &Act::new("tenure.v1.LockService/Evict"));
        }
        assert_eq!(lines.try_iter().count(), WAITING);
        assert_eq!(audit.tally.sum_up(Instant::now()), Sums { lost: 3, left_out: 0 });
        assert_eq!(counts.lost.get(), 3);
        assert!(audit.tally.is_waiting());
        audit.tally.written(WAITING);
        assert!(!audit.tally.is_waiting());
    }

    #[tokio::test]
    async fn all_is_written_once_it_has_settled_and_the_writer_ends_with_the_log() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("audit");
        let audit = Audit::open(&AuditOptions { file: file.clone(), everything: true }, &AuditLines::default())
            .expect("it can be written");
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
        tokio::time::timeout(Duration::from_secs(20), ended).await.expect("nobody is left who tells");
    }
}
