//! What events mean for sessions and claims, as plainly as can be; and random ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tenure_core::{Claim, ClaimState, EndReason, Event, Recorded, Revision, ServerId, Session};
use tenure_server::store::{Batch, RowChanges};

use crate::samples::{batch, claim, claim_spec, nasty_names, session};

/// The sessions and claims after some events.
#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) revision: u64,
    pub(crate) sessions: BTreeMap<Revision, Session>,
    pub(crate) claims: BTreeMap<Revision, Claim>,
}

impl Model {
    pub(crate) fn apply(&mut self, recorded: &Recorded) {
        self.revision = recorded.revision.0;
        match &recorded.event {
            Event::SessionOpened(spec) => {
                let session = Session { spec: (**spec).clone(), opened: recorded.revision, claims: BTreeMap::new() };
                self.sessions.insert(recorded.revision, session);
            }
            Event::SessionAttached { opened, home, ttl, disconnect_grace, .. } => {
                let session = self.sessions.get_mut(opened).expect("attached while open");
                session.spec.home = *home;
                session.spec.ttl = *ttl;
                session.spec.disconnect_grace = *disconnect_grace;
            }
            Event::SessionEnded { opened, .. } => {
                self.sessions.remove(opened).expect("ended once");
            }
            Event::ClaimQueued(spec) => {
                self.claims.insert(recorded.revision, claim(recorded.revision.0, spec, ClaimState::Waiting));
            }
            Event::ClaimGranted { claim: id, spec } => {
                self.claims.insert(*id, claim(id.0, spec, ClaimState::Held { token: recorded.revision }));
            }
            Event::ClaimLingering { claim: id, token, spec, home, .. } => {
                self.claims.insert(*id, claim(id.0, spec, ClaimState::Lingering { token: *token, home: *home }));
            }
            Event::ClaimEnded { claim, .. } => {
                self.claims.remove(claim).expect("ended once");
            }
            Event::ServerAdopted { dead, by } => {
                let adopted = self.sessions.values_mut().filter(|session| session.spec.home == *dead);
                adopted.for_each(|session| session.spec.home = *by);
            }
            Event::HistoryLost { .. } => {}
        }
    }

    /// The row changes from an earlier state to this one.
    pub(crate) fn changes_since(&self, earlier: &Self) -> RowChanges {
        let gone = |key: &&Revision, now: bool| if now { None } else { Some(**key) };
        RowChanges {
            from: Revision(earlier.revision),
            to: Revision(self.revision),
            sessions: self.sessions.values().cloned().collect(),
            ended_sessions: earlier
                .sessions
                .keys()
                .filter_map(|key| gone(&key, self.sessions.contains_key(key)))
                .collect(),
            claims: self.claims.values().cloned().collect(),
            ended_claims: earlier.claims.keys().filter_map(|key| gone(&key, self.claims.contains_key(key))).collect(),
        }
    }
}

/// A source of batches of random events that make sense one by one. The same seed gives the same events.
pub(crate) struct Random {
    random: StdRng,
    pub(crate) model: Model,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: StdRng::seed_from_u64(seed), model: Model::default() }
    }

    /// The next batch, already applied to the model.
    pub(crate) fn batch(&mut self, namespace: &str) -> Batch {
        let previous = self.model.revision;
        let mut events = Vec::new();
        for revision in previous + 1..=previous + self.random.random_range(1..=6) {
            let event = self.event(revision);
            self.model.apply(&Recorded { revision: Revision(revision), event: event.clone() });
            events.push(event);
        }
        batch(namespace, previous, events)
    }

    fn event(&mut self, revision: u64) -> Event {
        let names = nasty_names();
        let random = &mut self.random;
        let sessions: Vec<&Session> = self.model.sessions.values().collect();
        let claims: Vec<&Claim> = self.model.claims.values().collect();
        let reason = *EndReason::ALL.choose(random).expect("there are reasons");
        let open = |id: &str| Event::SessionOpened(Arc::new(session(revision, id).spec));
        let Some(chosen) = sessions.choose(random) else { return open("first") };
        let name = &**names.choose(random).expect("there are names");
        let other = &**names.choose(random).expect("there are names");
        let spec = if name == other { claim_spec(chosen, &[name]) } else { claim_spec(chosen, &[name, other]) };
        match (random.random_range(0..12), claims.choose(random)) {
            (0 | 1, _) => open(name),
            (2, _) => Event::SessionAttached {
                session: chosen.spec.id.clone(),
                opened: chosen.opened,
                home: ServerId(revision),
                ttl: Duration::from_millis(revision * 1000),
                disconnect_grace: revision.is_multiple_of(2).then(|| Duration::from_millis(revision * 100)),
            },
            (3, _) => Event::SessionEnded { session: chosen.spec.id.clone(), opened: chosen.opened, reason },
            (4, _) => Event::ServerAdopted { dead: chosen.spec.home, by: ServerId(revision) },
            (5 | 6, Some(Claim { id, spec, state: ClaimState::Waiting })) => {
                Event::ClaimGranted { claim: *id, spec: spec.clone() }
            }
            (5, Some(Claim { id, spec, state: ClaimState::Held { token } })) => {
                let home = ServerId(revision);
                Event::ClaimLingering { claim: *id, token: *token, spec: spec.clone(), reason, home }
            }
            (5..=8, Some(claim)) => {
                let (token, spec) = (claim.token(), claim.spec.clone());
                Event::ClaimEnded { claim: claim.id, token, spec, reason, eviction: None }
            }
            (9, _) => Event::ClaimGranted { claim: Revision(revision), spec },
            _ => Event::ClaimQueued(spec),
        }
    }
}
