//! Processes messages of the server: answers to commands, and notices.

use std::collections::hash_map::Entry;

use tenure_proto::v1;
use tenure_proto::v1::answer::Kind;

use super::stream::{Sent, What};
use super::{Engine, Verdict};
use crate::clock::Moment;
use crate::error::{LostReason, Refusal};
use crate::model::EndReason;
use crate::session_id::SessionId;

impl Engine {
    /// Processes a message of the current stream.
    pub(crate) fn received(&mut self, response: v1::StreamResponse, now: Moment) {
        for answer in response.answers {
            let Some(kind) = answer.kind else { continue };
            if answer.id == 0 {
                self.noticed(kind, now);
                continue;
            }
            let Some(stream) = self.stream.as_mut() else { return };
            // The answer to a cancelled command is ignored.
            let Entry::Occupied(sent) = stream.sent.entry(answer.id) else { continue };
            let sent = if let What::Watch(_) = sent.get().what { sent.get().clone() } else { sent.remove() };
            if self.is_current(answer.id, &sent.what) {
                self.answered(answer.id, sent, kind, now);
            }
        }
    }

    /// Whether this is the last command about a claim or an opening. Answers to commands from before the session was
    /// moved, or about an opening that was abandoned, are ignored.
    fn is_current(&self, command: u64, what: &What) -> bool {
        let last = match what {
            What::Open(id) => self.openings.get(id).and_then(|opening| opening.command),
            What::Claim(id, key) => {
                self.sessions.get(id).and_then(|live| live.claims.get(key)).and_then(|claim| claim.command)
            }
            _ => return true,
        };
        last == Some(command)
    }

    fn answered(&mut self, command: u64, sent: Sent, kind: Kind, now: Moment) {
        match (sent.what, kind) {
            (What::Open(id), Kind::OpenSession(answer)) => {
                self.opened(&id, answer.session.unwrap_or_default(), sent.at, now);
            }
            (What::Open(id), Kind::Refusal(refusal)) => self.open_refused(&id, refusal.into(), now),
            (What::Attach(id), Kind::AttachedSession(answer)) => self.attached(&id, *answer, sent.at, now),
            (What::Attach(id), Kind::Refusal(refusal)) => self.attach_refused(&id, &refusal.into(), now),
            (What::KeepAlive, Kind::KeepAlive(answer)) => self.kept(answer, sent.at, now),
            (What::KeepAlive, Kind::Refusal(refusal)) => {
                let refusal = Refusal::from(refusal);
                if !self.is_for_now(&refusal) {
                    tracing::warn!(%refusal, "sessions were not renewed");
                }
            }
            (What::Close(id), Kind::CloseSession(_)) => self.closed(&id, now),
            (What::Close(id), Kind::Refusal(refusal)) => self.close_refused(&id, refusal.into(), now),
            (What::Claim(id, key), Kind::Acquire(answer)) => self.acquired(&id, key, answer, now),
            (What::Claim(id, key), Kind::Release(_) | Kind::CancelAcquire(_)) => self.given_back(&id, key, now),
            (What::Claim(id, key), Kind::Refusal(refusal)) => self.claim_refused(&id, key, refusal.into(), now),
            (What::Stray(_), Kind::Release(_) | Kind::CancelAcquire(_)) => {}
            (What::Stray(id), Kind::Refusal(refusal)) => self.stray_refused(&id, &refusal.into(), now),
            (What::Watch(key), Kind::Watch(answer)) => self.watch_received(key, answer, now),
            (What::Watch(key), Kind::Refusal(refusal)) => {
                if let Some(stream) = self.stream.as_mut() {
                    stream.sent.remove(&command);
                }
                self.watch_refused(key, refusal.into(), now);
            }
            (what, kind) => {
                tracing::error!(?what, ?kind, "the server gave an answer that does not fit the question");
                self.judge(Verdict::Broken);
            }
        }
    }

    pub(super) fn noticed(&mut self, kind: Kind, now: Moment) {
        match kind {
            Kind::SessionEnded(ended) => {
                let reason =
                    LostReason::Ended { reason: EndReason::from_proto(ended.reason), operator: None, note: None };
                self.session_ended(&ended.session_id.into(), &reason, now);
            }
            Kind::HoldEnded(ended) => self.hold_ended(*ended, now),
            Kind::TransferRequested(request) => self.transfer_requested(*request, now),
            Kind::SessionMoved(moved) => {
                let id: SessionId = moved.session_id.into();
                tracing::info!(session = %id, "the session was moved, and is attached again");
                self.moved(&id, now);
            }
            Kind::GoingAway(_) => {
                tracing::info!("the server is going away");
                self.judge(Verdict::Leave);
            }
            kind => tracing::debug!(?kind, "a notice that this version does not know"),
        }
    }
}
