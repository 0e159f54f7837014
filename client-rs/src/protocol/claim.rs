//! Claims: from the request to acquire, through the local queue, to the end of the hold.

use std::sync::Arc;
use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind;
use tokio::sync::oneshot;

use super::session::Live;
use super::timers::TimerKey;
use super::{Engine, Timer, What, backoff};
use crate::backoff::Backoff;
use crate::clock::Moment;
use crate::connection::{AcquireOutcome, AcquireSpec, ClaimKey, SessionHandle, Wait};
use crate::convert::{mode_to_wire, to_wire};
use crate::error::{Error, LostReason, Refusal, Result};
use crate::model::{Busy, Claim, ClaimState};
use crate::presence::{HoldPresence, SessionState};
use crate::session_id::SessionId;

/// One claim.
#[derive(Debug)]
pub(super) struct ClaimEntry {
    pub(super) spec: AcquireSpec,
    pub(super) stage: ClaimStage,
    pub(super) command: Option<u64>,
    pub(super) backoff: Backoff,
    pub(super) refusal: Option<Refusal>,
    /// A notice about these locks that may have overtaken the answer with their grant.
    pub(super) early: Option<Box<Answered>>,
    /// When its wait ends. Cleared with the claim, like the other timer: few claims exist until then.
    pub(super) wait_timer: Option<TimerKey>,
    /// When its caller stops waiting for the server's answer.
    pub(super) answer_timer: Option<TimerKey>,
}

/// Where a claim stands.
#[derive(Debug)]
pub(super) enum ClaimStage {
    /// Waits for its turn among the claims of this session.
    Queued(Acquiring),
    /// The server is asked.
    Asking(Acquiring),
    /// Granted.
    Held(Arc<HoldPresence>),
    /// The server is asked to take it back.
    Releasing { token: u64, reply: Option<(oneshot::Sender<Result<()>>, Moment)> },
    /// Abandoned, with an acquire in progress at the server, whose cancel was sent.
    Stopping,
    /// Abandoned: the server is asked to end it, whether it waits or was granted.
    Withdrawing,
}

/// The caller that waits for a claim, and for how long.
#[derive(Debug)]
pub(super) struct Acquiring {
    pub(super) session: Arc<SessionHandle>,
    pub(super) wait_until: Option<Moment>,
    pub(super) deadline: Option<Moment>,
    pub(super) reply: oneshot::Sender<Result<AcquireOutcome>>,
}

impl ClaimEntry {
    /// The session is lost.
    pub(super) fn lose(self, reason: &LostReason) {
        let lost = Error::Lost(reason.clone());
        // The caller may have stopped waiting.
        match self.stage {
            ClaimStage::Queued(acquiring) | ClaimStage::Asking(acquiring) => {
                let _ = acquiring.reply.send(Err(lost));
            }
            ClaimStage::Held(presence) => presence.end(reason.clone()),
            ClaimStage::Releasing { reply: Some((reply, _)), .. } => {
                let _ = reply.send(Err(lost));
            }
            ClaimStage::Releasing { reply: None, .. } | ClaimStage::Stopping | ClaimStage::Withdrawing => {}
        }
    }

    fn describe(&self, session: &SessionHandle) -> Claim {
        let (state, token) = match &self.stage {
            ClaimStage::Held(presence) => (ClaimState::Held, Some(presence.token)),
            ClaimStage::Releasing { token, .. } => (ClaimState::Held, Some(*token)),
            ClaimStage::Queued(_) | ClaimStage::Asking(_) | ClaimStage::Stopping | ClaimStage::Withdrawing => {
                (ClaimState::Waiting, None)
            }
        };
        Claim {
            id: 0,
            names: self.spec.names.to_vec(),
            state,
            token,
            session_id: session.id.to_wire(),
            owner: session.owner.clone(),
            metadata: self.spec.metadata.clone(),
            priority: self.spec.priority,
            min_hold: self.spec.min_hold,
            mode: self.spec.mode,
            transfer: None,
            deadlock: Vec::new(),
        }
    }
}

