//! An in-memory disk that records the order of writes and flushes.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::image::Image;
use crate::write_log::{Entry, WriteLog};

/// The disk. Clones share their state.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    image: Image,
    write_log: WriteLog,
    /// The duration of a flush.
    flush: Duration,
    /// The number of next flushes that fail.
    failing: usize,
    unflushed: Unflushed,
    failed: usize,
}

/// The effect of a failed flush on unflushed writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unflushed {
    /// They stay in the disk's cache.
    Kept,
    /// They are lost.
    Lost,
}

impl Disk {
    /// A disk with this content.
    #[must_use]
    pub fn new(image: Image) -> Self {
        let write_log = WriteLog::new(image.clone());
        Self(Arc::new(Mutex::new(State {
            image,
            write_log,
            flush: Duration::ZERO,
            failing: 0,
            unflushed: Unflushed::Kept,
            failed: 0,
        })))
    }

    /// Sets the duration of flushes, so that a program that does not wait for their end is detected.
    pub fn slow_down(&self, flush: Duration) {
        self.state().flush = flush;
    }

    /// Makes the next `count` flushes fail. Unflushed writes stay in the disk's cache, or are lost: programs do not see
    /// the loss, since the kernel still has the data in its own cache.
    pub fn fail_flushes(&self, count: usize, unflushed: Unflushed) {
        let mut state = self.state();
        state.failing = count;
        state.unflushed = unflushed;
    }

    /// The number of failed flushes.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.state().failed
    }

    /// The number of writes and flushes so far.
    #[must_use]
    pub fn position(&self) -> usize {
        self.state().write_log.entries.len()
    }

    /// Takes all writes and flushes so far.
    #[must_use]
    pub fn take_write_log(&self) -> WriteLog {
        let mut state = self.state();
        let next = WriteLog::new(state.image.clone());
        std::mem::replace(&mut state.write_log, next)
    }

    pub(crate) fn size(&self) -> usize {
        self.state().image.size()
    }

    pub(crate) fn read(&self, offset: usize, length: usize) -> Vec<u8> {
        self.state().image.read(offset, length)
    }

    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        let mut state = self.state();
        state.image.write(offset, bytes);
        state.write_log.entries.push(Entry::Write { offset, bytes: bytes.into() });
    }

    /// Returns whether it succeeded.
    pub(crate) fn flush(&self) -> bool {
        let takes = self.state().flush;
        std::thread::sleep(takes);
        let mut state = self.state();
        if state.failing == 0 {
            state.write_log.entries.push(Entry::Flush);
            return true;
        }
        if state.failing < usize::MAX {
            state.failing -= 1;
        }
        state.failed += 1;
        if state.unflushed == Unflushed::Lost {
            let entries = state.write_log.entries.iter_mut().rev();
            entries.take_while(|entry| !matches!(entry, Entry::Flush)).for_each(|entry| *entry = Entry::Discarded);
        }
        false
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic while the disk is locked")
    }
}
