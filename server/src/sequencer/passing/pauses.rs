//! How late the renewals of holds were that end by a passed command: only the home knows, so it is passed along.

use std::collections::HashMap;
use std::time::Duration;

use tenure_core::{Claim, Command, Event, Recorded, Revision};

use crate::sequencer::run::Sequencer;
use crate::sequencer::work::Work;

/// The longest pauses between renewals, by the claim held meanwhile.
pub type LongestPauses = Vec<(Revision, Duration)>;

impl Sequencer {
    /// What is known here of the holds that these commands are to end.
    pub(super) fn pauses(&self, work: &Work) -> LongestPauses {
        let table = &self.replica.table;
        let now = self.settings.lease.standing_tick();
        let local = self.replica.local.lock();
        let known = |claim: &Claim| {
            let renewals = local.home.renewals(claim.id, &claim.spec.session, claim.spec.opened, now)?;
            Some((claim.id, renewals.longest_pause))
        };
        let mut pauses = Vec::new();
        for (request, _) in &work.requests {
            match &request.command {
                Command::Release { name, token, .. } => {
                    let holders = table.lock(name).into_iter().flat_map(|lock| lock.holders().iter());
                    let held = holders.filter_map(|id| table.claim(*id)).find(|claim| claim.token() == Some(*token));
                    pauses.extend(held.and_then(known));
                }
                Command::CloseSession { session, .. } => {
                    let claims = table.session(session).into_iter().flat_map(|found| table.claims_of(found));
                    pauses.extend(claims.filter_map(known));
                }
                _ => {}
            }
        }
        pauses
    }
}

/// Writes what was passed along into decided events, where this server did not know it.
pub(in crate::sequencer) fn record_pauses(work: &Work, decided: &mut [Recorded]) {
    let mut known: HashMap<Revision, Duration> =
        work.taken.iter().flat_map(|taken| taken.pauses.iter().copied()).collect();
    if known.is_empty() {
        return;
    }
    for recorded in decided {
        if let Event::ClaimLingering { claim, longest_pause, .. }
        | Event::ClaimEnded { claim, longest_pause, .. }
        | Event::ClaimTransferred { from: claim, longest_pause, .. } = &mut recorded.event
            && let Some(pause) = known.remove(claim)
        {
            *longest_pause = longest_pause.or(Some(pause));
        }
    }
}
