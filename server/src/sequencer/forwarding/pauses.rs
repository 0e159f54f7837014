//! How late the renewals of holds were that forwarded commands end: only the home knows, so it sends that along.

use std::collections::HashMap;
use std::time::Duration;

use tenure_core::{Change, Claim, Command, Event, Item, Recorded, Revision, Table, Text};

use crate::sequencer::run::Sequencer;
use crate::sequencer::work::Work;

/// The longest pauses between renewals, by the claim held meanwhile.
pub type LongestPauses = Vec<(Revision, Duration)>;

impl Sequencer {
    /// What is known here of the holds that these commands are to end.
    pub(super) fn pauses(&self, work: &Work) -> LongestPauses {
        let (table, now) = (&self.replica.table, self.settings.lease.standing_tick());
        let local = self.replica.local.lock();
        let known = |claim: &Claim| {
            claim.token()?;
            let renewals = local.home.renewals(claim.id, &claim.spec.session, claim.spec.opened, now)?;
            Some((claim.id, renewals.longest_pause))
        };
        let mut pauses = Vec::new();
        for (request, _) in &work.requests {
            match &request.command {
                Command::Release { session, token, .. } => {
                    let released = claims_of(table, session).filter(|claim| claim.token() == Some(*token));
                    pauses.extend(released.filter_map(known));
                }
                Command::CloseSession { session, .. } => pauses.extend(claims_of(table, session).filter_map(known)),
                Command::Change { client, changes, .. } => {
                    let items = table.client(client).map(|client| &client.items);
                    for change in changes {
                        match (change, items) {
                            (Change::Withdraw(number), Some(items)) => match items.get(number) {
                                Some(Item::Claim(claim)) => pauses.extend(table.claim(*claim).and_then(known)),
                                Some(Item::Session(id)) => pauses.extend(claims_of(table, id).filter_map(known)),
                                Some(Item::Membership(_)) | None => {}
                            },
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        pauses
    }
}

fn claims_of<'t>(table: &'t Table, session: &Text) -> impl Iterator<Item = &'t Claim> {
    table.session(session).into_iter().flat_map(|found| table.claims_of(found))
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
            && let Some(pause) = known.remove(claim)
        {
            *longest_pause = longest_pause.or(Some(pause));
        }
    }
}
