//! Connected clients: where the states of what they have declared are delivered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::{
    Absence, Change, Claim, Command, Declaration, EndReason, Event, Eviction, GroupChange, Home, Item, Names, Outcome,
    Recorded, Rejection, Revision, Table, Text,
};
use tokio::sync::Notify;

use super::batch::Decision;

/// Which side ended a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The client: it ended the stream, or its connection broke. The disconnect grace of its sessions begins.
    Disconnect,
    /// This server: it drains, starts over, or aborts the stream. Sessions are not affected.
    Closed,
}

/// The state of something that a client has declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemState {
    /// The session is open.
    Open {
        /// Its id.
        session: Text,
        /// The revision that opened it.
        opened: Revision,
        /// Its TTL.
        ttl: Duration,
        /// Its disconnect grace.
        disconnect_grace: Option<Duration>,
    },
    /// The claim is queued.
    Waiting {
        /// The claim that blocks it.
        holder: Option<Box<Claim>>,
    },
    /// The claim is held.
    Held {
        /// Its fencing token.
        token: Revision,
        /// The transfer that the holder is asked for.
        transfer: Option<Box<PendingTransfer>>,
    },
    /// The session is a member.
    Joined {
        /// The member's number.
        member: Revision,
    },
    /// It has ended.
    Ended {
        /// Why, if that is known.
        reason: Option<EndReason>,
        /// The eviction, if that is the reason.
        eviction: Option<Box<Eviction>>,
    },
}

/// A transfer that a holder is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingTransfer {
    /// How long the holder may keep the lock.
    pub drain: Duration,
    /// The operator who asks, if one does and that is known.
    pub by: Option<Eviction>,
}

impl ItemState {
    fn ended(reason: EndReason) -> Self {
        Self::Ended { reason: Some(reason), eviction: None }
    }

    /// The state of a claim in the table.
    fn of_claim(claim: &Claim, table: &Table) -> Self {
        let transfer = claim.transfer.as_ref();
        let transfer = transfer.map(|pending| Box::new(PendingTransfer { drain: pending.drain, by: None }));
        match claim.token() {
            Some(token) => Self::Held { token, transfer },
            None => Self::Waiting { holder: table.blocker_of(claim).cloned().map(Box::new) },
        }
    }

    /// The state of something that a client has.
    fn of_item(item: Item, table: &Table) -> Option<Self> {
        match item {
            Item::Session(id) => {
                let found = table.session(&id)?;
                let (ttl, disconnect_grace) = (found.spec.ttl, found.spec.disconnect_grace);
                Some(Self::Open { session: id, opened: found.opened, ttl, disconnect_grace })
            }
            Item::Claim(claim) => Some(Self::of_claim(table.claim(claim)?, table)),
            Item::Membership(of) => {
                let mut members = table.group(&of.group)?.members.values();
                let member = members.find(|member| member.spec.session == of.session)?;
                Some(Self::Joined { member: member.number })
            }
        }
    }
}

/// The states of at most `limit` things that a client has, after the one with this number.
#[must_use]
pub fn states_after(table: &Table, client: &str, number: u64, limit: usize) -> Vec<(u64, ItemState)> {
    let Some(client) = table.client(client) else { return Vec::new() };
    let items = client.items.after(number, limit).into_iter();
    items.filter_map(|(number, item)| Some((number, ItemState::of_item(item, table)?))).collect()
}

/// Those that wait among at most `limit` claims of a client, after the one with this number; and the number to continue
/// after, if there may be more.
#[must_use]
pub fn waits_after(table: &Table, client: &str, number: u64, limit: usize) -> (Vec<(u64, Names)>, Option<u64>) {
    let Some(client) = table.client(client) else { return (Vec::new(), None) };
    let claims: Vec<_> = client.items.claims_after(number, limit).collect();
    let waiting = |(number, claim): &(u64, Revision)| {
        let claim = table.claim(*claim).filter(|claim| claim.token().is_none())?;
        Some((*number, claim.spec.names.clone()))
    };
    (claims.iter().filter_map(waiting).collect(), claims.last().map(|(number, _)| *number))
}

/// Why a stream receives no more states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The client has connected with a later epoch.
    Superseded,
    /// States were missed, or history was lost: the client must connect again.
    Reloaded,
}

/// The states that one stream has yet to send. Only the latest one of each number is kept, so a client that does not
/// read takes no more memory than what it has declared.
#[derive(Clone, Default)]
pub struct Mailbox(Arc<Shared>);

#[derive(Default)]
struct Shared {
    content: Mutex<Content>,
    changed: Notify,
}

#[derive(Default)]
struct Content {
    states: BTreeMap<u64, (Revision, ItemState)>,
    closed: Option<Closed>,
}

