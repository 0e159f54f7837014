//! Metrics of locks, of sessions and of appends.

mod appends;
mod locks;
mod sessions;

pub(super) use self::appends::Appends;
pub(super) use self::locks::{Locks, Way};
pub(super) use self::sessions::Sessions;
