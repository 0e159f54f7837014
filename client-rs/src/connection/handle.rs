//! Handles to sessions and holds: dropping the last one ends them at the service, in the background.

use std::sync::Arc;

use super::{ClaimKey, Connection, Note};
use crate::error::{Error, LostReason, Result};
use crate::presence::{HoldPresence, SessionPresence};
use crate::session_id::SessionId;

/// An open session. It is closed when this is dropped.
#[derive(Debug)]
pub(crate) struct SessionHandle {
    pub(crate) id: SessionId,
    pub(crate) owner: String,
    pub(crate) presence: Arc<SessionPresence>,
    pub(crate) connection: Connection,
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        self.presence.end(LostReason::Closed);
        let note = Note::SessionDropped { session: self.id.clone(), presence: Arc::clone(&self.presence) };
        self.connection.note(note);
    }
}

/// A hold. It is released when this is dropped, unless it was released before.
#[derive(Debug)]
pub(crate) struct HoldHandle {
    pub(crate) presence: Arc<HoldPresence>,
    claim: ClaimKey,
    pub(crate) session: Arc<SessionHandle>,
    released: bool,
}

impl HoldHandle {
    pub(crate) fn new(session: Arc<SessionHandle>, claim: ClaimKey, presence: Arc<HoldPresence>) -> Self {
        Self { presence, claim, session, released: false }
    }

    /// Releases the hold, and returns when the server has released it.
    pub(crate) async fn release(mut self) -> Result<()> {
        if let Some(reason) = self.presence.end_as_released() {
            return Err(Error::Lost(reason));
        }
        let answer = self.session.connection.release(self.session.id.clone(), self.claim).await;
        // After an error the request may not have been sent, so the drop requests it again. That does not affect a release
        // in progress.
        self.released = answer.is_ok();
        answer
    }
}

impl Drop for HoldHandle {
    fn drop(&mut self) {
        if !self.released {
            self.presence.end_as_released();
            let session = self.session.id.clone();
            self.session.connection.note(Note::ClaimDropped { session, claim: self.claim });
        }
    }
}
