//! How long claims wait, as their homes count it.

use std::collections::HashMap;

use tenure_core::{ClaimState, Event, Home, Recorded, Revision, Table};
use tokio::time::Instant;

use super::metrics::Locks;

/// Since when claims wait, as far as this server knows: all of them, since their sessions may come here meanwhile.
pub(super) struct Waits {
    since: HashMap<Revision, Instant>,
    locks: Locks,
}

impl Waits {
    pub(super) fn new(locks: Locks) -> Self {
        Self { since: HashMap::new(), locks }
    }

    /// Takes note of a committed event. `home` is as before it.
    pub(super) fn observe(&mut self, recorded: &Recorded, home: &Home) {
        match &recorded.event {
            Event::ClaimQueued(_) => {
                self.since.insert(recorded.revision, Instant::now());
            }
            Event::ClaimGranted { claim, spec } if *claim != recorded.revision => {
                self.granted(*claim, &spec.session, home)
            }
            Event::ClaimTransferred { claim, spec, .. } => self.granted(*claim, &spec.session, home),
            Event::ClaimEnded { claim, token: None, .. } => {
                self.since.remove(claim);
            }
            _ => {}
        }
    }

    fn granted(&mut self, claim: Revision, session: &str, home: &Home) {
        if let Some(since) = self.since.remove(&claim)
            && home.keeps(session)
        {
            self.locks.waited(since.elapsed());
        }
    }

    /// The table was loaded anew: what waits and was not known does so from now on.
    pub(super) fn reconcile(&mut self, table: &Table) {
        let now = Instant::now();
        let before = std::mem::take(&mut self.since);
        let waiting = table.claims().filter(|claim| claim.state == ClaimState::Waiting).map(|claim| claim.id);
        self.since = waiting.map(|claim| (claim, before.get(&claim).copied().unwrap_or(now))).collect();
    }
}
