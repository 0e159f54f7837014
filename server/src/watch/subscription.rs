//! A subscription: the messages for all watchers of the same filter, kept once.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tenure_core::Revision;
use tokio::time::Instant;

use super::filter::Filter;
use super::reader::Received;
use super::watchers::Notifier;
use crate::limits::{self, Budget, Share};

/// The order in which readers are woken: by connection, so that those of one connection are woken together.
pub(super) type ReaderId = (u64, u64);

pub(super) struct Subscription {
    id: u64,
    filter: Filter,
    backlog: Mutex<Backlog>,
    /// Bounds the bytes of the messages.
    budget: Budget,
    /// The number after that of the newest message, readable without the lock.
    end: AtomicU64,
    readers: Mutex<BTreeMap<ReaderId, Arc<Notifier>>>,
}

/// The messages that some reader has yet to take.
struct Backlog {
    /// Everything that was examined after this revision is here.
    start: Revision,
    messages: VecDeque<(Message, Share)>,
    /// The number of the first message.
    first: u64,
    bytes: usize,
    /// Number of readers that take from here, and of those that have something to take.
    joined: usize,
    lagging: usize,
    quiet_since: Instant,
}

#[derive(Clone)]
pub(super) struct Message {
    /// This message and those before it cover everything up to this revision.
    pub(super) revision: Revision,
    /// Whether it carries only that revision.
    pub(super) is_mark: bool,
    pub(super) bytes: Bytes,
}

impl Subscription {
    pub(super) fn new(id: u64, filter: Filter, start: Revision, budget: Budget) -> Self {
        let backlog = Backlog {
            start,
            messages: VecDeque::new(),
            first: 0,
            bytes: 0,
            joined: 0,
            lagging: 0,
            quiet_since: Instant::now(),
        };
        Self { id, filter, backlog: Mutex::new(backlog), budget, end: AtomicU64::new(0), readers: Mutex::default() }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Adds a message for all joined readers. If the budget has no room for it, they find it in the log.
    pub(super) fn push(&self, message: Message) {
        let mut backlog = self.backlog();
        backlog.quiet_since = Instant::now();
        if backlog.joined == 0 {
            backlog.start = message.revision;
            return;
        }
        let Some(share) = self.budget.try_take(message.bytes.len()) else {
            drop(backlog);
            return self.restart(message.revision);
        };
        backlog.bytes += message.bytes.len();
        backlog.messages.push_back((message, share));
        backlog.lagging = backlog.joined;
        let (of_each, of_all) = limits::WATCH_KEPT;
        let kept = of_all.min(of_each.saturating_mul(backlog.joined));
        while backlog.bytes > kept && backlog.messages.len() > 1 {
            backlog.drop_first();
        }
        self.end.store(backlog.end(), Ordering::Release);
    }

    /// Discards everything up to a revision: joined readers must find out elsewhere what happened up to it.
    pub(super) fn restart(&self, start: Revision) {
        let mut backlog = self.backlog();
        backlog.quiet_since = Instant::now();
        backlog.first = backlog.end() + 1;
        backlog.messages.clear();
        backlog.bytes = 0;
        backlog.start = start;
        backlog.lagging = backlog.joined;
        self.end.store(backlog.end(), Ordering::Release);
    }

    pub(super) fn is_quiet_for(&self, span: Duration) -> bool {
        self.backlog().quiet_since.elapsed() >= span
    }

    /// Starts to take what happened after a revision. Returns the number of the first message, or `None` if some of it
    /// is not here.
    pub(super) fn join(&self, after: Revision) -> Option<u64> {
        let mut backlog = self.backlog();
        if after < backlog.start {
            return None;
        }
        let next = backlog.first + backlog.messages.partition_point(|(message, _)| message.revision <= after) as u64;
        backlog.joined += 1;
        backlog.lagging += usize::from(next < backlog.end());
        Some(next)
    }

    /// Whether a reader at this message has something to take.
    pub(super) fn has(&self, next: u64) -> bool {
        self.end.load(Ordering::Acquire) != next
    }

    /// Takes the next message for a reader that knows everything up to a revision. A reader that missed some is no
    /// longer joined.
    pub(super) fn take(&self, next: &mut u64, known: Revision) -> Option<Received> {
        let mut backlog = self.backlog();
        loop {
            if *next == backlog.end() {
                return None;
            }
            let Some(at) = next.checked_sub(backlog.first) else {
                backlog.leave(true);
                return Some(Received::Missed);
            };
            let message = backlog.messages.get(usize::try_from(at).ok()?)?.0.clone();
            *next += 1;
            if *next == backlog.end() {
                backlog.caught_up();
            }
            let is_known = if message.is_mark { message.revision < known } else { message.revision <= known };
            if !is_known {
                return Some(Received::Messages { revision: message.revision, bytes: message.bytes });
            }
        }
    }

    /// Removes a joined reader that is at this message.
    pub(super) fn leave(&self, next: u64) {
        let mut backlog = self.backlog();
        let is_lagging = next != backlog.end();
        backlog.leave(is_lagging);
    }

    pub(super) fn enter(&self, reader: ReaderId, notifier: Arc<Notifier>) {
        self.readers().insert(reader, notifier);
    }

    /// Removes a reader. Returns whether it was the last one.
    pub(super) fn exit(&self, reader: ReaderId) -> bool {
        let mut readers = self.readers();
        readers.remove(&reader);
        readers.is_empty()
    }

    /// All readers, in pages of this size. The lock is free between two pages.
    pub(super) fn reader_pages(&self, size: usize) -> impl Iterator<Item = Vec<Arc<Notifier>>> {
        let mut last: Option<ReaderId> = None;
        std::iter::from_fn(move || {
            let readers = self.readers();
            let from = last.map_or(Bound::Unbounded, Bound::Excluded);
            let page: Vec<_> = readers.range((from, Bound::Unbounded)).take(size).collect();
            last = Some(*page.last()?.0);
            Some(page.into_iter().map(|(_, notifier)| notifier.clone()).collect())
        })
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn readers(&self) -> MutexGuard<'_, BTreeMap<ReaderId, Arc<Notifier>>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backlog {
    fn end(&self) -> u64 {
        self.first + self.messages.len() as u64
    }

    fn drop_first(&mut self) {
        if let Some((oldest, _)) = self.messages.pop_front() {
            self.first += 1;
            self.bytes -= oldest.bytes.len();
            self.start = oldest.revision;
        }
    }

    fn leave(&mut self, is_lagging: bool) {
        self.joined -= 1;
        if is_lagging {
            self.caught_up();
        }
    }

    /// Records that a lagging reader has caught up. Messages that no reader has to take are dropped.
    fn caught_up(&mut self) {
        self.lagging -= 1;
        if self.lagging == 0 {
            while !self.messages.is_empty() {
                self.drop_first();
            }
        }
    }
}