impl Engine {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn acquire(
        &mut self,
        key: ClaimKey,
        session: Arc<SessionHandle>,
        spec: AcquireSpec,
        wait: Wait,
        asked: Moment,
        reply: oneshot::Sender<Result<AcquireOutcome>>,
        now: Moment,
    ) {
        let id = session.id.clone();
        let ours = |live: &&mut Live| Arc::ptr_eq(&live.presence, &session.presence);
        let Some(live) = self.sessions.get_mut(&id).filter(ours) else {
            let reason = match session.presence.check(now) {
                SessionState::Lost(reason) => reason,
                SessionState::Healthy | SessionState::AtRisk => LostReason::Forgotten,
            };
            let _ = reply.send(Err(Error::Lost(reason)));
            return;
        };
        if wait == Wait::No
            && let Some(first) = live.turns.first_in_way(&spec.names)
        {
            let holder = live.claims.get(&first).map(|claim| claim.describe(&session));
            let _ = reply.send(Ok(AcquireOutcome::Busy(Busy { holder })));
            return;
        }
        let wait_until = match wait {
            Wait::No => Some(asked),
            Wait::AtMost(wait) => Some(asked.after(wait)),
            Wait::Forever => None,
        };
        let deadline = wait_until.map(|until| until.after(session.connection.call_timeout()));
        let timer = || Timer::ClaimTimeout(id.clone(), key);
        let (wait_timer, answer_timer) = if wait == Wait::No {
            // A single attempt does not wait in the local queue.
            (None, deadline.map(|at| self.timers.set_in_line(at, timer())))
        } else {
            (wait_until.map(|at| self.timers.set(at, timer())), deadline.map(|at| self.timers.set(at, timer())))
        };
        let is_first = live.turns.join(key, &spec.names);
        let acquiring = Acquiring { session, wait_until, deadline, reply };
        let stage = if is_first { ClaimStage::Asking(acquiring) } else { ClaimStage::Queued(acquiring) };
        let claim = ClaimEntry {
            spec,
            stage,
            command: None,
            backoff: backoff(),
            refusal: None,
            early: None,
            wait_timer,
            answer_timer,
        };
        live.claims.insert(key, Box::new(claim));
        if is_first {
            self.send_claim(&id, key, now);
        }
    }

    /// Sends the acquire if it is the claim's turn.
    fn take_turn(&mut self, id: &SessionId, key: ClaimKey, now: Moment) {
        let Some(live) = self.sessions.get_mut(id) else { return };
        let Some(claim) = live.claims.get_mut(&key).filter(|claim| live.turns.is_first(key, &claim.spec.names)) else {
            return;
        };
        if let ClaimStage::Queued(_) = claim.stage
            && let ClaimStage::Queued(acquiring) = std::mem::replace(&mut claim.stage, ClaimStage::Withdrawing)
        {
            claim.stage = ClaimStage::Asking(acquiring);
        }
        self.send_claim(id, key, now);
    }

    /// The session was attached: sends the commands that its claims need.
    pub(super) fn send_claims(&mut self, id: &SessionId, now: Moment) {
        let Some(live) = self.sessions.get(id) else { return };
        for key in live.claims.keys().copied().collect::<Vec<_>>() {
            self.send_claim(id, key, now);
        }
    }

    /// Sends the command that the claim needs, if it needs one and has none in progress.
    pub(super) fn send_claim(&mut self, id: &SessionId, key: ClaimKey, now: Moment) {
        let Some(live) = self.sessions.get_mut(id).filter(|live| live.is_attached()) else { return };
        let Some(stream) = &mut self.stream else { return };
        let Some(claim) = live.claims.get(&key).filter(|claim| claim.command.is_none()) else { return };
        if let ClaimStage::Asking(_) = claim.stage
            && let Some(again) = live.held_back_until(id, now)
        {
            self.timers.set(again, Timer::Claim(id.clone(), key));
            return;
        }
        let Some(claim) = live.claims.get_mut(&key) else { return };
        let namespace = self.namespace.clone();
        let session_id = id.to_wire();
        let names = &claim.spec.names;
        let (mode, permits, limit) = mode_to_wire(claim.spec.mode);
        let kind = match &claim.stage {
            ClaimStage::Queued(_) | ClaimStage::Held(_) => return,
            ClaimStage::Asking(acquiring) => Kind::Acquire(v1::AcquireRequest {
                namespace,
                names: names.to_vec(),
                session_id,
                ttl: None,
                wait: acquiring.wait_until.map(|until| to_wire(until.since(now))),
                priority: claim.spec.priority,
                owner: String::new(),
                metadata: claim.spec.metadata.clone(),
                min_hold: (claim.spec.min_hold > Duration::ZERO).then(|| to_wire(claim.spec.min_hold)),
                mode: mode.into(),
                permits,
                limit,
                disconnect_grace: None,
                opened_revision: 0,
            }),
            ClaimStage::Releasing { token, .. } => {
                let name = names.first().cloned().unwrap_or_default();
                Kind::Release(v1::ReleaseRequest { namespace, name, session_id, token: *token })
            }
            ClaimStage::Stopping | ClaimStage::Withdrawing => {
                Kind::CancelAcquire(v1::CancelAcquireRequest { namespace, names: names.to_vec(), session_id })
            }
        };
        claim.command = Some(stream.send(kind, What::Claim(id.clone(), key), &claim.spec.trace, now));
        if let ClaimStage::Stopping = claim.stage {
            claim.stage = ClaimStage::Withdrawing;
        }
    }

