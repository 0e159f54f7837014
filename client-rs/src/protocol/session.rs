//! Open sessions: attached to the stream, renewed, lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::command::Kind;

use super::claim::ClaimEntry;
use super::progress::Needed;
use super::turns::Turns;
use super::{Engine, Timer, Verdict, What, backoff};
use crate::backoff::Backoff;
use crate::clock::Moment;
use crate::connection::ClaimKey;
use crate::convert::from_wire;
use crate::error::{LostReason, Reason, Refusal};
use crate::presence::{SessionPresence, SessionState};
use crate::session_id::SessionId;
use crate::validity::{renewal_period, silence_limit};

/// The most sessions that one keep-alive renews: the contract's bound.
const SESSIONS_PER_KEEP_ALIVE: usize = 1000;
/// Sessions whose renewal is due within this part of their period are renewed together with those that are due now.
const GATHER_DIVISOR: u32 = 4;
/// The client leaves a server after this number of failed attaches, if it serves no other session.
const ATTACH_TRIES: u32 = 3;

/// An open session.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) presence: Arc<SessionPresence>,
    pub(super) needed: Needed,
    stage: Stage,
    /// The number of requests to attach it, including its opening. By this number servers know the last one, in
    /// whatever order they receive them.
    attachment: u64,
    /// When the last renewal was sent.
    renewed: Moment,
    /// When the session was attached last.
    attached: Moment,
    /// When its phase is checked next: other timers for that have no effect.
    look: Moment,
    refusals: u32,
    backoff: Backoff,
    /// Boxed: the smallest tree has space for eleven.
    pub(super) claims: BTreeMap<ClaimKey, Box<ClaimEntry>>,
    pub(super) turns: Turns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Not attached to a stream, without an attach in progress.
    Detached,
    /// An attach was sent.
    Attaching,
    /// Attached to the stream: its answers count.
    Attached,
}

impl Live {
    pub(super) fn is_attached(&self) -> bool {
        self.stage == Stage::Attached
    }

    pub(super) fn detach(&mut self) {
        self.stage = Stage::Detached;
        self.claims.values_mut().for_each(|claim| claim.command = None);
    }
}

impl Engine {
    /// A session was opened on the current stream.
    pub(super) fn begin_session(
        &mut self,
        id: SessionId,
        presence: Arc<SessionPresence>,
        needed: Needed,
        attachment: u64,
        sent: Moment,
        now: Moment,
    ) {
        let live = Live {
            presence: Arc::clone(&presence),
            needed,
            stage: Stage::Attached,
            attachment,
            renewed: sent,
            attached: now,
            look: Moment(Duration::MAX),
            refusals: 0,
            backoff: backoff(),
            claims: BTreeMap::new(),
            turns: Turns::default(),
        };
        self.timers.set(sent.after(renewal_period(presence.window())), Timer::Renew(id.clone()));
        self.sessions.insert(id.clone(), live);
        self.look_at_change(&id, now);
    }

    pub(super) fn send_attach(&mut self, id: &SessionId, now: Moment) {
        let Some(live) = self.sessions.get_mut(id).filter(|live| live.stage == Stage::Detached) else { return };
        let limit = renewal_period(live.presence.window());
        if let Some(again) = live.held_back_until(id, now) {
            self.timers.set(again, Timer::Attach(id.clone()));
            return;
        }
        live.attachment = live.attachment.saturating_add(1);
        let (session_id, attachment) = (id.to_wire(), live.attachment);
        let request = v1::AttachSession {
            namespace: self.namespace.clone(),
            session_id,
            attachment,
            client_id: self.client_id.clone(),
        };
        let Some(command) = self.send(Kind::AttachSession(request), What::Attach(id.clone()), now) else { return };
        self.timers.set(now.after(limit), Timer::Silence(command));
        if let Some(live) = self.sessions.get_mut(id) {
            live.stage = Stage::Attaching;
        }
    }

