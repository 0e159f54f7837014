//! Floors: from when on the TTLs of sessions count, whenever they were renewed last.

use super::Tick;
use crate::model::Revision;

/// From when on TTLs count at the earliest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Floors {
    all: Tick,
    /// The last time that the database lost history, as far as this home has heard.
    lost: Revision,
    /// For sessions from before that.
    older: Tick,
}

impl Floors {
    /// The floor of a session that was opened at this revision.
    pub(super) fn of(&self, opened: Revision) -> Tick {
        if opened < self.lost { self.all.max(self.older) } else { self.all }
    }

    /// The last time that the database lost history, as far as this home has heard.
    pub(super) fn lost(&self) -> Revision {
        self.lost
    }

    /// No session counts from earlier than `now`.
    pub(super) fn raise(&mut self, now: Tick) {
        self.all = now;
    }

    /// The database has lost history: no session from before counts from earlier than `floor`. Says whether that is news.
    pub(super) fn lose(&mut self, lost: Revision, floor: Tick) -> bool {
        let news = lost > self.lost;
        if news {
            (self.lost, self.older) = (lost, floor);
        }
        news
    }
}
