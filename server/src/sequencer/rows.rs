//! Rows behind the log: tracks which rows have yet to be written, so that loading reads the rows and the log after
//! them.

use std::collections::HashMap;

use tenure_core::{ClaimState, Client, Event, GroupChange, Recorded, Revision, Session, Table, Text};

use crate::store::RowChanges;

/// Changes of the table since the rows were written.
#[derive(Debug, Default)]
pub(super) struct RowsBehind {
    /// The revision up to which the rows cover the log.
    saved: Revision,
    /// Clients (by id) and the revision at which each was last touched.
    clients: HashMap<Text, Revision>,
    /// Sessions (by opening revision) and the revision at which each was touched.
    sessions: Vec<(Revision, Revision)>,
    /// Claims (by id) and the revision at which each was touched.
    claims: Vec<(Revision, Revision)>,
    /// The revision at which the settings of a lock were last touched.
    settings: Option<Revision>,
    /// Groups (by id and name) and the revision at which each was touched.
    groups: Vec<((Revision, Text), Revision)>,
}

impl RowsBehind {
    pub(super) fn at(saved: Revision) -> Self {
        Self { saved, ..Self::default() }
    }

    /// The revision up to which the rows are known to cover the log.
    pub(super) fn up_to(&self) -> Revision {
        self.saved
    }

    /// Whether the rows are behind the table.
    pub(super) fn behind(&self, table: &Table) -> bool {
        self.saved < table.revision()
    }

    /// Records that the rows are at this revision (at least): what was touched up to it is written.
    pub(super) fn saved(&mut self, revision: Revision) {
        if revision > self.saved {
            self.saved = revision;
            self.clients.retain(|_, at| *at > revision);
            if self.clients.len() < self.clients.capacity() / 4 {
                self.clients.shrink_to(self.clients.len() * 2);
            }
            retain_after(revision, &mut self.sessions);
            retain_after(revision, &mut self.claims);
            self.settings = self.settings.filter(|at| *at > revision);
            retain_after(revision, &mut self.groups);
        }
    }

    /// Records that a client may have used numbers up to this revision.
    pub(super) fn declared(&mut self, client: &Text, at: Revision) {
        match self.clients.get_mut(client) {
            Some(touched) => *touched = at,
            None => drop(self.clients.insert(client.clone(), at)),
        }
    }

    /// Records what committed events touch, except for the numbers that clients use: see [`Self::declared`]. `table`
    /// shows the state after them.
    pub(super) fn touched(&mut self, events: &[Recorded], table: &Table) {
        for Recorded { revision, event } in events {
            let at = *revision;
            match event {
                Event::SessionOpened(_) => self.sessions.push((at, at)),
                Event::SessionMoved { opened, .. } | Event::SessionEnded { opened, .. } => {
                    self.sessions.push((*opened, at));
                }
                Event::ClaimQueued(_) => self.claims.push((at, at)),
                Event::ClaimGranted { claim, .. }
                | Event::ClaimUpdated { claim, .. }
                | Event::ClaimAwaited { claim, .. }
                | Event::TransferStarted { claim, .. }
                | Event::TransferCancelled { claim, .. }
                | Event::ClaimLingering { claim, .. }
                | Event::ClaimEnded { claim, .. } => self.claims.push((*claim, at)),
                Event::ClaimTransferred { from, claim, .. } => self.claims.extend([(*from, at), (*claim, at)]),
                Event::LockConfigured { .. } => self.settings = Some(at),
                Event::Group { id, group, .. } => self.touch_group(*id, group, at),
                // The sessions of a client have no home of their own.
                Event::ClientConnected { client, .. } | Event::ClientEnded { client } => self.declared(client, at),
                Event::ServerAdopted { by, .. } => {
                    let clients = table.clients().filter(|client| client.home == *by);
                    clients.for_each(|client| self.declared(&client.id, at));
                    let adopted = |session: &&Session| session.spec.home == *by && session.spec.declared == 0;
                    let sessions = table.sessions_after(Revision(0)).filter(adopted);
                    self.sessions.extend(sessions.map(|session| (session.opened, at)));
                    let adopted = table.claims().filter(|claim| match claim.state {
                        ClaimState::Waiting => claim.spec.waiting_server == Some(*by),
                        ClaimState::Held { .. } => false,
                        ClaimState::Lingering { .. } => true,
                    });
                    self.claims.extend(adopted.map(|claim| (claim.id, at)));
                }
                Event::HistoryLost { .. } => {
                    self.groups.extend(table.groups_after("", None).map(|group| ((group.id, group.name.clone()), at)));
                }
                Event::AcquireCancelled { .. } | Event::ForwardsVoided { .. } => {}
            }
        }
    }

