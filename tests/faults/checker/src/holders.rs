//! Checks the holders at each revision, and the order of grants.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::{ClaimSpec, Event, Mode};

use crate::Violations;
use crate::past::Past;

/// The holds at a revision.
#[derive(Default)]
pub(crate) struct Holds {
    claims: BTreeMap<u64, Arc<ClaimSpec>>,
    /// Claim and fencing token of each holder, by lock.
    by_name: BTreeMap<String, Vec<(u64, u64)>>,
}

impl Holds {
    /// Applies an event.
    pub(crate) fn apply(&mut self, revision: u64, event: &Event) {
        match event {
            Event::ClaimGranted { spec, claim } => self.add(claim.0, revision, spec),
            Event::ClaimTransferred { from, claim, spec, .. } => {
                self.remove(from.0);
                self.add(claim.0, revision, spec);
            }
            Event::ClaimEnded { claim, .. } => self.remove(claim.0),
            _ => {}
        }
    }

    fn add(&mut self, claim: u64, token: u64, spec: &Arc<ClaimSpec>) {
        self.claims.insert(claim, spec.clone());
        for name in spec.names.iter() {
            self.by_name.entry(name.to_string()).or_default().push((claim, token));
        }
    }

    fn remove(&mut self, claim: u64) {
        for name in self.claims.remove(&claim).iter().flat_map(|spec| spec.names.iter()) {
            if let Some(holders) = self.by_name.get_mut(&**name) {
                holders.retain(|(holder, _)| *holder != claim);
            }
        }
    }

    /// Lock and token of each hold.
    pub(crate) fn tokens(&self) -> BTreeSet<(String, u64)> {
        let holders = self.by_name.iter();
        holders.flat_map(|(name, holders)| holders.iter().map(|(_, token)| (name.clone(), *token))).collect()
    }

    fn is_compatible(&self, name: &str) -> bool {
        let holders = self.by_name.get(name).into_iter().flatten();
        let modes: Vec<Mode> = holders.filter_map(|(claim, _)| self.claims.get(claim)).map(|spec| spec.mode).collect();
        let permits: u32 = modes.iter().map(|mode| mode.permits()).sum();
        match modes.last() {
            None => true,
            Some(Mode::Exclusive) => modes.len() == 1,
            Some(Mode::Shared) => modes.iter().all(|mode| *mode == Mode::Shared),
            Some(Mode::Permits { limit, .. }) => {
                modes.iter().all(|mode| matches!(mode, Mode::Permits { .. })) && permits <= *limit
            }
        }
    }
}

/// Holds are compatible, only open sessions hold, revisions rise, and nothing is held at the end.
pub(crate) fn are_compatible(past: &Past, found: &mut Violations) {
    let mut holds = Holds::default();
    let mut sessions = BTreeSet::new();
    let mut last = 0;
    for recorded in past.surviving() {
        let revision = recorded.revision.0;
        if revision <= last {
            found.add("revisions rise", format!("{last}, then {revision}"));
        }
        last = revision;
        holds.apply(revision, &recorded.event);
        match &recorded.event {
            Event::SessionOpened(_) => drop(sessions.insert(recorded.revision)),
            Event::SessionEnded { opened, .. } => drop(sessions.remove(opened)),
            Event::ClaimGranted { spec, claim } | Event::ClaimTransferred { claim, spec, .. } => {
                if let Some(name) = spec.names.iter().find(|name| !holds.is_compatible(name)) {
                    found.add(
                        "holders are compatible",
                        format!("{claim} at {revision}: {name} {:?}", holds.by_name.get(&**name)),
                    );
                }
                if !sessions.contains(&spec.opened) {
                    found.add("only open sessions hold", format!("{claim} at {revision}"));
                }
            }
            _ => {}
        }
    }
    if !holds.claims.is_empty() {
        found.add("nothing is held at the end of the run", format!("{:?}", holds.claims));
    }
}

/// A waiting claim is granted before later claims for the same locks whose priority is not higher.
pub(crate) fn are_served_in_order(past: &Past, found: &mut Violations) {
    let mut waiting: BTreeMap<u64, Arc<ClaimSpec>> = BTreeMap::new();
    for recorded in past.surviving() {
        match &recorded.event {
            Event::ClaimQueued(spec) => drop(waiting.insert(recorded.revision.0, spec.clone())),
            Event::ClaimEnded { claim, .. } | Event::ClaimTransferred { claim, .. } => drop(waiting.remove(&claim.0)),
            Event::ClaimGranted { claim, spec } => {
                waiting.remove(&claim.0);
                let precedes =
                    |(_, other): &(&u64, &Arc<ClaimSpec>)| other.names == spec.names && other.priority >= spec.priority;
                if let Some((earlier, _)) = waiting.range(..claim.0).find(precedes) {
                    found.add("waiters are served in order", format!("{claim} before {earlier}"));
                }
            }
            _ => {}
        }
    }
}