    pub(super) fn attached(&mut self, id: &SessionId, answer: v1::AttachedSession, sent: Moment, now: Moment) {
        let Some(live) = self.sessions.get_mut(id) else { return };
        let session = answer.session.unwrap_or_default();
        let ttl = session.ttl.map_or_else(|| live.presence.ttl(), from_wire);
        live.presence.attached(ttl, session.disconnect_grace.map(from_wire), sent, now);
        live.stage = Stage::Attached;
        live.renewed = sent;
        live.attached = now;
        live.refusals = 0;
        live.backoff.reset();
        self.timers.set(sent.after(renewal_period(live.presence.window())), Timer::Renew(id.clone()));
        if let SessionState::Lost(_) = live.presence.check(now) {
            self.check_phase(id, now);
            return;
        }
        // A new grace may end it earlier.
        self.look_at_change(id, now);
        let held: Vec<u64> = session
            .claims
            .iter()
            .filter(|claim| claim.state() == v1::ClaimState::Held)
            .map(|claim| claim.token)
            .collect();
        self.compare_holds(id, &held, answer.revision, now);
        self.find_transfers(id, &session.claims, now);
        self.give_strays_back(id, session.claims, now);
        self.send_claims(id, now);
    }

    pub(super) fn attach_refused(&mut self, id: &SessionId, refusal: &Refusal, now: Moment) {
        if self.ended_by_refusal(id, refusal, now) {
            return;
        }
        self.is_for_now(refusal);
        let Some(live) = self.sessions.get_mut(id) else { return };
        live.stage = Stage::Detached;
        live.attachment = live.attachment.max(refusal.counted().unwrap_or_default());
        live.refusals += 1;
        // Whatever the reason: only the session's own deadline ends the attempts.
        self.timers.set(now.after(live.backoff.next_pause()), Timer::Attach(id.clone()));
        if live.refusals % ATTACH_TRIES == 0 {
            self.leave_if_idle();
        }
    }

    /// Another server may succeed where this one fails; but this one is kept while it serves a session.
    pub(super) fn leave_if_idle(&mut self) {
        if !self.sessions.values().any(Live::is_attached) {
            self.judge(Verdict::Leave);
        }
    }

    /// The stream's answers no longer apply to the session: it must be attached again.
    pub(super) fn moved(&mut self, id: &SessionId, now: Moment) {
        let Some(live) = self.sessions.get_mut(id).filter(|live| live.is_attached()) else { return };
        live.detach();
        // At once, unless another stream attaches it by turns: then not faster than it is renewed.
        let period = renewal_period(live.presence.window());
        let again =
            if now.since(live.attached) > period { now } else { now.after(live.backoff.next_pause().min(period)) };
        self.timers.set(again, Timer::Attach(id.clone()));
    }

    pub(super) fn renew_if_due(&mut self, id: &SessionId, now: Moment) {
        let Some(live) = self.sessions.get(id).filter(|live| is_due(live, now, 0)) else { return };
        if let Some(again) = live.held_back_until(id, now) {
            self.timers.set(again, Timer::Renew(id.clone()));
            return;
        }
        let is_to_be_renewed = |id: &SessionId, live: &Live| is_due(live, now, 1) && !live.is_held_back(id, now);
        let due: Vec<SessionId> =
            self.sessions.iter().filter(|(id, live)| is_to_be_renewed(id, live)).map(|(id, _)| id.clone()).collect();
        for batch in due.chunks(SESSIONS_PER_KEEP_ALIVE) {
            self.send_keep_alive(batch, now);
        }
    }

    fn send_keep_alive(&mut self, ids: &[SessionId], now: Moment) {
        let mut limit = None;
        for id in ids {
            let Some(live) = self.sessions.get_mut(id) else { continue };
            live.renewed = now;
            let window = live.presence.window();
            self.timers.set(now.after(renewal_period(window)), Timer::Renew(id.clone()));
            limit = limit.into_iter().chain([silence_limit(window)]).min();
        }
        let session_ids = ids.iter().map(ToString::to_string).collect();
        let request = v1::KeepAliveRequest { namespace: self.namespace.clone(), session_ids };
        if let (Some(limit), Some(command)) = (limit, self.send(Kind::KeepAlive(request), What::KeepAlive, now)) {
            self.timers.set(now.after(limit), Timer::Silence(command));
        }
    }