impl Mailbox {
    /// Waits until there are states, or it is closed.
    pub async fn changed(&self) {
        loop {
            let changed = self.0.changed.notified();
            {
                let content = self.lock();
                if !content.states.is_empty() || content.closed.is_some() {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Takes at most `limit` states, each with its number and the revision of the event that caused it.
    #[must_use]
    pub fn take(&self, limit: usize) -> Vec<(u64, Revision, ItemState)> {
        let mut content = self.lock();
        let states = std::iter::from_fn(|| content.states.pop_first());
        states.take(limit).map(|(number, (revision, state))| (number, revision, state)).collect()
    }

    /// Whether there is a state for this number.
    #[must_use]
    pub fn has(&self, number: u64) -> bool {
        self.lock().states.contains_key(&number)
    }

    /// Why it is closed, if it is.
    #[must_use]
    pub fn closed(&self) -> Option<Closed> {
        self.lock().closed
    }

    fn put(&self, number: u64, revision: Revision, state: ItemState) {
        self.lock().states.insert(number, (revision, state));
        self.0.changed.notify_one();
    }

    fn close(&self, why: Closed) {
        self.lock().closed.get_or_insert(why);
        self.0.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.0.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The mailboxes of the connected clients, and of those that are about to connect, with their epochs.
#[derive(Default)]
pub(super) struct Clients(HashMap<Text, Vec<(u64, Mailbox)>>);

impl Clients {
    /// Adds the mailbox of a client that is about to connect.
    pub(super) fn add(&mut self, client: Text, epoch: u64, mailbox: Mailbox) {
        self.0.entry(client).or_default().push((epoch, mailbox));
    }

    /// Removes the mailbox of a stream that has ended.
    pub(super) fn remove(&mut self, client: &Text, epoch: u64, mailbox: &Mailbox) {
        let Some(boxes) = self.0.get_mut(client) else { return };
        boxes.retain(|(of, other)| *of != epoch || !Arc::ptr_eq(&other.0, &mailbox.0));
        if boxes.is_empty() {
            self.0.remove(client);
        }
    }

    /// Whether a stream of the client with this epoch is here.
    pub(super) fn has(&self, client: &Text, epoch: u64) -> bool {
        self.0.get(client).is_some_and(|boxes| boxes.iter().any(|(of, _)| *of == epoch))
    }

    /// The number of clients with a stream here.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Closes every stream: states may have been missed.
    pub(super) fn close_all(&self) {
        self.0.values().flatten().for_each(|(_, mailbox)| mailbox.close(Closed::Reloaded));
    }

    /// Delivers what a committed event means to the clients connected here. `table` is the state after its batch.
    pub(super) fn observe(&self, recorded: &Recorded, table: &Table, home: &Home) {
        let at = recorded.revision;
        let by_claim = |session: &Text, number: u64, state: ItemState| self.put(session, number, at, state, home);
        match &recorded.event {
            Event::ClientConnected { client, epoch, .. } => {
                let boxes = self.0.get(client).into_iter().flatten();
                boxes.filter(|(of, _)| of < epoch).for_each(|(_, mailbox)| mailbox.close(Closed::Superseded));
            }
            Event::HistoryLost { .. } => self.close_all(),
            Event::SessionOpened(spec) if spec.home == home.me() => {
                let (ttl, disconnect_grace) = (spec.ttl, spec.disconnect_grace);
                let state = ItemState::Open { session: spec.id.clone(), opened: at, ttl, disconnect_grace };
                if let Some(client) = spec.client.as_ref() {
                    self.put_to(client, spec.declared, at, state);
                }
            }
            Event::SessionEnded { session, reason, .. } => {
                let number = home.declared_by(session).map_or(0, |(_, number)| number);
                by_claim(session, number, ItemState::ended(*reason));
            }
            Event::ClaimQueued(spec) => {
                let claim = table.claim(at).filter(|_| spec.declared > 0);
                if let Some(claim) = claim {
                    by_claim(&spec.session, spec.declared, ItemState::of_claim(claim, table));
                }
            }
            Event::ClaimGranted { spec, .. } => {
                by_claim(&spec.session, spec.declared, ItemState::Held { token: at, transfer: None });
            }
            Event::ClaimTransferred { from, from_spec, claim, spec, .. } => {
                // Numbers of different clients may be equal.
                if from != claim && (&from_spec.session, from_spec.declared) != (&spec.session, spec.declared) {
                    by_claim(&from_spec.session, from_spec.declared, ItemState::ended(EndReason::Transferred));
                }
                by_claim(&spec.session, spec.declared, ItemState::Held { token: at, transfer: None });
            }
            Event::TransferStarted { token, spec, drain, by, .. } => {
                let transfer = Some(Box::new(PendingTransfer { drain: *drain, by: by.clone() }));
                by_claim(&spec.session, spec.declared, ItemState::Held { token: *token, transfer });
            }
            Event::TransferCancelled { token, spec, .. } => {
                by_claim(&spec.session, spec.declared, ItemState::Held { token: *token, transfer: None });
            }
            Event::ClaimLingering { spec, reason, .. } => {
                by_claim(&spec.session, spec.declared, ItemState::ended(*reason));
            }
            Event::ClaimEnded { spec, reason, eviction, .. } => {
                let eviction = eviction.clone().map(Box::new);
                by_claim(&spec.session, spec.declared, ItemState::Ended { reason: Some(*reason), eviction });
            }
            Event::Group { change: GroupChange::Joined { spec, .. }, .. } => {
                by_claim(&spec.session, spec.declared, ItemState::Joined { member: at });
            }
            Event::Group { change: GroupChange::Left { session, reason, declared, .. }, .. } => {
                by_claim(session, *declared, ItemState::ended(*reason));
            }
            _ => {}
        }
    }

    /// Delivers the state of something in a session at home here, unless it was not declared.
    fn put(&self, session: &Text, number: u64, at: Revision, state: ItemState, home: &Home) {
        if number > 0
            && let Some((client, _)) = home.declared_by(session)
        {
            self.put_to(client, number, at, state);
        }
    }

    fn put_to(&self, client: &Text, number: u64, at: Revision, state: ItemState) {
        // Streams of earlier epochs are closed, and later ones have yet to connect.
        let open = self.0.get(client).into_iter().flatten();
        for (_, mailbox) in open.filter(|(_, mailbox)| mailbox.closed().is_none()) {
            mailbox.put(number, at, state.clone());
        }
    }
}

/// What is declared again, by a Hello or by a change that is decided again, may have failed before, without a reply that
/// arrived. If a greater number has been used since then, it is absent without a reason: why it was not made is unknown,
/// and it may be declared anew.
pub(super) fn note_unknown_failures(command: &Command, is_decided_again: bool, decision: &mut Decision) {
    let Ok(Outcome::Reconciled { absent, .. }) = &mut decision.outcome else { return };
    let mut unexplained = absent.iter_mut().filter(|(_, absence)| *absence == Absence::Ended(None)).peekable();
    if unexplained.peek().is_none() {
        return;
    }
    let declared: Vec<&Declaration> = match command {
        Command::Connect(hello) => hello.declared.iter().collect(),
        Command::Change { changes, .. } if is_decided_again => changes.iter().filter_map(declaration).collect(),
        _ => return,
    };
    // A session that is not opened here was there before.
    let made = |one: &Declaration| one.numbers().skip(usize::from(one.opening.is_none())).collect::<Vec<_>>();
    let numbers: BTreeSet<u64> = declared.into_iter().flat_map(made).collect();
    for (_, absence) in unexplained.filter(|(number, _)| numbers.contains(number)) {
        *absence = Absence::Rejected(Rejection::OutcomeUnknown);
    }
}

fn declaration(change: &Change) -> Option<&Declaration> {
    match change {
        Change::Declare(declaration) => Some(declaration),
        Change::Withdraw(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn latest_state_of_each_number_is_delivered() {
        let mailbox = Mailbox::default();
        mailbox.put(2, Revision(5), ItemState::Waiting { holder: None });
        mailbox.put(1, Revision(6), ItemState::ended(EndReason::Expired));
        let held = ItemState::Held { token: Revision(7), transfer: None };
        mailbox.put(2, Revision(7), held.clone());
        mailbox.changed().await;
        assert_eq!(mailbox.take(1), [(1, Revision(6), ItemState::ended(EndReason::Expired))]);
        assert_eq!(mailbox.take(9), [(2, Revision(7), held)]);
        assert!(mailbox.take(9).is_empty());
        mailbox.close(Closed::Superseded);
        mailbox.close(Closed::Reloaded);
        mailbox.changed().await;
        assert_eq!(mailbox.closed(), Some(Closed::Superseded), "the first reason counts");
    }

    #[test]
    fn end_of_a_stream_removes_its_own_mailbox_only() {
        let (mut clients, client) = (Clients::default(), Text::from("client"));
        let (one, other) = (Mailbox::default(), Mailbox::default());
        clients.add(client.clone(), 1, one.clone());
        clients.add(client.clone(), 1, other.clone());
        clients.remove(&client, 1, &one);
        assert!(clients.has(&client, 1) && !clients.has(&client, 2));
        clients.remove(&client, 1, &other);
        assert_eq!(clients.len(), 0);
    }
}
