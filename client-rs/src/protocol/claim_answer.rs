//! Processes answers about claims.

use std::sync::Arc;

use tenure_proto::v1;
use tenure_proto::v1::answer::Kind;

use super::claim::{Acquiring, ClaimStage};
use super::session::Live;
use super::{Engine, Timer};
use crate::clock::Moment;
use crate::connection::{AcquireOutcome, ClaimKey, HoldHandle};
use crate::convert::optional;
use crate::error::{LostReason, Reason, Refusal};
use crate::handoff::TransferRequest;
use crate::model::{Busy, Claim, EndReason};
use crate::presence::HoldPresence;
use crate::progress::Progress;
use crate::session_id::SessionId;

impl Live {
    /// Keeps a notice about an unknown hold until the answer to the acquire of these locks: answers and notices take
    /// different ways through the server, and may overtake each other.
    fn keep_notice(&mut self, names: &[String], notice: Kind) {
        let mut asking = self.claims.values_mut().filter(|claim| matches!(claim.stage, ClaimStage::Asking(_)));
        if let Some(claim) = asking.find(|claim| *claim.spec.names == *names) {
            claim.early = Some(Box::new(notice));
        }
    }
}

impl Engine {
    /// An acquire was answered.
    pub(super) fn acquired(&mut self, id: &SessionId, key: ClaimKey, answer: v1::AcquireResponse, now: Moment) {
        let Some(live) = self.sessions.get_mut(id) else { return };
        let presence = Arc::clone(&live.presence);
        let Some(claim) = live.claims.get_mut(&key) else { return };
        claim.command = None;
        if let ClaimStage::Stopping = claim.stage {
            if answer.acquired {
                self.send_claim(id, key, now);
            } else {
                self.end_claim(id, key, now);
            }
            return;
        }
        let ClaimStage::Asking(acquiring) = &claim.stage else { return };
        if !answer.acquired {
            if acquiring.wait_until.is_none() {
                // Only the client ends an unbounded wait, so the acquire is repeated.
                let again = now.after(claim.backoff.next_pause());
                self.timers.set(again, Timer::Claim(id.clone(), key));
            } else if let Some(ClaimStage::Asking(acquiring)) = self.end_claim_stage(id, key, now) {
                let holder = answer.holder.map(|holder| Claim::from(*holder));
                let _ = acquiring.reply.send(Ok(AcquireOutcome::Busy(Busy { holder })));
            }
            return;
        }
        let progress = claim.spec.stall_after.map(|within| Progress::begun(within, now));
        if let Some(progress) = &progress {
            live.needed.by_hold(key, progress.clone());
        }
        let hold = Arc::new(HoldPresence::new(presence, Arc::clone(&claim.spec.names), answer.token, progress));
        let held = ClaimStage::Held(Arc::clone(&hold));
        let early = claim.early.take();
        if let ClaimStage::Asking(Acquiring { session, reply, .. }) = std::mem::replace(&mut claim.stage, held) {
            if let Some(notice) = early {
                self.noticed(*notice, now);
            }
            // If its caller was dropped, the hold is dropped here and so released.
            let _ = reply.send(Ok(AcquireOutcome::Held(HoldHandle::new(session, key, hold))));
        }
    }

    /// A release or a withdrawal took effect.
    pub(super) fn given_back(&mut self, id: &SessionId, key: ClaimKey, now: Moment) {
        if let Some(ClaimStage::Releasing { reply: Some((reply, _)), .. }) = self.end_claim_stage(id, key, now) {
            let _ = reply.send(Ok(()));
        }
    }

