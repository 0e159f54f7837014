//! How late the renewals of holds were that forwarded commands end: only the home knows, so it sends that along.

use std::collections::HashMap;
use std::time::Duration;

use tenure_core::{Event, Recorded, Revision};

use crate::sequencer::run::Sequencer;
use crate::sequencer::work::Work;

impl Sequencer {
    /// What is known here of the holds that these commands would end now.
    pub(super) fn pauses(&self, work: &Work) -> Vec<(Revision, Duration)> {
        let (table, now, local) = (&self.replica.table, self.settings.lease.standing_tick(), self.replica.local.lock());
        let ended = work.requests.iter().flat_map(|(request, _)| table.claims_ended_by(&request.command));
        let pauses = ended.filter_map(|claim| {
            let renewals = local.home.renewals(claim.id, &claim.spec.session, claim.spec.opened, now)?;
            Some((claim.id, renewals.longest_pause))
        });
        pauses.collect()
    }
}

/// Adds to decided events what was sent along, where this server does not know it.
pub(in crate::sequencer) fn record_pauses(work: &Work, decided: &mut [Recorded]) {
    let pauses = work.forwards.iter().flat_map(|forward| forward.pauses.iter().copied());
    let mut known: HashMap<Revision, Duration> = pauses.collect();
    if known.is_empty() {
        return;
    }
    for recorded in decided {
        if let Event::ClaimLingering { claim, longest_pause, .. }
        | Event::ClaimEnded { claim, longest_pause, .. }
        | Event::ClaimTransferred { from: claim, longest_pause, .. } = &mut recorded.event
        {
            // Once: a hold that lingers ends twice.
            *longest_pause = longest_pause.or(known.remove(claim));
        }
    }
}
