//! Choices drawn from bytes, for targets with structured input. Small changes of the input are small changes of the
//! drawn values.

use std::time::Duration;

/// Draws from bytes. When none are left, every draw is the first choice.
pub(crate) struct Draw<'d>(&'d [u8]);

impl<'d> Draw<'d> {
    pub(crate) fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The remaining bytes.
    pub(crate) fn rest(&self) -> &'d [u8] {
        self.0
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    /// A number less than `bound`, which is at most 256.
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

    /// A value, or none.
    pub(crate) fn maybe<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| draw(self))
    }

    /// Any number: usually a small one, and occasionally one of eight bytes.
    pub(crate) fn number(&mut self) -> u64 {
        match self.byte() {
            255 => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
            small => small.into(),
        }
    }

    /// Up to several seconds, in whole milliseconds.
    pub(crate) fn millis(&mut self) -> Duration {
        Duration::from_millis(u64::from(self.byte()) * 20)
    }
}
