//! Choices that are made by bytes: where a target wants something structured, its input says what. Small changes of the input are
//! small changes of what is drawn.

use std::time::Duration;

/// Draws from bytes. When there are none left, all that is drawn is the first choice.
pub(crate) struct Draw<'d>(&'d [u8]);

impl<'d> Draw<'d> {
    pub(crate) fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is left.
    pub(crate) fn rest(&self) -> &'d [u8] {
        self.0
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    /// Less than `bound`, which is at most 256.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// One of these.
    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Something, or nothing.
    pub(crate) fn maybe<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| draw(self))
    }

    /// Any number: mostly a small one, and at times one of eight bytes.
    pub(crate) fn number(&mut self) -> u64 {
        match self.byte() {
            255 => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
            small => small.into(),
        }
    }

    /// Up to some seconds, in whole milliseconds.
    pub(crate) fn millis(&mut self) -> Duration {
        Duration::from_millis(u64::from(self.byte()) * 20)
    }
}
