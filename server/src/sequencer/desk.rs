//! The desk: the callers and streams of this server that wait for changes of a claim or a session, and the home's
//! timers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{
    Claim, ClaimState, EndReason, Event, Eviction, Home, Recorded, RenewError, Revision, ServerId, StreamId, Table,
    Text, Transfer,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::attendance::{Attendance, Callers};
use super::run::Settings;
use super::waits::Waits;
use crate::cluster::lease::Lease;
use crate::cluster::membership::Membership;

/// A message to a client's stream that was not requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A session that is attached to the stream has ended.
    SessionEnded {
        /// The session.
        session: Text,
        /// Why it ended.
        reason: EndReason,
    },
    /// A hold of such a session has ended.
    HoldEnded {
        /// The claim before its end.
        claim: Claim,
        /// Why it ended.
        reason: EndReason,
        /// The eviction, if that is the reason.
        eviction: Option<Eviction>,
    },
    /// The holder in such a session is requested to transfer its claim.
    TransferRequested {
        /// The claim, with the transfer.
        claim: Claim,
        /// The operator who requests it, if one does.
        by: Option<Eviction>,
    },
    /// Such a session has moved to another stream.
    SessionMoved {
        /// The session.
        session: Text,
    },
}

/// Which side ended a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The client: it ended the stream, or its connection broke. The disconnect grace of its sessions begins.
    Disconnect,
    /// This server: it drains, starts over, or aborts the stream. Sessions are not affected.
    Closed,
}

/// Where a stream receives notices. A stream that is full does not read them, and is closed.
#[derive(Clone)]
pub struct Notices {
    sender: mpsc::Sender<Box<Notice>>,
    closed: CancellationToken,
}

impl Notices {
    /// A buffer for `room` notices, and its receiver.
    #[must_use]
    pub fn new(room: usize) -> (Self, mpsc::Receiver<Box<Notice>>) {
        let (sender, told) = mpsc::channel(room);
        (Self { sender, closed: CancellationToken::new() }, told)
    }

    /// Cancelled when a namespace has closed the stream.
    #[must_use]
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }
}

pub(crate) struct Desk {
    pub(crate) home: Home,
    lease: Arc<Lease>,
    membership: Arc<Membership>,
    pub(super) callers: Callers,
    waits: Waits,
    /// The table was reloaded, and may not be at the log's head yet: claims that wait in it may have been granted and
    /// answered.
    is_behind: bool,
    /// The open streams; `None` for those that were closed here, but have not ended yet.
    streams: HashMap<StreamId, Option<Notices>>,
}

/// The desk of one namespace, shared by its sequencer, its callers and its streams. Never locked across an await.
#[derive(Clone)]
pub(crate) struct SharedDesk(Arc<Mutex<Desk>>);