    pub(super) fn kept(&mut self, answer: v1::KeepAliveResponse, sent: Moment, now: Moment) {
        for kept in answer.sessions {
            let id: SessionId = kept.session_id.into();
            if let (Some(ttl), None) = (kept.ttl, &kept.refusal) {
                // If the session was attached since this was sent, another answer applies.
                if let Some(live) = self.sessions.get(&id).filter(|live| live.is_attached()) {
                    let before = live.presence.window();
                    live.presence.renewed(from_wire(ttl), sent, now);
                    let window = live.presence.window();
                    if window < before {
                        // The next renewal is due earlier than was planned.
                        self.timers.set(sent.after(renewal_period(window)), Timer::Renew(id.clone()));
                    }
                }
                continue;
            }
            let refusal = Refusal::from(kept.refusal.unwrap_or_default());
            if self.ended_by_refusal(&id, &refusal, now) {
                continue;
            }
            if refusal.reason == Reason::NotAttached {
                self.moved(&id, now);
            } else if !self.is_for_now(&refusal) {
                tracing::warn!(session = %id, %refusal, "the session was not renewed");
            }
        }
    }

    /// Schedules a check of the session's phase at its next change, unless an earlier one is scheduled.
    fn look_at_change(&mut self, id: &SessionId, now: Moment) {
        let Some(live) = self.sessions.get_mut(id) else { return };
        if let Some(change) = live.presence.next_change(now).filter(|change| *change < live.look) {
            live.look = change;
            self.timers.set(change, Timer::Phase(id.clone()));
        }
    }

    /// A check of the session's phase is due.
    pub(super) fn phase_due(&mut self, id: &SessionId, now: Moment) {
        let Some(live) = self.sessions.get_mut(id).filter(|live| live.look <= now) else { return };
        live.look = Moment(Duration::MAX);
        self.check_phase(id, now);
        self.look_at_change(id, now);
    }

    /// Checks the session's phase, and publishes it.
    fn check_phase(&mut self, id: &SessionId, now: Moment) {
        let Some(live) = self.sessions.get(id) else { return };
        match live.presence.check(now) {
            SessionState::Lost(reason) => {
                tracing::warn!(session = %id, %reason, "the session is lost");
                let until = now.after(live.presence.ttl());
                self.lose_session(id, &reason, now);
                // The server may still have the session: closing it saves others from waiting for its end.
                self.begin_closing(id.clone(), until, None, now);
            }
            SessionState::AtRisk => {
                let why = if live.presence.is_stalled() { "there is no progress" } else { "a renewal is overdue" };
                tracing::warn!(session = %id, why, "the session is at risk");
            }
            SessionState::Healthy => {}
        }
    }

    /// The server reports that the session has ended.
    pub(super) fn session_ended(&mut self, id: &SessionId, reason: &LostReason, now: Moment) {
        if self.sessions.contains_key(id) {
            tracing::warn!(session = %id, %reason, "the session has ended");
            self.lose_session(id, reason, now);
        } else {
            self.closed(id, now);
        }
    }

    /// Ends the session if a refusal reports its end. Returns whether it did.
    pub(super) fn ended_by_refusal(&mut self, id: &SessionId, refusal: &Refusal, now: Moment) -> bool {
        let reason = match refusal.reason {
            Reason::SessionEnded => match refusal.end_reason() {
                Some(reason) => LostReason::Ended { reason, operator: None, note: None },
                None => LostReason::Forgotten,
            },
            Reason::SessionNotFound => LostReason::Forgotten,
            Reason::SessionInUse => LostReason::InUse,
            _ => return false,
        };
        self.session_ended(id, &reason, now);
        true
    }

    /// Ends a session in this client, with all its holds and waits.
    pub(super) fn lose_session(&mut self, id: &SessionId, reason: &LostReason, now: Moment) {
        let Some(live) = self.sessions.swap_remove(id) else { return };
        live.presence.end(reason.clone());
        for claim in live.claims.into_values() {
            claim.lose(reason);
        }
        // A new session of this id may have been requested meanwhile.
        self.send_open(id, now);
    }
}

/// Whether a session's renewal is due within this number of quarters of its period.
fn is_due(live: &Live, now: Moment, quarters: u32) -> bool {
    let period = renewal_period(live.presence.window());
    live.is_attached() && live.renewed.after(period) <= now.after(period / GATHER_DIVISOR * quarters)
}
