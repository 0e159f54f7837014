//! What is to be done later. Pure: the time is passed in.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::Moment;
use crate::link::{ClaimKey, WatchKey};

/// What is due at a moment. Whoever is told checks whether it still is: most are never taken out early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// Ask again to open a session.
    Open(Arc<str>),
    /// Stop asking to open a session.
    OpenGiveUp(Arc<str>),
    /// Ask again to attach a session.
    Attach(Arc<str>),
    /// Renew a session.
    Renew(Arc<str>),
    /// The phase of a session's validity changes.
    Phase(Arc<str>),
    /// Ask again to close a session.
    Close(Arc<str>),
    /// Tell that a session could not be closed in time.
    CloseGiveUp(Arc<str>),
    /// Stop asking to close a session: it has ended by itself.
    CloseForget(Arc<str>),
    /// Ask again for what a claim needs.
    Claim(Arc<str>, ClaimKey),
    /// A claim's wait or its answer's deadline is over.
    ClaimGiveUp(Arc<str>, ClaimKey),
    /// Ask again to watch.
    Watch(WatchKey),
    /// The answer to a command is overdue: the stream is broken.
    Silence(u64),
    /// The answer to a command takes long: another server may do better.
    Slow(u64),
    /// Stop shutting down.
    ShutDown,
}

/// A timer that may be taken out before it is due, because there would be too many of them otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimerKey(Moment, u64);

/// Timers in order of time.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeMap<(Moment, u64), Timer>,
    count: u64,
}

impl Timers {
    pub(super) fn set(&mut self, at: Moment, timer: Timer) -> TimerKey {
        self.count += 1;
        self.due.insert((at, self.count), timer);
        TimerKey(at, self.count)
    }

    /// Takes a timer out. It may have been due before.
    pub(super) fn clear(&mut self, TimerKey(at, count): TimerKey) {
        self.due.remove(&(at, count));
    }

    pub(super) fn next(&self) -> Option<Moment> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// The earliest one that is due at `now`.
    pub(super) fn pop(&mut self, now: Moment) -> Option<Timer> {
        let first = self.due.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
