//! The audit log: who was let do what to which lock from where, and who was not.

mod line;
mod writer;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

pub(crate) use self::line::Act;
use self::line::Line;

/// How many lines wait for the writer before more are lost.
const WAITING: usize = 10_000;

/// The most lines about refusals in a second: whoever is refused may try as often as it likes.
const REFUSALS: u64 = 200;

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
    /// Lines that there was no room for.
    lost: AtomicU64,
    refusals: Mutex<Refusals>,
}

/// Refusals of this second.
struct Refusals {
    since: Instant,
    written: u64,
    left_out: u64,
}

impl Refusals {
    /// Whether one more is written; and how many were left out before, if a new second has begun.
    fn admit(&mut self, now: Instant) -> (bool, u64) {
        let mut left_out = 0;
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            left_out = self.left_out;
            *self = Self { since: now, written: 0, left_out: 0 };
        }
        let is_admitted = self.written < REFUSALS;
        if is_admitted {
            self.written += 1
        } else {
            self.left_out += 1
        }
        (is_admitted, left_out)
    }
}

impl Audit {
    /// Opens it.
    ///
    /// # Errors
    /// If its file cannot be written: which setting, and why.
    pub(crate) fn open(options: &AuditOptions) -> Result<Arc<Self>, String> {
        let (audit, lines) = Self::new(options.everything);
        let writer = writer::Writer::open(&options.file).map_err(|error| format!("audit_log: {error}"))?;
        let kept = audit.clone();
        let run = move || writer.run(&lines, || kept.take_lost());
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(run)
            .map_err(|error| format!("audit_log: {error}"))?;
        Ok(audit)
    }

    fn new(everything: bool) -> (Arc<Self>, Receiver<Vec<u8>>) {
        let (lines, written) = sync_channel(WAITING);
        let refusals = Mutex::new(Refusals { since: Instant::now(), written: 0, left_out: 0 });
        (Arc::new(Self { everything, lines, lost: AtomicU64::new(0), refusals }), written)
    }

    /// Whether what was allowed is written.
    pub(crate) fn is_for(&self, weight: Weight) -> bool {
        weight == Weight::Operators || (self.everything && weight == Weight::Usual)
    }

    /// Somebody was let do this.
    pub(crate) fn allowed(&self, actor: Actor<'_>, act: &Act) {
        self.put(&Line::new(actor, act, None));
    }

    /// Somebody was not, by this rule.
    pub(crate) fn refused(&self, actor: Actor<'_>, act: &Act, rule: &str) {
        let now = Instant::now();
        let (is_admitted, left_out) = self.refusals.lock().unwrap_or_else(PoisonError::into_inner).admit(now);
        if left_out > 0 {
            self.put(&Line::left_out(left_out));
        }
        if is_admitted {
            self.put(&Line::new(actor, act, Some(rule)));
        }
    }

    fn put(&self, line: &Line) {
        match self.lines.try_send(line.encode(SystemTime::now())) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// A line about those that were lost, if any were.
    fn take_lost(&self) -> Option<Vec<u8>> {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        (lost > 0).then(|| {
            tracing::error!(lost, "the audit log could not be written as fast as it was told");
            Line::lost(lost).encode(SystemTime::now())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_summed_up() {
        let start = Instant::now();
        let mut refusals = Refusals { since: start, written: 0, left_out: 0 };
        let written = (0..REFUSALS + 70).filter(|_| refusals.admit(start).0).count();
        assert_eq!(written as u64, REFUSALS);
        assert_eq!(refusals.admit(start + Duration::from_secs(1)), (true, 70));
        assert_eq!(refusals.admit(start + Duration::from_secs(1)), (true, 0));
    }

    #[test]
    fn what_there_is_no_room_for_is_counted_and_nobody_waits() {
        let (audit, lines) = Audit::new(true);
        for _ in 0..WAITING + 3 {
            audit.allowed(Actor::default(), &Act::new("tenure.v1.LockService/Evict"));
        }
        assert_eq!(lines.try_iter().count(), WAITING);
        let lost = String::from_utf8(audit.take_lost().unwrap()).unwrap();
        assert!(lost.contains("\"lost\":3"), "{lost}");
        assert_eq!(audit.take_lost(), None);
    }
}