    /// The changes that bring the rows to the table's revision.
    pub(super) fn changes(&self, table: &Table) -> RowChanges {
        let (from, to, lost) = (self.saved, table.revision(), table.lost());
        let mut changes = RowChanges { from, to, lost, ..RowChanges::default() };
        let mut clients: Vec<&Text> = self.clients.keys().collect();
        clients.sort_unstable();
        for id in clients {
            match table.client(id) {
                Some(client) => changes.clients.push(without_items(client)),
                None => changes.ended_clients.push(id.clone()),
            }
        }
        for opened in distinct(self.sessions.iter().map(|(opened, _)| *opened)) {
            match table.session_opened_at(opened) {
                Some(session) => {
                    changes.sessions.push(Session::new(session.spec.clone(), opened));
                }
                // A session that began and ended since the rows were written has no row.
                None if opened <= self.saved => changes.ended_sessions.push(opened),
                None => {}
            }
        }
        for id in distinct(self.claims.iter().map(|(id, _)| *id)) {
            match table.claim(id) {
                Some(claim) => changes.claims.push(claim.clone()),
                None if id <= self.saved => changes.ended_claims.push(id),
                None => {}
            }
        }
        if self.settings.is_some() {
            let all = table.all_settings().map(|(name, settings)| (name.clone(), settings.clone()));
            changes.settings = Some(all.collect());
        }
        for (id, name) in distinct(self.groups.iter().map(|(key, _)| key)) {
            match table.group(name).filter(|group| group.id == *id) {
                Some(group) => changes.groups.push(group.clone()),
                None if *id <= self.saved => changes.ended_groups.push(*id),
                None => {}
            }
        }
        changes
    }

    /// Repeated changes of a group are recorded once: only that it was touched after the rows were written matters.
    fn touch_group(&mut self, id: Revision, name: &Text, at: Revision) {
        match self.groups.last_mut() {
            Some(((last, _), touched)) if *last == id => *touched = at,
            _ => self.groups.push(((id, name.clone()), at)),
        }
    }
}

/// The client that uses a number by this event. `table` shows the state before it.
pub(super) fn declarer<'t>(recorded: &'t Recorded, table: &'t Table) -> Option<&'t Text> {
    let (session, number) = match &recorded.event {
        Event::SessionOpened(spec) => return spec.client.as_ref(),
        Event::ClaimQueued(spec) => (&spec.session, spec.declared),
        Event::ClaimGranted { claim, spec } if *claim == recorded.revision => (&spec.session, spec.declared),
        Event::Group { change: GroupChange::Joined { spec, .. }, .. } => (&spec.session, spec.declared),
        _ => return None,
    };
    if number == 0 { None } else { table.session(session)?.spec.client.as_ref() }
}

/// What the rows have of a client.
fn without_items(client: &Client) -> Client {
    let Client { id, epoch, home, identity, last, .. } = client;
    Client { last: *last, ..Client::new(id.clone(), *epoch, *home, identity.clone()) }
}

/// Keeps what was touched after a revision, and frees memory from a time when there was much more.
fn retain_after<K>(revision: Revision, touched: &mut Vec<(K, Revision)>) {
    touched.retain(|(_, at)| *at > revision);
    if touched.len() < touched.capacity() / 4 {
        touched.shrink_to(touched.len() * 2);
    }
}