    /// Releases a hold.
    pub(super) fn release(
        &mut self,
        id: &SessionId,
        key: ClaimKey,
        reply: Option<(oneshot::Sender<Result<()>>, Moment)>,
        now: Moment,
    ) {
        let claim = self.sessions.get_mut(id).and_then(|live| {
            live.needed.by_hold_no_more(key);
            live.claims.get_mut(&key)
        });
        let Some(claim) = claim else {
            // It has ended since the request.
            if let Some((reply, _)) = reply {
                let _ = reply.send(Err(Error::Lost(LostReason::Forgotten)));
            }
            return;
        };
        if let ClaimStage::Held(presence) = &claim.stage {
            presence.end(LostReason::Released);
            if let Some((_, deadline)) = &reply {
                let timer = self.timers.set_in_line(*deadline, Timer::ClaimTimeout(id.clone(), key));
                if let Some(before) = claim.answer_timer.replace(timer) {
                    self.timers.clear(before);
                }
            }
            claim.stage = ClaimStage::Releasing { token: presence.token, reply };
            self.send_claim(id, key, now);
        }
    }

    /// The claim was abandoned, at whatever stage it is.
    pub(super) fn drop_claim(&mut self, id: &SessionId, key: ClaimKey, now: Moment) {
        let Some(claim) = self.sessions.get(id).and_then(|live| live.claims.get(&key)) else { return };
        match claim.stage {
            ClaimStage::Queued(_) => self.end_claim(id, key, now),
            ClaimStage::Asking(_) => drop(self.withdraw(id, key, now)),
            ClaimStage::Held(_) => self.release(id, key, None, now),
            ClaimStage::Releasing { .. } | ClaimStage::Stopping | ClaimStage::Withdrawing => {}
        }
    }

    /// Asks the server to end a claim whose acquire was sent. Returns the caller that waited for it.
    fn withdraw(&mut self, id: &SessionId, key: ClaimKey, now: Moment) -> Option<Acquiring> {
        let claim = self.sessions.get_mut(id)?.claims.get_mut(&key)?;
        let ClaimStage::Asking(acquiring) = std::mem::replace(&mut claim.stage, ClaimStage::Stopping) else {
            return None;
        };
        // An acquire in progress must end first: otherwise it could be granted after the claim was cancelled.
        match claim.command {
            Some(command) => self.cancel(command),
            None => self.send_claim(id, key, now),
        }
        Some(acquiring)
    }

    /// A wait has ended, or a deadline for an answer has passed.
    pub(super) fn time_out_claim(&mut self, id: &SessionId, key: ClaimKey, now: Moment) {
        let Some(claim) = self.sessions.get_mut(id).and_then(|live| live.claims.get_mut(&key)) else { return };
        let refusal = claim.refusal.clone();
        match &mut claim.stage {
            ClaimStage::Queued(acquiring) if acquiring.wait_until.is_some_and(|until| until <= now) => {
                let holder = self.first_in_way(id, key);
                if let Some(ClaimStage::Queued(acquiring)) = self.end_claim_stage(id, key, now) {
                    let _ = acquiring.reply.send(Ok(AcquireOutcome::Busy(Busy { holder })));
                }
            }
            ClaimStage::Asking(acquiring) if acquiring.deadline.is_some_and(|deadline| deadline <= now) => {
                let error = self.timeout_error(refusal);
                if let Some(acquiring) = self.withdraw(id, key, now) {
                    let _ = acquiring.reply.send(Err(error));
                }
            }
            ClaimStage::Releasing { reply, .. } if reply.as_ref().is_some_and(|(_, deadline)| *deadline <= now) => {
                // The release is still repeated, without a caller.
                if let Some((reply, _)) = reply.take() {
                    let _ = reply.send(Err(self.timeout_error(refusal)));
                }
            }
            _ => {}
        }
    }

    fn first_in_way(&self, id: &SessionId, key: ClaimKey) -> Option<Claim> {
        let live = self.sessions.get(id)?;
        let claim = live.claims.get(&key)?;
        let ClaimStage::Queued(acquiring) = &claim.stage else { return None };
        let first = live.turns.first_in_way(&claim.spec.names)?;
        Some(live.claims.get(&first)?.describe(&acquiring.session))
    }

    /// Ends the claim: the next ones have their turn.
    pub(super) fn end_claim(&mut self, id: &SessionId, key: ClaimKey, now: Moment) {
        self.end_claim_stage(id, key, now);
    }

    /// As [`end_claim`](Self::end_claim). Returns its last stage.
    pub(super) fn end_claim_stage(&mut self, id: &SessionId, key: ClaimKey, now: Moment) -> Option<ClaimStage> {
        let live = self.sessions.get_mut(id)?;
        let claim = live.claims.remove(&key)?;
        live.needed.by_hold_no_more(key);
        for timer in claim.wait_timer.into_iter().chain(claim.answer_timer) {
            self.timers.clear(timer);
        }
        for next in live.turns.leave(key, &claim.spec.names) {
            self.take_turn(id, next, now);
        }
        Some(claim.stage)
    }
}
