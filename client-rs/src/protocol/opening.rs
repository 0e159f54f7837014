//! Sessions that are being opened.

use std::sync::Arc;
use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::command::Kind;
use tokio::sync::oneshot;

use super::progress::Needed;
use super::{Engine, Timer, What, backoff};
use crate::backoff::Backoff;
use crate::clock::Moment;
use crate::connection::{Connection, SessionHandle};
use crate::convert::{from_wire, to_wire};
use crate::error::{Error, Refusal, Result};
use crate::options::SessionOptions;
use crate::presence::{SessionPresence, SessionState};
use crate::session_id::SessionId;
use crate::trace::Trace;

/// After this time without an answer to an open, the client leaves the server, if it serves no other session.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// The same after this number of temporary refusals.
const TRIES: u32 = 3;

/// A session that is being opened.
#[derive(Debug)]
pub(super) struct Opening {
    options: SessionOptions,
    connection: Connection,
    trace: Trace,
    deadline: Moment,
    reply: oneshot::Sender<Result<SessionHandle>>,
    pub(super) command: Option<u64>,
    /// The number of requests to attach the session.
    attachment: u64,
    backoff: Backoff,
    refusals: u32,
    refusal: Option<Refusal>,
}

impl Opening {
    pub(super) fn new(
        options: SessionOptions,
        connection: Connection,
        trace: Trace,
        deadline: Moment,
        reply: oneshot::Sender<Result<SessionHandle>>,
    ) -> Self {
        Self {
            options,
            connection,
            trace,
            deadline,
            reply,
            command: None,
            attachment: 0,
            backoff: backoff(),
            refusals: 0,
            refusal: None,
        }
    }
}

impl Engine {
    pub(super) fn open(&mut self, id: SessionId, opening: Opening, now: Moment) {
        if self.openings.get(&id).is_some_and(|other| other.reply.is_closed())
            && let Some(abandoned) = self.openings.swap_remove(&id)
        {
            self.abandon_opening(id.clone(), abandoned, Error::Closed, now);
        }
        if self.openings.contains_key(&id) || self.sessions.contains_key(&id) {
            let problem = format!("this client has a session \"{id}\" already");
            let _ = opening.reply.send(Err(Error::invalid("id", problem)));
            return;
        }
        self.timers.set(opening.deadline, Timer::OpenTimeout(id.clone()));
        self.openings.insert(id.clone(), opening);
        self.send_open(&id, now);
    }

    pub(super) fn send_open(&mut self, id: &SessionId, now: Moment) {
        // A session of the same id must be closed first; its end calls this again.
        if self.closings.contains_key(id) || self.stream.is_none() {
            return;
        }
        let Some(opening) = self.openings.get_mut(id).filter(|opening| opening.command.is_none()) else { return };
        opening.attachment = opening.attachment.saturating_add(1);
        let kind = Kind::OpenSession(v1::OpenSessionRequest {
            namespace: self.namespace.clone(),
            session_id: id.to_wire(),
            ttl: Some(to_wire(opening.options.ttl)),
            disconnect_grace: opening.options.disconnect_grace.map(to_wire),
            owner: opening.options.owner.clone(),
            metadata: opening.options.metadata.clone(),
            attachment: opening.attachment,
            client_id: self.client_id.clone(),
        });
        let trace = opening.trace.clone();
        let command = self.send_traced(kind, What::Open(id.clone()), &trace, now);
        if let Some(command) = command {
            self.timers.set(now.after(PATIENCE), Timer::Slow(command));
        }
        if let Some(opening) = self.openings.get_mut(id) {
            opening.command = command;
        }
    }

    pub(super) fn opened(&mut self, id: &SessionId, session: v1::Session, sent: Moment, now: Moment) {
        let Some(opening) = self.openings.swap_remove(id) else { return };
        let ttl = session.ttl.map_or(opening.options.ttl, from_wire);
        let grace = session.disconnect_grace.map(from_wire);
        let presence = Arc::new(SessionPresence::new(ttl, grace, sent));
        if let SessionState::Lost(reason) = presence.check(now) {
            self.abandon_opening(id.clone(), opening, Error::Lost(reason), now);
            return;
        }
        tracing::debug!(session = %id, ?ttl, "the session is open");
        let needed = Needed::new(now, opening.options.progress);
        self.begin_session(id.clone(), Arc::clone(&presence), needed, opening.attachment, sent, now);
        // If its caller was dropped, the session is dropped here and so closed.
        let handle = SessionHandle { id: id.clone(), owner: session.owner, presence, connection: opening.connection };
        let _ = opening.reply.send(Ok(handle));
    }

    pub(super) fn open_refused(&mut self, id: &SessionId, refusal: Refusal, now: Moment) {
        let for_now = self.is_for_now(&refusal);
        let Some(mut opening) = self.openings.swap_remove(id) else { return };
        if let Some(counted) = refusal.counted() {
            opening.command = None;
            opening.attachment = opening.attachment.max(counted);
            self.openings.insert(id.clone(), opening);
            self.send_open(id, now);
            return;
        }
        if for_now {
            opening.command = None;
            opening.refusal = Some(refusal);
            opening.refusals += 1;
            let is_enough = opening.refusals % TRIES == 0;
            self.timers.set(now.after(opening.backoff.next_pause()), Timer::Open(id.clone()));
            self.openings.insert(id.clone(), opening);
            if is_enough {
                self.leave_if_idle();
            }
        } else {
            let _ = opening.reply.send(Err(refusal.into()));
        }
    }

    pub(super) fn time_out_opening(&mut self, id: &SessionId, now: Moment) {
        if self.openings.get(id).is_some_and(|opening| opening.deadline <= now)
            && let Some(mut opening) = self.openings.swap_remove(id)
        {
            let error = self.timeout_error(opening.refusal.take());
            self.abandon_opening(id.clone(), opening, error, now);
        }
    }

    /// Stops opening a session, and closes it if a request to open it was sent, which may have taken effect.
    pub(super) fn abandon_opening(&mut self, id: SessionId, opening: Opening, error: Error, now: Moment) {
        let _ = opening.reply.send(Err(error));
        if opening.attachment == 0 {
            return;
        }
        self.begin_closing(id, now.after(opening.options.ttl), None, now);
    }
}
