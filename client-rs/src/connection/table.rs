//! What the handles of a client share: its protocol, and whom its events concern.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use tenure_proto::v1;
use tokio::sync::watch;

use crate::clock::Moment;
use crate::error::{LostReason, Refusal};
use crate::handoff::TransferRequest;
use crate::latest::Latest;
use crate::presence::{SessionPresence, SessionState};
use crate::progress::Progress;
use crate::protocol::{Declared, End, Event, Protocol, Request, Validity};
use crate::trace;

/// How often it is checked, while there is no progress, whether there is again.
const LOOK_FOR_PROGRESS: Duration = Duration::from_millis(20);

/// The protocol, and a slot for each number in it.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) protocol: Protocol,
    slots: HashMap<u64, Slot>,
    /// The progress that the renewal of a session depends on: all of it.
    needs: BTreeMap<u64, Vec<Need>>,
    is_left: bool,
    is_welcomed: bool,
    /// Until when everything is to be withdrawn, if the client is being closed.
    closing: Option<Moment>,
}

/// The receivers of the events of one number.
#[derive(Debug)]
struct Slot {
    latest: watch::Sender<Latest>,
    session: u64,
    /// That of its session.
    presence: Arc<SessionPresence>,
    /// What its session's renewal depends on, once it is open or held.
    progress: Option<Progress>,
}

/// Progress that is needed.
#[derive(Debug)]
struct Need {
    /// The session or claim that needs it.
    number: u64,
    /// Reports from before do not count.
    since: Moment,
    progress: Progress,
}

/// A new number, and its state from now on.
pub(crate) type Declaration = (u64, watch::Receiver<Latest>);

/// What the driver is to do.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Call [`Table::due`] again then, at the latest.
    pub(crate) next: Option<Moment>,
    pub(crate) has_outgoing: bool,
    /// Connect to another server.
    pub(crate) leave: bool,
    /// Earlier streams are of no further use.
    pub(crate) is_welcomed: bool,
    /// The client is closed.
    pub(crate) is_closed: bool,
}

impl Table {
    pub(super) fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            slots: HashMap::default(),
            needs: BTreeMap::new(),
            is_left: false,
            is_welcomed: false,
            closing: None,
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Opens a session, with a claim or a membership in it. The progress is what each of them needs.
    pub(super) fn open(
        &mut self,
        session: (v1::DeclaredSession, Option<Progress>),
        with: Option<(Declared, Option<Progress>)>,
        presence: &Arc<SessionPresence>,
        now: Moment,
    ) -> (Declaration, Option<Declaration>) {
        let (declared, progress) = with.map_or((None, None), |(declared, progress)| (Some(declared), Some(progress)));
        let number =
            self.protocol.handle_request(Request::Open { session: session.0, with: declared }, trace::current(), now);
        let opened = self.slot(number, number, presence, session.1);
        (opened, progress.map(|progress| self.slot(number + 1, number, presence, progress)))
    }

    /// Makes a claim or a membership in a session.
    pub(super) fn declare(
        &mut self,
        session: u64,
        (declared, progress): (Declared, Option<Progress>),
        presence: &Arc<SessionPresence>,
        now: Moment,
    ) -> Declaration {
        let number = self.protocol.handle_request(Request::Declare { session, declared }, trace::current(), now);
        self.slot(number, session, presence, progress)
    }

    fn slot(
        &mut self,
        number: u64,
        session: u64,
        presence: &Arc<SessionPresence>,
        progress: Option<Progress>,
    ) -> Declaration {
        let (latest, receiver) = watch::channel(Latest::Declared);
        self.slots.insert(number, Slot { latest, session, presence: Arc::clone(presence), progress });
        (number, receiver)
    }

    /// Withdraws what has this number.
    pub(crate) fn withdraw(&mut self, number: u64, now: Moment) {
        self.need_no_more(number);
        self.protocol.handle_request(Request::Withdraw(number), trace::current(), now);
    }

    /// Withdraws everything, and declares nothing any more.
    pub(crate) fn close(&mut self, until: Moment, now: Moment) {
        self.closing = Some(self.closing.map_or(until, |before| before.min(until)));
        let sessions: Vec<u64> =
            self.slots.iter().filter(|(number, slot)| **number == slot.session).map(|(number, _)| *number).collect();
        for number in sessions {
            self.slots[&number].presence.end(LostReason::Closed);
            self.withdraw(number, now);
        }
    }