    pub(super) fn claim_refused(&mut self, id: &SessionId, key: ClaimKey, refusal: Refusal, now: Moment) {
        if self.ended_by_refusal(id, &refusal, now) {
            return;
        }
        let for_now = self.is_for_now(&refusal);
        if refusal.reason == Reason::NotAttached {
            self.moved(id, now);
            return;
        }
        let Some(claim) = self.sessions.get_mut(id).and_then(|live| live.claims.get_mut(&key)) else { return };
        claim.command = None;
        if let ClaimStage::Stopping = claim.stage {
            // Whatever the reason: the refusal was about the acquire.
            self.send_claim(id, key, now);
            return;
        }
        // The server ended the wait because this client did not reconnect in time: the caller still waits.
        let unseen = refusal.reason == Reason::ClaimEnded && refusal.end_reason() == Some(EndReason::Disconnected);
        if for_now || (unseen && matches!(claim.stage, ClaimStage::Asking(_))) {
            claim.refusal = Some(refusal);
            let again = now.after(claim.backoff.next_pause());
            self.timers.set(again, Timer::Claim(id.clone(), key));
            return;
        }
        match self.end_claim_stage(id, key, now) {
            Some(ClaimStage::Asking(acquiring)) => {
                let _ = acquiring.reply.send(Err(refusal.into()));
            }
            Some(ClaimStage::Releasing { reply: Some((reply, _)), .. }) => {
                let _ = reply.send(Err(refusal.of_release()));
            }
            Some(ClaimStage::Withdrawing) => tracing::warn!(session = %id, %refusal, "a claim was not withdrawn"),
            _ => {}
        }
    }

    /// Ends the holds that the server no longer has. It cannot know yet those that were granted after `revision`.
    pub(super) fn compare_holds(&mut self, id: &SessionId, held: &[u64], revision: u64, now: Moment) {
        let Some(live) = self.sessions.get(id) else { return };
        let is_gone = |stage: &ClaimStage| match stage {
            ClaimStage::Held(hold) => hold.token <= revision && !held.contains(&hold.token),
            _ => false,
        };
        let gone: Vec<ClaimKey> =
            live.claims.iter().filter(|(_, claim)| is_gone(&claim.stage)).map(|(key, _)| *key).collect();
        for key in gone {
            self.end_hold(id, key, LostReason::Forgotten, now);
        }
    }

    /// The server reports that a hold has ended.
    pub(super) fn hold_ended(&mut self, ended: v1::HoldEnded, now: Moment) {
        let id: SessionId = ended.session_id.as_str().into();
        let Some(live) = self.sessions.get_mut(&id) else { return };
        let found = live
            .claims
            .iter()
            .find(|(_, claim)| matches!(&claim.stage, ClaimStage::Held(hold) if hold.token == ended.token));
        let Some(key) = found.map(|(key, _)| *key) else {
            live.keep_notice(&ended.names.clone(), Kind::HoldEnded(Box::new(ended)));
            return;
        };
        let reason = LostReason::Ended {
            reason: EndReason::from_proto(ended.reason),
            operator: optional(ended.operator),
            note: optional(ended.note),
        };
        self.end_hold(&id, key, reason, now);
    }

    /// The server asks a holder to hand over.
    pub(super) fn transfer_requested(&mut self, request: v1::TransferRequested, now: Moment) {
        let Some(live) = self.sessions.get_mut(&SessionId::from(request.session_id.as_str())) else { return };
        let held = live.claims.values().find_map(|claim| match &claim.stage {
            ClaimStage::Held(hold) if hold.token == request.token => Some(hold),
            _ => None,
        });
        if let Some(hold) = held {
            tracing::info!(session = request.session_id, token = hold.token, "asked to hand over");
            hold.hand_over(TransferRequest::received(request, now));
        } else {
            live.keep_notice(&request.names.clone(), Kind::TransferRequested(Box::new(request)));
        }
    }

    /// The session was attached again: finds the holds whose handoff was requested meanwhile.
    pub(super) fn find_transfers(&self, id: &SessionId, claims: &[v1::Claim], now: Moment) {
        let Some(live) = self.sessions.get(id) else { return };
        for claim in live.claims.values() {
            if let ClaimStage::Held(hold) = &claim.stage
                && hold.transfer_request().is_none()
                && let Some(found) = claims.iter().find(|found| found.token == hold.token)
                && let Some(pending) = &found.transfer
            {
                let request = v1::TransferRequested { drain: pending.drain, ..v1::TransferRequested::default() };
                hold.hand_over(TransferRequest::received(request, now));
            }
        }
    }

    fn end_hold(&mut self, id: &SessionId, key: ClaimKey, reason: LostReason, now: Moment) {
        if let Some(ClaimStage::Held(hold)) = self.end_claim_stage(id, key, now) {
            tracing::warn!(session = %id, token = hold.token, %reason, "the hold is lost");
            hold.end(reason);
        }
    }
}
