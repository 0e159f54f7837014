//! The state of a namespace that only this server has: the home's timers, the callers of Acquire, and the connected
//! clients.
//!
//! Committed events are applied to it in the order of the log. When the table is reloaded, events were skipped: what the
//! table shows is then applied at once, and the rest when the table is at the log's head.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{Claim, ClaimState, EndReason, Event, Home, Recorded, Revision, ServerId, Table};

use super::clients::Clients;
use super::run::Settings;
use super::wait_times::WaitTimes;
use super::waiters::{PendingGrant, Registration, WaiterRegistry};
use crate::cluster::lease::Lease;
use crate::cluster::membership::Membership;

pub(crate) struct LocalState {
    pub(crate) home: Home,
    lease: Arc<Lease>,
    membership: Arc<Membership>,
    pub(super) waiters: WaiterRegistry,
    pub(super) clients: Clients,
    wait_times: WaitTimes,
    /// The table was reloaded, and may not be at the log's head yet: claims that wait in it may have been granted and
    /// returned.
    is_behind: bool,
}

/// The local state of one namespace, shared by its sequencer, its callers and its streams. Never locked across an await.
#[derive(Clone)]
pub(crate) struct SharedLocalState(Arc<Mutex<LocalState>>);

impl SharedLocalState {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self(Arc::new(Mutex::new(LocalState {
            home: Home::new(settings.me, settings.reattach),
            lease: settings.lease.clone(),
            membership: settings.membership.clone(),
            waiters: WaiterRegistry::default(),
            clients: Clients::default(),
            wait_times: WaitTimes::new(settings.counts.waits.clone()),
            is_behind: false,
        })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, LocalState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers the callers of a batch and applies its events, if it has any, under one lock. `table` is the state
    /// after the events. Callers are registered before the events are applied, since a later command of the batch may
    /// have granted or ended what an earlier one requested.
    pub(super) fn commit(
        &self,
        registrations: impl Iterator<Item = Option<Registration>>,
        events: &[Recorded],
        table: &Table,
    ) -> Vec<Option<PendingGrant>> {
        // Dropped after the lock, which dropping a pending grant takes.
        let mut pending = Vec::new();
        let mut local = self.lock();
        pending.extend(registrations.map(|registration| local.register(self, registration?)));
        local.observe(events, table);
        // A server that was just adopted leaves waits without callers; these waits have callers.
        for grant in pending.iter().flatten() {
            local.home.register_caller(grant.claim());
        }
        pending
    }

    /// Adds to decided events how late the renewals of the holds that end in them were.
    pub(super) fn record_pauses(&self, decided: &mut [Recorded]) {
        let ends_hold = |recorded: &Recorded| match recorded.event {
            Event::ClaimEnded { token, .. } => token.is_some(),
            Event::ClaimLingering { .. } | Event::ClaimTransferred { .. } => true,
            _ => false,
        };
        if decided.iter().any(ends_hold) {
            let local = self.lock();
            local.home.record_pauses(decided, local.lease.standing_tick());
        }
    }
}

impl LocalState {
    /// Registers a caller for the claim of its Acquire, until the registration is dropped. `None`: the claim is held,
    /// and its client knows, since an earlier reply has returned the grant. `shared` is this state.
    fn register(&mut self, shared: &SharedLocalState, registration: Registration) -> Option<PendingGrant> {
        match registration {
            Registration::Waiting(claim) => {
                self.home.register_caller(claim);
                Some(self.waiters.register_waiting(shared.clone(), claim))
            }
            Registration::Granted { claim, is_new } => {
                let is_pending = is_new || self.home.is_abandoned(claim) || self.waiters.contains(claim);
                self.home.register_caller(claim);
                is_pending.then(|| self.waiters.register_granted(shared.clone(), claim))
            }
        }
    }

    /// Applies committed events; `table` shows the state after them.
    fn observe(&mut self, events: &[Recorded], table: &Table) {
        let now = self.lease.standing_tick();
        self.home.observe_lease(self.membership.longest_lease());
        for recorded in events {
            self.notify(recorded);
            self.clients.observe(recorded, table, &self.home);
            self.wait_times.observe(recorded, &self.home);
            // Where claims are awaited is compared at the log's head: an event before it may be obsolete.
            if !self.is_behind || !matches!(recorded.event, Event::ClaimAwaited { .. }) {
                self.home.observe(recorded, table, now);
            }
            // Its stream has ended while the command was in progress. Which side ended it is not known, so that no grace
            // is counted.
            if let Event::ClientConnected { client, epoch, home, .. } = &recorded.event
                && *home == self.home.me()
                && !self.clients.has(client, *epoch)
            {
                self.home.client_disconnected(client, *epoch, recorded.revision, false, now);
            }
        }
        let adopts =
            |recorded: &Recorded| matches!(recorded.event, Event::ServerAdopted { by, .. } if by == self.home.me());
        if !self.is_behind && events.iter().any(adopts) {
            self.abandon_waits_without_caller(table);
        }
    }

    /// Lets claims that are awaited here without a caller be cancelled soon, unless a caller requests them again: their
    /// calls were at a server that died.
    fn abandon_waits_without_caller(&mut self, table: &Table) {
        let me = Some(self.home.me());
        for claim in
            table.claims().filter(|claim| claim.state == ClaimState::Waiting && claim.spec.waiting_server == me)
        {
            self.abandon_without_caller(claim.id);
        }
    }

    /// If no caller is registered for a claim that is awaited here, another server has decided that, and the call may
    /// be gone.
    fn abandon_without_caller(&mut self, claim: Revision) {
        if !self.waiters.contains(claim) && !self.home.is_abandoned(claim) {
            self.mark_abandoned(claim);
        }
    }

    /// Settles waits by a table that was reloaded. Claims that it does not have yet are settled at the log's head.
    pub(crate) fn reconcile(&mut self, table: &Table) {
        self.home.observe_lease(self.membership.longest_lease());
        self.home.rebuild(table, self.lease.standing_tick());
        self.home.reconcile(table);
        self.wait_times.reconcile(table);
        for claim in self.waiters.waiting_claims() {
            match table.claim(claim) {
                Some(found) if found.state == ClaimState::Waiting => self.home.register_caller(claim),
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
        self.home.reconcile(table);
        for claim in self.waiters.waiting_claims().into_iter().filter(|claim| table.claim(*claim).is_none()) {
            self.waiters.end(claim, EndReason::Disconnected);
        }
        let me = self.home.me();
        let is_here = |claim: &Claim| claim.spec.waiting_server.is_none_or(|at| at == me);
        self.waiters.retain_grants(|claim| table.claim(claim).is_some_and(is_here));
        self.abandon_waits_without_caller(table);
    }

    /// Records at which server a claim is awaited from now on.
    fn awaited(&mut self, claim: Revision, at: Option<ServerId>) {
        if at == Some(self.home.me()) && !self.is_behind {
            self.abandon_without_caller(claim);
        }
    }

    /// Notifies the callers that a committed event concerns.
    fn notify(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::ClaimQueued(spec) => self.awaited(recorded.revision, spec.waiting_server),
            Event::ClaimGranted { claim, spec } => {
                let state = ClaimState::Held { token: recorded.revision };
                self.grant(&Claim::new(*claim, spec.clone(), state));
                self.awaited(*claim, spec.waiting_server);
            }
            Event::ClaimTransferred { claim, spec, .. } => {
                let state = ClaimState::Held { token: recorded.revision };
                self.grant(&Claim::new(*claim, spec.clone(), state));
                self.awaited(*claim, spec.waiting_server);
            }
            Event::ClaimEnded { claim, reason, .. } => self.waiters.end(*claim, *reason),
            Event::ClaimAwaited { claim, at } if *at == Some(self.home.me()) => self.awaited(*claim, *at),
            // A later call is responsible for it, or a call that has just returned the grant. Before the log's head this
            // may be obsolete.
            Event::ClaimAwaited { claim, .. } if !self.is_behind => self.waiters.acknowledge(*claim),
            Event::ClaimUpdated { claim, .. } => self.waiters.acknowledge(*claim),
            _ => {}
        }
    }

    /// Notifies the callers that wait for the grant; if none is left, the claim is left to the timers.
    fn grant(&mut self, claim: &Claim) {
        if !self.waiters.grant(claim) {
            self.mark_abandoned(claim.id);
        }
    }

    /// Closes all streams: the clients connect again.
    pub(super) fn close_streams(&mut self) {
        self.clients.close_all();
    }

    /// Leaves a claim to the timers: it is cancelled after a while, unless a caller requests it again.
    pub(super) fn mark_abandoned(&mut self, claim: Revision) {
        self.home.mark_abandoned(claim, self.lease.standing_tick());
    }
}
