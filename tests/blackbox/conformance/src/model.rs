//! A reference model of sessions, claims and groups, as simple as possible, and a generator of random events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tenure_core::{
    Basis, Claim, ClaimSpec, ClaimState, Client, EndReason, Event, Eviction, Group, GroupChange, Lead, LockSettings,
    MemberSpec, Recorded, Revision, ServerId, Session, Text, Transfer,
};
use tenure_server::store::{Batch, RowChanges};

use crate::samples::{batch, claim, claim_spec, client, loss, member_spec, nasty_names, operator, session, settings};

/// The clients, sessions, claims and groups after a sequence of events.
#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) revision: u64,
    pub(crate) lost: u64,
    pub(crate) clients: BTreeMap<Text, Client>,
    pub(crate) sessions: BTreeMap<Revision, Session>,
    pub(crate) claims: BTreeMap<Revision, Claim>,
    /// When each claim was granted.
    pub(crate) granted: BTreeMap<Revision, i64>,
    pub(crate) settings: BTreeMap<Text, LockSettings>,
    pub(crate) groups: BTreeMap<Revision, Arc<Group>>,
}

impl Model {
    pub(crate) fn apply(&mut self, recorded: &Recorded) {
        self.revision = recorded.revision.0;
        match &recorded.event {
            Event::SessionOpened(spec) => {
                let session = Session::new((**spec).clone(), recorded.revision);
                self.sessions.insert(recorded.revision, session);
            }
            Event::SessionMoved { opened, home, ttl, .. } => {
                let session = self.sessions.get_mut(opened).expect("moved while open");
                (session.spec.home, session.spec.ttl) = (*home, *ttl);
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
            Event::ClaimUpdated { claim, spec, .. } => {
                self.claims.get_mut(claim).expect("updated while held").spec = spec.clone();
            }
            Event::ClaimAwaited { claim, at } => {
                let spec = &mut self.claims.get_mut(claim).expect("awaited while it exists").spec;
                *spec = Arc::new(ClaimSpec { waiting_server: *at, ..(**spec).clone() });
            }
            Event::AcquireCancelled { .. } => {}
            Event::TransferStarted { claim, to, drain, .. } => {
                let transfer = Transfer { to: *to, started: recorded.revision, drain: *drain };
                self.claims.get_mut(claim).expect("started while held").transfer = Some(Box::new(transfer));
            }
            Event::TransferCancelled { claim, .. } => {
                self.claims.get_mut(claim).expect("cancelled while held").transfer = None;
            }
            Event::ClaimTransferred { from, claim: id, spec, .. } => {
                self.claims.remove(from).expect("handed over once");
                self.claims.insert(*id, claim(id.0, spec, ClaimState::Held { token: recorded.revision }));
            }
            Event::LockConfigured { name, settings, .. } if settings.is_default() => {
                self.settings.remove(name);
            }
            Event::LockConfigured { name, settings, .. } => {
                self.settings.insert(name.clone(), settings.clone());
            }
            Event::Group { id, group, change } => {
                let before = self.groups.remove(id);
                if let Some(after) = Group::after(before, *id, group, recorded.revision, change) {
                    self.groups.insert(*id, after);
                }
            }
            Event::ClientConnected { client, epoch, home, identity } => {
                let new = || Client::new(client.clone(), *epoch, *home, identity.clone());
                let connected = self.clients.entry(client.clone()).or_insert_with(new);
                (connected.epoch, connected.home) = (*epoch, *home);
            }
            Event::ClientEnded { client } => {
                self.clients.remove(client).expect("ended once");
            }
            Event::ServerAdopted { dead, by } => {
                let adopted = self.clients.values_mut().filter(|client| client.home == *dead);
                adopted.for_each(|client| client.home = *by);
                let adopted = self.sessions.values_mut().filter(|session| session.spec.home == *dead);
                adopted.for_each(|session| session.spec.home = *by);
            }
            Event::HistoryLost { .. } => {
                self.lost = recorded.revision.0;
                for group in self.groups.values_mut() {
                    let lead = group.lead.map(|lead| Lead { token: recorded.revision, ..lead });
                    Arc::make_mut(group).lead = lead;
                }
            }
            Event::ForwardsVoided { .. } => {}
        }
    }

    /// Records the grant times of the claims granted in an applied batch.
    fn stamp(&mut self, batch: &Batch) {
        for recorded in &batch.events {
            if let Event::ClaimGranted { claim, .. } | Event::ClaimTransferred { claim, .. } = &recorded.event {
                self.granted.insert(*claim, batch.at_ms);
            }
        }
    }

    /// The row changes from an earlier state to this one.
    pub(crate) fn changes_since(&self, earlier: &Self) -> RowChanges {
        let gone = |key: &&Revision, now: bool| if now { None } else { Some(**key) };
        RowChanges {
            from: Revision(earlier.revision),
            to: Revision(self.revision),
            lost: Revision(self.lost),
            clients: self.clients.values().cloned().collect(),
            ended_clients: earlier.clients.keys().filter(|id| !self.clients.contains_key(*id)).cloned().collect(),
            sessions: self.sessions.values().cloned().collect(),
            ended_sessions: earlier
                .sessions
                .keys()
                .filter_map(|key| gone(&key, self.sessions.contains_key(key)))
                .collect(),
            claims: self.claims.values().cloned().collect(),
            granted: self.claims.values().filter_map(|claim| Some((claim.token()?, self.granted[&claim.id]))).collect(),
            ended_claims: earlier.claims.keys().filter_map(|key| gone(&key, self.claims.contains_key(key))).collect(),
            settings: (self.settings != earlier.settings).then(|| self.settings.clone().into_iter().collect()),
            groups: self.groups.values().cloned().collect(),
            ended_groups: earlier.groups.keys().filter_map(|key| gone(&key, self.groups.contains_key(key))).collect(),
        }
    }
}

/// A generator of batches of random events that are individually valid. The same seed gives the same events.
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
        if previous > 0 && self.random.random_range(0..16) == 0 {
            let batch = loss(namespace, previous, previous + 1_000);
            batch.events.iter().for_each(|recorded| self.model.apply(recorded));
            self.model.stamp(&batch);
            return batch;
        }
        let mut events = Vec::new();
        for revision in previous + 1..=previous + self.random.random_range(1..=6) {
            let event = self.event(revision);
            self.model.apply(&Recorded { revision: Revision(revision), event: event.clone() });
            events.push(event);
        }
        let batch = batch(namespace, previous, events);
        self.model.stamp(&batch);
        batch
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
        let waiting: Vec<&&Claim> = claims.iter().filter(|claim| claim.state == ClaimState::Waiting).collect();
        match (random.random_range(0..27), claims.choose(random)) {
            (25.., _) => client_event(self.model.clients.get(name), revision, name),
            (17.., _) => group_event(random, &self.model.groups, revision, chosen, name),
            (0 | 1, _) => open(name),
            (2, _) => Event::SessionMoved {
                session: chosen.spec.id.clone(),
                opened: chosen.opened,
                home: ServerId(revision),
                ttl: Duration::from_millis(revision * 1000),
            },
            (3, _) => Event::SessionEnded { session: chosen.spec.id.clone(), opened: chosen.opened, reason },
            (4, _) => Event::ServerAdopted { dead: chosen.spec.home, by: ServerId(revision) },
            (12, _) => Event::LockConfigured { name: name.into(), settings: settings(revision), by: operator() },
            (13, Some(Claim { id, spec, state: ClaimState::Held { token }, .. })) => {
                let to = waiting.choose(random).map(|claim| claim.id);
                let (drain, by) = (Duration::from_secs(revision), Some(operator()));
                let to_session = to.map(|_| name.into());
                Event::TransferStarted { claim: *id, token: *token, spec: spec.clone(), to, to_session, drain, by }
            }
            (14, Some(Claim { id, spec, state: ClaimState::Held { token }, .. })) => {
                Event::TransferCancelled { claim: *id, token: *token, spec: spec.clone() }
            }
            (15, Some(Claim { id, spec, state: ClaimState::Held { token }, .. })) => {
                let metadata = Arc::new(BTreeMap::from([("new".to_owned(), revision.to_string())]));
                let spec = Arc::new(ClaimSpec { metadata, ..(**spec).clone() });
                Event::ClaimUpdated { claim: *id, token: *token, spec }
            }
            (16, Some(Claim { id, spec, state: ClaimState::Held { token }, .. })) => {
                let (from_spec, still_held) = (spec.clone(), Vec::new());
                let next = waiting.choose(random).map(|next| (next.id, next.spec.clone()));
                let (claim, spec) = next.unwrap_or_else(|| (Revision(revision), spec.clone()));
                Event::ClaimTransferred {
                    from: *id,
                    from_token: *token,
                    from_spec,
                    still_held,
                    longest_pause: None,
                    claim,
                    spec,
                }
            }
            (5 | 6, Some(Claim { id, spec, state: ClaimState::Waiting, .. })) => {
                Event::ClaimGranted { claim: *id, spec: spec.clone() }
            }
            (5, Some(Claim { id, spec, state: ClaimState::Held { token }, .. })) => {
                let (home, still_held) = (ServerId(revision), Vec::new());
                let longest_pause = Some(Duration::from_millis(revision));
                Event::ClaimLingering {
                    claim: *id,
                    token: *token,
                    spec: spec.clone(),
                    reason,
                    home,
                    still_held,
                    longest_pause,
                }
            }
            (5..=8, Some(claim)) => {
                let (token, spec) = (claim.token(), claim.spec.clone());
                let eviction = (reason == EndReason::Evicted)
                    .then(|| Eviction { operator: name.into(), note: format!("note {revision}").into() });
                let longest_pause = (!revision.is_multiple_of(3)).then(|| Duration::from_millis(revision));
                let still_held = Vec::new();
                Event::ClaimEnded { claim: claim.id, token, spec, reason, eviction, still_held, longest_pause }
            }
            (9, _) => Event::ClaimGranted { claim: Revision(revision), spec },
            _ => Event::ClaimQueued(spec),
        }
    }
}

