//! Reports of how late the renewals of a session were during a hold. For human readers: no decision depends on them.

use std::collections::HashSet;
use std::time::Duration;

use super::{Home, Tick};
use crate::event::{Event, Recorded};
use crate::model::Revision;

/// The timing of a session's renewals during a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewals {
    /// The time since the last renewal.
    pub since_last: Duration,
    /// The longest time without a renewal, as [`Home::record_pauses`] would report it if the hold ended now.
    pub longest_pause: Duration,
}

impl Home {
    /// The timing of the renewals of a session at home here during one of its holds.
    #[must_use]
    pub fn renewals(&self, claim: Revision, session: &str, opened: Revision, now: Tick) -> Option<Renewals> {
        let timer = self.sessions.get(session).filter(|timer| timer.opened == opened)?;
        let since = *self.held.get(&claim)?;
        let since_last = now.saturating_sub(self.renewed(timer));
        let client = timer.client.as_ref().filter(|_| timer.declared > 0).and_then(|client| self.clients.get(client));
        let pauses = [Some(&timer.pauses), client.map(|client| &client.pauses)].into_iter().flatten();
        let longest = pauses.map(|pauses| pauses.longest_since(since, since_last.into())).max();
        let longest_pause = longest.map_or(since_last, Tick::from);
        Some(Renewals { since_last, longest_pause })
    }

    /// Records in decided events that end holds how late the renewals were, if this home knows: the longest time in
    /// which the session was not renewed although it could have been, among the pauses that ended during the hold and
    /// the last one, which ends with the hold. Pauses at an earlier home are not known. The value is at most a seventh
    /// more than the true one, never less. For human readers: no decision depends on it.
    pub fn record_pauses(&self, decided: &mut [Recorded], now: Tick) {
        let mut lingering = HashSet::new();
        for recorded in decided {
            let (claim, spec, pause) = match &mut recorded.event {
                Event::ClaimLingering { claim, spec, longest_pause, .. } => {
                    lingering.insert(*claim);
                    (*claim, spec, longest_pause)
                }
                // The hold ended when lingering began, not when it ends.
                Event::ClaimEnded { claim, spec, longest_pause, .. } if !lingering.contains(claim) => {
                    (*claim, spec, longest_pause)
                }
                Event::ClaimTransferred { from, from_spec, longest_pause, .. } => (*from, from_spec, longest_pause),
                _ => continue,
            };
            let renewals = self.renewals(claim, &spec.session, spec.opened, now);
            *pause = renewals.map(|renewals| renewals.longest_pause);
        }
    }

    /// Records since when a claim is held, if its session is at home here.
    pub(super) fn record_hold(&mut self, claim: Revision, session: &str, now: Tick) {
        if self.sessions.contains_key(session) && self.held.get(&claim).is_none() {
            self.held.insert((claim, now.into()));
        }
    }
}
