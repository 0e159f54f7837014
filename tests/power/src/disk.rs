//! A disk in memory that remembers in which order it was written and flushed.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::image::Image;
use crate::tape::{Entry, Tape};

/// The disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    image: Image,
    tape: Tape,
    /// How long a flush takes.
    flush: Duration,
    /// How many flushes from now on fail.
    failing: usize,
    unflushed: Unflushed,
    failed: usize,
}

/// What becomes of what was written when a flush fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unflushed {
    /// It stays in the disk's cache.
    Stays,
    /// It is gone.
    Goes,
}

impl Disk {
    /// A disk with this content.
    #[must_use]
    pub fn new(image: Image) -> Self {
        let tape = Tape::new(image.clone());
        Self(Arc::new(Mutex::new(State {
            image,
            tape,
            flush: Duration::ZERO,
            failing: 0,
            unflushed: Unflushed::Stays,
            failed: 0,
        })))
    }

    /// Has flushes take so long from now on: whoever does not wait for their end is seen not to.
    pub fn slow_down(&self, flush: Duration) {
        self.state().flush = flush;
    }

    /// Has so many flushes fail from now on. What was written stays in the disk's cache, or is gone for good: programs do not see
    /// that, since the kernel has it in a cache of its own.
    pub fn fail_flushes(&self, count: usize, unflushed: Unflushed) {
        let mut state = self.state();
        state.failing = count;
        state.unflushed = unflushed;
    }

    /// How many flushes have failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.state().failed
    }

    /// How many writes and flushes there have been.
    #[must_use]
    pub fn position(&self) -> usize {
        self.state().tape.entries.len()
    }

    /// All writes and flushes so far, which are forgotten here.
    #[must_use]
    pub fn take_tape(&self) -> Tape {
        let mut state = self.state();
        let next = Tape::new(state.image.clone());
        std::mem::replace(&mut state.tape, next)
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
        state.tape.entries.push(Entry::Write { offset, bytes: bytes.into() });
    }

    /// Returns whether it worked.
    pub(crate) fn flush(&self) -> bool {
        let takes = self.state().flush;
        std::thread::sleep(takes);
        let mut state = self.state();
        if state.failing == 0 {
            state.tape.entries.push(Entry::Flush);
            return true;
        }
        if state.failing < usize::MAX {
            state.failing -= 1;
        }
        state.failed += 1;
        if state.unflushed == Unflushed::Goes {
            let entries = state.tape.entries.iter_mut().rev();
            entries.take_while(|entry| !matches!(entry, Entry::Flush)).for_each(|entry| *entry = Entry::Gone);
        }
        false
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nobody panics with a disk in hand")
    }
}