    /// Ends what no server has confirmed, because none authenticates this client.
    pub(crate) fn reject_declared(&mut self, refusal: &Refusal, now: Moment) {
        let (reason, message) = ("UNAUTHENTICATED".to_owned(), refusal.message.clone());
        let metadata = refusal.metadata.clone();
        let refusal = Box::new(v1::Refusal { reason, message, metadata, ..v1::Refusal::default() });
        let is_declared = |slot: &Slot| matches!(*slot.latest.borrow(), Latest::Declared);
        let declared = self.slots.iter().filter(|(_, slot)| is_declared(slot)).map(|(number, _)| *number);
        for number in declared.collect::<Vec<_>>() {
            self.end(number, End::Rejected(refusal.clone()));
            self.withdraw(number, now);
        }
    }

    /// Does what is due.
    pub(crate) fn due(&mut self, now: Moment) -> Due {
        // First, because a keep-alive that is due must not renew a session without progress.
        let is_stalled = self.check_progress(now);
        self.protocol.handle_timeout(now);
        self.dispatch(now);
        let look = is_stalled.then(|| now.after(LOOK_FOR_PROGRESS));
        Due {
            next: self.protocol.poll_timeout().into_iter().chain(self.closing).chain(look).min(),
            has_outgoing: self.protocol.has_outgoing(),
            leave: std::mem::take(&mut self.is_left),
            is_welcomed: std::mem::take(&mut self.is_welcomed),
            is_closed: self.closing.is_some_and(|until| until <= now || self.protocol.is_empty()),
        }
    }

    /// Pauses the sessions without progress, and resumes the others. Returns whether there are any without.
    pub(crate) fn check_progress(&mut self, now: Moment) -> bool {
        let mut any = false;
        for (session, needs) in &self.needs {
            let Some(slot) = self.slots.get(session) else { continue };
            let is_stalled = needs.iter().any(|need| need.progress.is_stalled_at(need.since, now));
            any |= is_stalled;
            if slot.presence.set_stalled(is_stalled) {
                tracing::info!(session, is_stalled, "the progress of the program has changed");
                let request = if is_stalled { Request::Pause(*session) } else { Request::Resume(*session) };
                self.protocol.handle_request(request, String::new(), now);
            }
        }
        any
    }

    /// Passes the events of the protocol on.
    pub(crate) fn dispatch(&mut self, now: Moment) {
        while let Some(event) = self.protocol.poll_event() {
            match event {
                Event::Welcomed => self.is_welcomed = true,
                Event::Leave => self.is_left = true,
                Event::Open { session, validity } => {
                    self.need(session, now);
                    self.renewed(session, validity, now);
                    self.publish(session, Latest::Open);
                }
                Event::Renewed { session, validity } => self.renewed(session, validity, now),
                Event::AtRisk { session } => {
                    if let Some(SessionState::AtRisk) = self.slots.get(&session).map(|slot| slot.presence.check(now)) {
                        tracing::warn!(session, "the session is at risk: a renewal is overdue");
                    }
                }
                Event::Waiting { claim, holder } => self.publish(claim, Latest::Waiting(holder.into())),
                Event::Held { claim, token, transfer } => {
                    self.need(claim, now);
                    let request = transfer.map(|transfer| TransferRequest::received(transfer, now));
                    self.publish(claim, Latest::Held { token, request });
                }
                Event::Joined { membership, member } => self.publish(membership, Latest::Joined(member)),
                Event::Ended { number, end } => self.end(number, end),
            }
        }
    }

    fn renewed(&mut self, session: u64, validity: Validity, now: Moment) {
        // The handles may have seen its end earlier.
        if self.slots.get(&session).is_some_and(|slot| slot.presence.renewed(validity, now)) {
            self.withdraw(session, now);
        }
    }

    fn publish(&mut self, number: u64, latest: Latest) {
        if let Some(slot) = self.slots.get(&number) {
            slot.latest.send_replace(latest);
        }
    }

    fn end(&mut self, number: u64, end: End) {
        self.need_no_more(number);
        let Some(slot) = self.slots.remove(&number) else { return };
        if slot.session == number {
            slot.presence.end(end.lost_reason());
            self.needs.remove(&number);
        }
        slot.latest.send_replace(Latest::Ended(end));
    }

    /// From now on the renewal of the session depends on this one's progress, if it has any.
    fn need(&mut self, number: u64, now: Moment) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        if let Some(progress) = slot.progress.take() {
            self.needs.entry(slot.session).or_default().push(Need { number, since: now, progress });
        }
    }

    fn need_no_more(&mut self, number: u64) {
        if let Some(needs) = self.slots.get(&number).and_then(|slot| self.needs.get_mut(&slot.session)) {
            needs.retain(|need| need.number != number);
        }
    }
}
