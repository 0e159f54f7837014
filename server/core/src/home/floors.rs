//! Floors: the earliest moments from which the TTLs of sessions count, regardless of the last renewal.

use super::Tick;
use crate::model::Revision;

/// The earliest moments from which TTLs count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Floors {
    /// The floor of all sessions.
    pub(super) all: Tick,
    /// The last history loss of the database that is known to this home.
    pub(super) lost: Revision,
    /// The floor of sessions opened before that.
    older: Tick,
}

impl Floors {
    /// The floor of a session that was opened at this revision.
    pub(super) fn of(&self, opened: Revision) -> Tick {
        if opened < self.lost { self.all.max(self.older) } else { self.all }
    }

    /// Makes `floor` the floor of sessions opened before a history loss. Returns whether the loss is new.
    pub(super) fn record_loss(&mut self, lost: Revision, floor: Tick) -> bool {
        let news = lost > self.lost;
        if news {
            (self.lost, self.older) = (lost, floor);
        }
        news
    }
}