impl SharedDesk {
    pub(crate) fn new(settings: &Settings) -> Self {
        let home = Home::new(settings.me, settings.reattach);
        let (lease, membership) = (settings.lease.clone(), settings.membership.clone());
        let waits = Waits::new(settings.counts.locks.clone());
        let desk = Desk {
            home,
            lease,
            membership,
            callers: Callers::default(),
            waits,
            is_behind: false,
            streams: HashMap::new(),
        };
        Self(Arc::new(Mutex::new(desk)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Desk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that callers wait for these claims.
    pub(crate) fn attend(&self, claims: impl Iterator<Item = Revision>) {
        let mut claims = claims.peekable();
        if claims.peek().is_some() {
            let mut desk = self.lock();
            claims.for_each(|claim| desk.home.attend(claim));
        }
    }
}

impl Desk {
    /// Registers a caller for a waiting claim, until the attendance is dropped. `shared` is this desk.
    pub(crate) fn await_grant(&mut self, shared: &SharedDesk, claim: Revision) -> Attendance {
        self.home.attend(claim);
        self.callers.await_grant(shared.clone(), claim)
    }

    /// Registers a caller that is being notified of a held claim, if it has been granted just now, or if no caller has
    /// been notified of the grant so far. `shared` is this desk.
    pub(crate) fn receive(&mut self, shared: &SharedDesk, claim: Revision, just_now: bool) -> Option<Attendance> {
        let unknown = just_now || self.home.is_unattended(claim) || self.callers.attend_to(claim);
        self.home.attend(claim);
        unknown.then(|| self.callers.receive(shared.clone(), claim))
    }

    /// Registers where a stream receives notices.
    pub(crate) fn open_stream(&mut self, stream: StreamId, notices: Notices) {
        self.streams.insert(stream, Some(notices));
    }

    pub(crate) fn has_stream(&self, stream: StreamId) -> bool {
        self.streams.get(&stream).is_some_and(Option::is_some)
    }

    pub(crate) fn stream_count(&self) -> usize {
        self.streams.values().flatten().count()
    }

    pub(crate) fn close_stream(&mut self, stream: StreamId, end: StreamEnd) {
        self.streams.remove(&stream);
        if end == StreamEnd::Disconnect {
            self.home.disconnected(stream, self.lease.standing_tick());
        }
    }

    pub(crate) fn attach(&mut self, session: &Text, stream: StreamId) -> Result<(), RenewError> {
        let now = self.lease.standing_tick();
        if !self.streams.contains_key(&stream) {
            // The stream ended while the command was in progress.
            self.home.attached_in_vain(session, now);
            return Err(RenewError::NotAttached);
        }
        let before = self.home.attach(session, stream, now)?;
        self.tell(before, Notice::SessionMoved { session: session.clone() });
        Ok(())
    }

    /// Closes every stream: the clients reconnect and check what they still hold.
    pub(crate) fn close_all_streams(&mut self) {
        for notices in self.streams.values_mut().filter_map(Option::take) {
            notices.closed.cancel();
        }
    }

    pub(crate) fn tell(&mut self, stream: Option<StreamId>, notice: Notice) {
        let Some(notices) = stream.and_then(|stream| self.streams.get_mut(&stream)) else { return };
        if notices.as_ref().is_some_and(|open| open.sender.try_send(Box::new(notice)).is_err())
            && let Some(closed) = notices.take()
        {
            closed.closed.cancel();
        }
    }

    /// Adds to decided events how late the renewals of the holds that end in them were.
    pub(crate) fn tell_pauses(&self, decided: &mut [Recorded]) {
        self.home.tell_pauses(decided, self.lease.standing_tick());
    }

    /// Applies committed events; `table` shows the state after them.
    pub(crate) fn observe(&mut self, events: &[Recorded], table: &Table) {
        let now = self.lease.standing_tick();
        self.home.heed_lease(self.membership.longest_lease());
        for recorded in events {
            self.notify(recorded, table);
            self.waits.observe(recorded, &self.home);
            // Where claims are awaited is compared at the log's head: an event before it may be obsolete.
            if !self.is_behind || !matches!(recorded.event, Event::ClaimAwaited { .. }) {
                self.home.observe(recorded, table, now);
            }
        }
        let adopts =
            |recorded: &Recorded| matches!(recorded.event, Event::ServerAdopted { by, .. } if by == self.home.me());
        if !self.is_behind && events.iter().any(adopts) {
            self.leave_unattended(table);
        }
    }

    /// Lets claims that are awaited here without a caller be cancelled soon, unless a caller requests them again: their
    /// calls were at a server that died.
    fn leave_unattended(&mut self, table: &Table) {
        let me = Some(self.home.me());
        for claim in table.claims().filter(|claim| claim.state == ClaimState::Waiting && claim.spec.awaited_at == me) {
            if !self.callers.attend_to(claim.id) && !self.home.is_unattended(claim.id) {
                self.leave(claim.id);
            }
        }
    }

    /// Settles waits by a table that was reloaded. Claims that it does not have yet are settled at the log's head.
    pub(crate) fn reconcile(&mut self, table: &Table) {
        self.home.heed_lease(self.membership.longest_lease());
        self.home.rebuild(table, self.lease.standing_tick());
        self.home.compare(table);
        self.waits.reconcile(table);
        for claim in self.callers.waited_for() {
            match table.claim(claim) {
                Some(found) if found.state == ClaimState::Waiting => self.home.attend(claim),
                Some(found) => self.grant(found),
                None => {}
            }
        }
        self.is_behind = true;
    }

    /// Settles the remaining waits, with the table at the log's head.
    pub(crate) fn caught_up(&mut self, table: &Table) {
        if !std::mem::take(&mut self.is_behind) {
            return;
        }
        self.home.compare(table);
        for claim in self.callers.waited_for().into_iter().filter(|claim| table.claim(*claim).is_none()) {
            self.callers.ended(claim, EndReason::Disconnected);
        }
        let me = self.home.me();
        let is_here = |claim: &Claim| claim.spec.awaited_at.is_none_or(|at| at == me);
        self.callers.retain_grants(|claim| table.claim(claim).is_some_and(is_here));
        self.leave_unattended(table);
    }

    /// Records that a claim is awaited here from now on. If no call is here, another server has decided that, and the
    /// call may be gone.
    fn awaited_at(&mut self, claim: Revision, at: Option<ServerId>) {
        let is_left = at == Some(self.home.me()) && !self.callers.attend_to(claim) && !self.home.is_unattended(claim);
        if is_left && !self.is_behind {
            self.leave(claim);
        }
    }

    fn notify(&mut self, recorded: &Recorded, table: &Table) {
        match &recorded.event {
            Event::ClaimQueued(spec) => self.awaited_at(recorded.revision, spec.awaited_at),
            Event::ClaimGranted { claim, spec } => {
                let state = ClaimState::Held { token: recorded.revision };
                self.grant(&Claim::new(*claim, spec.clone(), state));
                self.awaited_at(*claim, spec.awaited_at);
            }
            Event::ClaimTransferred { from, from_token, from_spec, claim, spec, .. } => {
                let state = ClaimState::Held { token: recorded.revision };
                self.grant(&Claim::new(*claim, spec.clone(), state));
                self.awaited_at(*claim, spec.awaited_at);
                let ended = Claim::new(*from, from_spec.clone(), ClaimState::Held { token: *from_token });
                self.tell_hold_ended(ended, EndReason::Transferred, None);
            }
            Event::TransferStarted { claim, token, spec, to, drain, by, .. } => {
                let transfer = Some(Box::new(Transfer { to: *to, started: recorded.revision, drain: *drain }));
                let claim = Claim { transfer, ..Claim::new(*claim, spec.clone(), ClaimState::Held { token: *token }) };
                let stream = self.home.stream_of(&spec.session);
                self.tell(stream, Notice::TransferRequested { claim, by: by.clone() });
            }
            Event::ClaimEnded { claim, token, spec, reason, eviction, .. } => {
                self.callers.ended(*claim, *reason);
                if let Some(token) = *token
                    && *reason != EndReason::Released
                {
                    let claim = Claim::new(*claim, spec.clone(), ClaimState::Held { token });
                    self.tell_hold_ended(claim, *reason, eviction.clone());
                }
            }
            Event::SessionAttached { session, home, attachment, .. } if *home != self.home.me() || *attachment > 0 => {
                if *home != self.home.me() {
                    self.tell(self.home.stream_of(session), Notice::SessionMoved { session: session.clone() });
                }
                // The reply reports what the session was granted here, whichever stream was to return the grant.
                let claims = table.session(session).into_iter().flat_map(|session| session.claims.iter());
                let claims = claims.filter_map(|claim| table.claim(*claim));
                let by_stream = |claim: &&Claim| claim.id < recorded.revision && claim.spec.awaited_at.is_none();
                claims.filter(by_stream).for_each(|claim| self.callers.received(claim.id));
            }
            Event::ClaimAwaited { claim, at } if *at == Some(self.home.me()) => self.awaited_at(*claim, *at),
            // A later call answers for it, or one that has just returned the grant. Before the log's head this may be
            // obsolete.
            Event::ClaimAwaited { claim, .. } if !self.is_behind => self.callers.received(*claim),
            Event::ClaimUpdated { claim, .. } => self.callers.received(*claim),
            Event::SessionEnded { session, reason, .. } => {
                let stream = self.home.stream_of(session);
                self.tell(stream, Notice::SessionEnded { session: session.clone(), reason: *reason });
            }
            _ => {}
        }
    }

    fn tell_hold_ended(&mut self, claim: Claim, reason: EndReason, eviction: Option<Eviction>) {
        let stream = self.home.stream_of(&claim.spec.session);
        self.tell(stream, Notice::HoldEnded { claim, reason, eviction });
    }

    /// Notifies the callers that wait for the grant; if none is left, the claim is left to the timers.
    fn grant(&mut self, claim: &Claim) {
        if !self.callers.granted(claim) {
            self.leave(claim.id);
        }
    }

    /// Removes a caller that no longer waits for a claim; unless it is `satisfied`, another caller must wait, or
    /// reconnect.
    pub(super) fn depart(&mut self, claim: Revision, number: u64, satisfied: bool) {
        if self.callers.depart(claim, number) && !satisfied {
            self.leave(claim);
        }
    }

    /// Records that a caller has handed over a grant, or failed to.
    pub(super) fn received(&mut self, claim: Revision, satisfied: bool) {
        if satisfied {
            self.callers.received(claim);
        } else if self.callers.failed_to_receive(claim) {
            self.leave(claim);
        }
    }

    fn leave(&mut self, claim: Revision) {
        self.home.leave(claim, self.lease.standing_tick());
    }
}