fn distinct<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<K> {
    let mut keys: Vec<K> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tenure_core::testing::{Build, HOME, adopt, claim_spec, open, opening, restored, session_spec};
    use tenure_core::{
        AskedMode, Change, ClaimSpec, Command, Declaration, DeclaredClaim, DeclaredSession, Hello, ServerId,
    };

    use super::*;

    /// Opens many sessions, one event each, and records them as touched.
    fn opened(many: u64) -> (RowsBehind, Table) {
        let (mut rows, mut table) = (RowsBehind::default(), Table::default());
        for number in 1..=many {
            let event = Event::SessionOpened(Arc::new(session_spec(number.to_string())));
            let recorded = Recorded { revision: Revision(number), event };
            table.apply(&recorded);
            rows.touched(&[recorded], &table);
        }
        (rows, table)
    }

    /// Applies events as a server that follows the log, and records what they touch.
    fn follow(rows: &mut RowsBehind, table: &mut Table, events: &[Recorded]) {
        for recorded in events {
            if let Some(client) = declarer(recorded, table) {
                rows.declared(client, recorded.revision);
            }
            table.apply(recorded);
        }
        rows.touched(events, table);
    }

    /// The events of commands on this table, none of which is rejected.
    fn decided(table: &Table, commands: Vec<Command>) -> Vec<Recorded> {
        let (mut table, mut events) = (restored(table), Vec::new());
        for command in commands {
            table.decide(command, &mut events).expect("it is accepted");
        }
        events
    }

    fn connect(epoch: u64, home: ServerId, known: std::ops::Range<u64>) -> Command {
        let (client, received, declared) = ("c".into(), Revision(0), Vec::new());
        Command::Connect(Hello { client, epoch, home, received, identity: None, known: known.collect(), declared })
    }

    fn change(changes: Vec<Change>) -> Command {
        Command::Change { client: "c".into(), epoch: 1, home: HOME, connected: Revision(0), changes }
    }

    fn end(epoch: u64) -> Command {
        Command::EndClient { client: "c".into(), epoch, home: HOME }
    }

    fn declare(session: u64) -> Change {
        let opening =
            Some(DeclaredSession { id: session.to_string().into(), disconnect_grace: None, opening: opening() });
        Change::Declare(Declaration { session, opening, claims: Vec::new(), memberships: Vec::new() })
    }

    fn claim(number: u64) -> DeclaredClaim {
        let ClaimSpec { names, metadata, priority, .. } = claim_spec("s", 1, number.to_string());
        let min_hold = Duration::ZERO;
        DeclaredClaim { number, names, mode: AskedMode::Exclusive, queue: true, priority, metadata, min_hold }
    }

    /// A client with these numbers of sessions, all written.
    fn declared(sessions: std::ops::Range<u64>) -> (RowsBehind, Table) {
        let (mut rows, mut table) = (RowsBehind::default(), Table::default());
        let changes = sessions.map(declare).collect();
        let events = decided(&table, vec![connect(1, HOME, 0..0), change(changes)]);
        follow(&mut rows, &mut table, &events);
        let changes = rows.changes(&table);
        assert!(changes.clients.iter().map(|client| client.last).eq([table.client("c").expect("connected").last]));
        assert_eq!(changes.sessions.len(), events.len() - 1);
        rows.saved(table.revision());
        (rows, table)
    }

    #[test]
    fn client_that_connects_again_is_one_row() {
        let (mut rows, mut table) = declared(1..1_000);
        let events = decided(&table, vec![connect(2, ServerId(9), 1..1_000)]);
        follow(&mut rows, &mut table, &events);
        let changes = rows.changes(&table);
        let (from, to) = (Revision(1_000), Revision(1_001));
        let clients = vec![Client { last: 999, ..Client::new("c".into(), 2, ServerId(9), None) }];
        assert_eq!(changes, RowChanges { from, to, clients, ..RowChanges::default() });
        rows.saved(table.revision());
        assert_eq!(rows.changes(&table).clients, []);
    }

    #[test]
    fn client_that_is_adopted_is_one_row() {
        let (mut rows, mut table) = declared(1..10);
        let events = decided(&table, vec![adopt(HOME, ServerId(9)), open("undeclared").at(ServerId(9))]);
        follow(&mut rows, &mut table, &events[..1]);
        let changes = rows.changes(&table);
        assert!(changes.clients.iter().map(|client| client.home).eq([ServerId(9)]) && changes.sessions.is_empty());
        follow(&mut rows, &mut table, &events[1..]);
        let ended = decided(&table, vec![connect(2, HOME, 0..0), end(2)]);
        follow(&mut rows, &mut table, &ended);
        let changes = rows.changes(&table);
        assert_eq!((changes.clients, changes.ended_clients), (Vec::new(), vec!["c".into()]));
    }

    #[test]
    fn number_of_a_claim_that_ends_with_its_session_is_written() {
        let (mut rows, mut table) = declared(1..2);
        let claimed =
            Change::Declare(Declaration { session: 1, opening: None, claims: vec![claim(2)], memberships: Vec::new() });
        let events = decided(&table, vec![change(vec![claimed, Change::Withdraw(1)])]);
        follow(&mut rows, &mut table, &events);
        assert!(rows.changes(&table).clients.iter().map(|client| client.last).eq([2]), "{events:?}");
    }

    #[test]
    fn changes_that_are_not_written_are_kept() {
        let (mut rows, table) = opened(1_000);
        rows.saved(Revision(990));
        let changes = rows.changes(&table);
        assert_eq!((changes.from, changes.to), (Revision(990), Revision(1_000)));
        assert!(changes.sessions.iter().map(|session| session.opened.0).eq(991..=1_000));
    }

    #[test]
    fn written_changes_are_dropped() {
        let (mut rows, table) = opened(1_000);
        rows.saved(Revision(1_000));
        assert!(!rows.behind(&table));
        assert_eq!(rows.sessions.capacity(), 0);
    }
}
