//! Lock settings, which operators make.

use crate::end::{EndReason, Eviction};
use crate::event::Event;
use crate::model::{Claim, LockSettings, Revision};
use crate::names::Text;
use crate::table::Table;
use crate::table::decide::Events;
use crate::table::journal::Undo;

impl Table {
    /// The settings that an operator has made on a lock.
    #[must_use]
    pub fn settings(&self, name: &str) -> Option<&LockSettings> {
        self.settings.get(name)
    }

    /// All settings made by operators, by lock.
    pub fn all_settings(&self) -> impl Iterator<Item = (&Text, &LockSettings)> {
        self.settings.iter()
    }

    pub(super) fn configure_lock(&mut self, name: Text, settings: LockSettings, by: Eviction, decided: &mut Events) {
        if self.settings.get(&name).cloned().unwrap_or_default() == settings {
            return;
        }
        let event = Event::LockConfigured { name: name.clone(), settings, by: by.clone() };
        self.emit(event, decided);
        for claim in self.hopeless(&name) {
            self.end_claim(claim, EndReason::Evicted, Some(by.clone()), decided);
        }
        self.serve([&name], decided);
    }

    /// The waiters that request more permits than the limit.
    fn hopeless(&self, name: &str) -> Vec<Revision> {
        let (Some(lock), Some(limit)) = (self.locks.get(name), self.limit(name)) else { return Vec::new() };
        let too_many = |claim: &&Claim| claim.spec.mode.permits() > limit;
        let waiters = lock.waiters().iter().filter_map(|rank| self.claims.get(&rank.1));
        waiters.filter(too_many).map(|claim| claim.id).collect()
    }

    /// Stores settings; default ones are not kept.
    pub(super) fn set(&mut self, name: &Text, settings: LockSettings) {
        let before = if settings.is_default() {
            self.settings.remove(name)
        } else {
            self.settings.insert(name.clone(), settings)
        };
        self.note(Undo::Configured { name: name.clone(), before: before.unwrap_or_default() });
    }
}
