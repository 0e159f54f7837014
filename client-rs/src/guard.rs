//! What is held.

use std::ops::Deref;
use std::sync::Arc;

use tracing::Instrument;

use crate::connection::HoldHandle;
use crate::error::{Error, LostReason, Result};
use crate::handoff::TransferRequest;
use crate::model::Metadata;
use crate::presence::HoldPresence;
use crate::session::Session;
use crate::trace;

/// A view of what is held, to hand around: it shows whether the hold is valid but does not keep it.
#[derive(Clone, Debug)]
pub struct Hold {
    pub(crate) presence: Arc<HoldPresence>,
}

impl Hold {
    /// The fencing token, to be sent along with every write that the lock protects. Greater than all tokens granted before
    /// it in the namespace.
    #[must_use]
    pub fn token(&self) -> u64 {
        self.presence.token
    }

    /// The locks that are held, in byte order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.presence.names
    }

    /// Whether the server cannot have ended the hold, decided by the clock at this moment. Once `false` it stays so. A
    /// program may still be paused right after the check: the token protects against that.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.lost_reason().is_none()
    }

    /// Why it is lost, if it is.
    #[must_use]
    pub fn lost_reason(&self) -> Option<LostReason> {
        self.presence.lost_reason()
    }

    /// Waits until the server asks to hand the locks over: an operator's [`transfer`](crate::Client::transfer), or a
    /// better candidate that preempts. The work should then stop and release the locks, which confirms the handoff;
    /// otherwise the hold remains.
    pub async fn transfer_requested(&self) -> TransferRequest {
        self.presence.transfer_requested().await
    }

    /// The present request, if there is one.
    #[must_use]
    pub fn transfer_request(&self) -> Option<TransferRequest> {
        self.presence.transfer_request()
    }

    /// Reports progress of the work under the hold: see [`LockRequest::stall_after`](crate::LockRequest::stall_after),
    /// without which this has no effect. Cheap, takes no lock, and may be called from any thread.
    pub fn tick(&self) {
        if let Some(progress) = &self.presence.progress {
            progress.tick();
        }
    }

    /// Waits until the hold is lost or released: before the server could end the hold, or as soon as it reports the
    /// end.
    pub async fn lost(&self) -> LostReason {
        self.presence.lost().await
    }
}

/// Owns a hold. Dropping it releases the locks in the background; [`release`](Self::release) also waits for that.
///
/// A program that ends right after dropping a guard should release it instead (or close the client): the background
/// work needs the runtime for a moment.
#[derive(Debug)]
pub struct Guard {
    hold: Hold,
    session: Session,
    handle: HoldHandle,
}

impl Guard {
    pub(crate) fn new(handle: HoldHandle) -> Self {
        let hold = Hold { presence: Arc::clone(&handle.presence) };
        Self { hold, session: Session::of(&handle.session), handle }
    }

    /// A view of the hold, to pass to tasks.
    #[must_use]
    pub fn hold(&self) -> Hold {
        self.hold.clone()
    }

    /// The session that holds it.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Hands the locks over to a session that waits for them (`None`: to the first in the queue), in one step and
    /// without a gap in which they have no holder. Returns the next holder's token. The work must have stopped: from
    /// the call on, this hold is no longer valid, and if the handoff fails, the locks are released.
    ///
    /// # Errors
    /// `Lost` or `Refused` (with `TransferImpossible` if no waiter could hold next); `Unavailable`.
    pub async fn transfer_to(self, session_id: Option<&str>) -> Result<u64> {
        if let Some(reason) = self.hold.presence.end_as_released() {
            return Err(Error::Lost(reason));
        }
        let name = self.names().first().cloned().unwrap_or_default();
        self.session.connection().hand_over(&name, self.session.id(), self.token(), session_id).await
    }

    /// Replaces the labels of the claim.
    ///
    /// # Errors
    /// `Refused`; `Unavailable`.
    pub async fn update_metadata(&self, metadata: Metadata) -> Result<()> {
        let name = self.names().first().cloned().unwrap_or_default();
        self.session.connection().update_claim(&name, self.session.id(), self.token(), metadata).await.map(drop)
    }

    /// Releases the locks, and returns when the server has released them.
    ///
    /// # Errors
    /// `Lost` if the hold had been lost before, even if only the server knows that; `Unavailable` if no server answered
    /// in time, and then the release is repeated in the background; `Refused`.
    pub async fn release(self) -> Result<()> {
        let span = tracing::info_span!(
            "tenure.release",
            otel.kind = "client",
            tenure.lock.names = trace::joined(self.names()),
            tenure.fencing_token = self.token()
        );
        let Self { handle, session, .. } = self;
        drop(session);
        handle.release().instrument(span).await
    }
}

impl Deref for Guard {
    type Target = Hold;

    fn deref(&self) -> &Hold {
        &self.hold
    }
}
