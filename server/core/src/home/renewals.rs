//! How late the renewals of a session were during a hold: for people, nothing is decided by it.

use std::collections::HashSet;
use std::time::Duration;

use super::{Home, Tick};
use crate::event::{Event, Recorded};
use crate::model::Revision;

/// How a session's renewals came during a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewals {
    /// The time since the last one.
    pub since_last: Duration,
    /// The longest time without one, as [`Home::tell_pauses`] would tell it if the hold ended now.
    pub longest_pause: Duration,
}

impl Home {
    /// How the renewals of a session that is kept here came during a hold of it.
    #[must_use]
    pub fn renewals(&self, claim: Revision, session: &str, opened: Revision, now: Tick) -> Option<Renewals> {
        let kept = self.kept.get(session).filter(|kept| kept.opened == opened)?;
        let since = *self.held.get(&claim)?;
        let since_last = now.saturating_sub(kept.renewed());
        let longest_pause = kept.pauses.longest_since(since, since_last.into()).into();
        Some(Renewals { since_last, longest_pause })
    }

    /// Writes into decided events in which holds end how late the renewals were, where this is the home that knows: the
    /// longest time in which the session was not renewed although it could have been, of those that ended during the hold
    /// and the last one, which ends with the hold. What an earlier home saw is not known. Told at most a seventh longer
    /// than it was, never shorter. For people: no decision depends on it.
    pub fn tell_pauses(&self, decided: &mut [Recorded], now: Tick) {
        let mut lingering = HashSet::new();
        for recorded in decided {
            let (claim, spec, told) = match &mut recorded.event {
                Event::ClaimLingering { claim, spec, longest_pause, .. } => {
                    lingering.insert(*claim);
                    (*claim, spec, longest_pause)
                }
                // When lingering ends, the hold has been over for long.
                Event::ClaimEnded { claim, spec, longest_pause, .. } if !lingering.contains(claim) => {
                    (*claim, spec, longest_pause)
                }
                Event::ClaimTransferred { from, from_spec, longest_pause, .. } => (*from, from_spec, longest_pause),
                _ => continue,
            };
            let renewals = self.renewals(claim, &spec.session, spec.opened, now);
            *told = renewals.map(|renewals| renewals.longest_pause);
        }
    }

    /// Takes note of a claim that is held, if the session is kept here.
    pub(super) fn hold(&mut self, claim: Revision, session: &str, now: Tick) {
        if self.kept.contains_key(session) && self.held.get(&claim).is_none() {
            self.held.insert(claim, now.into());
        }
    }
}