/// A client that connects for the first time, connects again, or ends, as the revision is.
fn client_event(before: Option<&Client>, revision: u64, id: &str) -> Event {
    match before {
        Some(before) if revision.is_multiple_of(3) => Event::ClientEnded { client: before.id.clone() },
        _ => {
            let Client { id, epoch, home, identity, .. } = client(revision, id);
            Event::ClientConnected { client: id, epoch, home, identity }
        }
    }
}

/// A change of an existing group, or of one that this call creates.
fn group_event(
    random: &mut StdRng,
    groups: &BTreeMap<Revision, Arc<Group>>,
    revision: u64,
    session: &Session,
    name: &str,
) -> Event {
    let groups: Vec<&Arc<Group>> = groups.values().collect();
    let of = |group: &Group, change| Event::Group { id: group.id, group: group.name.clone(), change };
    let number = Revision(revision);
    let config = random.random_bool(0.7).then(|| Text::from(format!("{name} {revision}")));
    // Few groups at a time, so that each has many changes.
    let chosen = if groups.len() < 4 && random.random_bool(0.3) { None } else { groups.choose(random) };
    let Some(group) = chosen else {
        let lead = Lead { member: number, token: number };
        let change = match config {
            Some(config) if random.random_bool(0.3) => GroupChange::Configured { config: Some(config) },
            _ => GroupChange::Joined { spec: member_spec(session), lead },
        };
        return Event::Group { id: number, group: name.into(), change };
    };
    let members: Vec<Revision> = group.members.keys().copied().collect();
    match (random.random_range(0..10), group.lead) {
        (0..3, Some(lead)) => {
            let leaver = members.choose(random).copied().expect("the leader is a member");
            let next = members.iter().find(|member| **member != leaver);
            let lead =
                if lead.member == leaver { next.map(|next| Lead { member: *next, token: number }) } else { Some(lead) };
            let MemberSpec { session, opened, owner, declared, .. } = (*group.members[&leaver].spec).clone();
            let (member, reason) = (leaver, EndReason::Closed);
            of(group, GroupChange::Left { member, session, opened, owner, reason, declared, lead })
        }
        (3..5, Some(lead)) => {
            let assignments = members.iter().map(|member| (*member, format!("{name} for {member}").into())).collect();
            let basis = Basis { membership: group.membership, config: group.config_revision() };
            of(group, GroupChange::Assigned { lead, basis, assignments: Arc::new(assignments) })
        }
        (5..7, _) => of(group, GroupChange::Configured { config }),
        (_, lead) => {
            let lead = lead.unwrap_or(Lead { member: number, token: number });
            of(group, GroupChange::Joined { spec: member_spec(session), lead })
        }
    }
}
