//! How long claims wait, as measured by their homes.

use std::collections::HashMap;

use prometheus_client::metrics::histogram::Histogram;
use tenure_core::{ClaimState, Event, Home, Recorded, Revision, Table};
use tokio::time::Instant;

/// Since when claims wait, as far as this server knows. It has all claims, since their sessions may move here
/// meanwhile.
pub(super) struct WaitTimes {
    since: HashMap<Revision, Instant>,
    /// The metric of how long they waited.
    waits: Histogram,
}

impl WaitTimes {
    pub(super) fn new(waits: Histogram) -> Self {
        Self { since: HashMap::new(), waits }
    }

    /// Applies a committed event. `home` is the state before it.
    pub(super) fn observe(&mut self, recorded: &Recorded, home: &Home) {
        match &recorded.event {
            Event::ClaimQueued(_) => {
                self.since.insert(recorded.revision, Instant::now());
            }
            Event::ClaimGranted { claim, spec } | Event::ClaimTransferred { claim, spec, .. }
                if *claim != recorded.revision =>
            {
                if let Some(since) = self.since.remove(claim)
                    && home.has_session(&spec.session)
                {
                    self.waits.observe(since.elapsed().as_secs_f64());
                }
            }
            Event::ClaimEnded { claim, token: None, .. } => {
                self.since.remove(claim);
            }
            _ => {}
        }
    }

    /// Reconciles with a reloaded table: waits that were unknown count from now on.
    pub(super) fn reconcile(&mut self, table: &Table) {
        let now = Instant::now();
        let before = std::mem::take(&mut self.since);
        let waiting = table.claims().filter(|claim| claim.state == ClaimState::Waiting).map(|claim| claim.id);
        self.since = waiting.map(|claim| (claim, before.get(&claim).copied().unwrap_or(now))).collect();
    }
}
