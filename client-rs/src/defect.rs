//! Deliberate defects. The simulation switches one on and must find it: so it is known what it would notice. Programs that are
//! built without the feature `defects` have none.

/// A way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Validity counts from when an answer came.
    ValidFromReceipt,
    /// A hold is valid for twice as long as it may be.
    ValidTooLong,
    /// The disconnect grace does not count.
    GraceForgotten,
    /// A watch that is resumed begins one event too late.
    WatchResumesTooFar,
    /// A release is told as done before it is.
    ReleasedEarly,
}

impl Defect {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::ValidFromReceipt,
        Self::ValidTooLong,
        Self::GraceForgotten,
        Self::WatchResumesTooFar,
        Self::ReleasedEarly,
    ];

    /// Whether this program has it.
    #[cfg(not(feature = "defects"))]
    #[inline]
    #[must_use]
    pub const fn is_here(self) -> bool {
        false
    }

    /// Whether this program has it.
    #[cfg(feature = "defects")]
    #[must_use]
    pub fn is_here(self) -> bool {
        HERE.load(std::sync::atomic::Ordering::Relaxed) == self as usize + 1
    }

    /// From now on this program has it.
    #[cfg(feature = "defects")]
    pub fn bring(self) {
        HERE.store(self as usize + 1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// The number of the one that is here, from 1.
#[cfg(feature = "defects")]
static HERE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
