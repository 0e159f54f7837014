//! Sessions that are being closed, so that their locks are free before their TTL.

use tenure_proto::v1;
use tenure_proto::v1::command::Kind;
use tokio::sync::oneshot;

use super::{Engine, Timer, What, backoff};
use crate::backoff::Backoff;
use crate::clock::Moment;
use crate::error::{LostReason, Reason, Refusal, Result};
use crate::session_id::SessionId;

/// A session that is being closed.
#[derive(Debug)]
pub(super) struct Closing {
    /// When the server ends the session by itself.
    until: Moment,
    replies: Vec<(oneshot::Sender<Result<()>>, Moment)>,
    pub(super) command: Option<u64>,
    backoff: Backoff,
    refusal: Option<Refusal>,
}

impl Engine {
    /// Closes a session for a caller that waits for it.
    pub(super) fn close(&mut self, id: &SessionId, deadline: Moment, reply: oneshot::Sender<Result<()>>, now: Moment) {
        let reply = (reply, deadline);
        self.timers.set(deadline, Timer::CloseTimeout(id.clone()));
        if let Some(live) = self.sessions.get(id) {
            let until = now.after(live.presence.ttl());
            self.lose_session(id, &LostReason::Closed, now);
            self.begin_closing(id.clone(), until, Some(reply), now);
        } else if let Some(closing) = self.closings.get_mut(id) {
            closing.replies.push(reply);
        } else {
            let _ = reply.0.send(Ok(()));
        }
    }

    /// Closes a session without a waiting caller.
    pub(super) fn close_unasked(&mut self, id: &SessionId, now: Moment) {
        if let Some(live) = self.sessions.get(id) {
            let until = now.after(live.presence.ttl());
            self.lose_session(id, &LostReason::Closed, now);
            self.begin_closing(id.clone(), until, None, now);
        }
    }

    pub(super) fn begin_closing(
        &mut self,
        id: SessionId,
        until: Moment,
        reply: Option<(oneshot::Sender<Result<()>>, Moment)>,
        now: Moment,
    ) {
        self.timers.set(until, Timer::CloseForget(id.clone()));
        if let Some(closing) = self.closings.get_mut(&id) {
            closing.until = closing.until.max(until);
            closing.replies.extend(reply);
            return;
        }
        let closing =
            Closing { until, replies: reply.into_iter().collect(), command: None, backoff: backoff(), refusal: None };
        self.closings.insert(id.clone(), closing);
        self.send_close(&id, now);
    }

    pub(super) fn send_close(&mut self, id: &SessionId, now: Moment) {
        if self.closings.get(id).is_none_or(|closing| closing.command.is_some()) {
            return;
        }
        let (namespace, client_id) = (self.namespace.clone(), self.client_id.clone());
        let request = v1::CloseSessionRequest { namespace, session_id: id.to_wire(), client_id };
        let command = self.send(Kind::CloseSession(request), What::Close(id.clone()), now);
        if let Some(closing) = self.closings.get_mut(id) {
            closing.command = command;
        }
    }

    /// The server has ended the session.
    pub(super) fn closed(&mut self, id: &SessionId, now: Moment) {
        if let Some(closing) = self.closings.swap_remove(id) {
            for (reply, _) in closing.replies {
                let _ = reply.send(Ok(()));
            }
            self.send_open(id, now);
        }
    }

    pub(super) fn close_refused(&mut self, id: &SessionId, refusal: Refusal, now: Moment) {
        if self.is_for_now(&refusal) {
            let Some(closing) = self.closings.get_mut(id) else { return };
            closing.command = None;
            closing.refusal = Some(refusal);
            self.timers.set(now.after(closing.backoff.next_pause()), Timer::Close(id.clone()));
        } else if matches!(refusal.reason, Reason::SessionEnded | Reason::SessionNotFound | Reason::SessionInUse) {
            self.closed(id, now);
        } else if let Some(closing) = self.closings.swap_remove(id) {
            for (reply, _) in closing.replies {
                let _ = reply.send(Err(refusal.clone().into()));
            }
            self.send_open(id, now);
        }
    }

    pub(super) fn time_out_closing(&mut self, id: &SessionId, now: Moment) {
        let Some(closing) = self.closings.get_mut(id) else { return };
        let refusal = closing.refusal.clone();
        let replies = std::mem::take(&mut closing.replies);
        let (late, early): (Vec<_>, Vec<_>) = replies.into_iter().partition(|(_, deadline)| *deadline <= now);
        closing.replies = early;
        self.timers.set(closing.until.max(now), Timer::CloseForget(id.clone()));
        let error = self.timeout_error(refusal);
        for (reply, _) in late {
            let _ = reply.send(Err(error.clone()));
        }
    }

    pub(super) fn forget_closing(&mut self, id: &SessionId, now: Moment) {
        // Callers that still wait get a reply at their own deadlines.
        if self.closings.get(id).is_some_and(|closing| closing.until <= now && closing.replies.is_empty()) {
            self.closed(id, now);
        }
    }
}
