//! Handles to what was declared. Dropping one withdraws it, in the background.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Connection;
use super::table::Declaration;
use crate::error::{Error, LostReason, Result};
use crate::latest::Latest;
use crate::presence::{HoldPresence, SessionPresence};

/// A session.
#[derive(Debug)]
pub(crate) struct SessionHandle {
    pub(super) number: u64,
    pub(super) latest: watch::Receiver<Latest>,
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) ttl: Duration,
    pub(crate) disconnect_grace: Option<Duration>,
    pub(crate) presence: Arc<SessionPresence>,
    pub(crate) connection: Connection,
}

impl SessionHandle {
    /// Closes the session, and returns when the server has closed it.
    pub(crate) async fn close(&self) -> Result<()> {
        self.withdraw();
        self.connection.end(self.latest.clone()).await.map(drop)
    }

    fn withdraw(&self) {
        self.presence.end(LostReason::Closed);
        self.connection.change(|table, now| table.withdraw(self.number, now));
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// A claim or a membership, in a session that it keeps open.
#[derive(Debug)]
pub(crate) struct PartHandle {
    pub(super) number: u64,
    pub(super) latest: watch::Receiver<Latest>,
    pub(crate) session: Arc<SessionHandle>,
}

impl PartHandle {
    pub(super) fn new((number, latest): Declaration, session: Arc<SessionHandle>) -> Self {
        Self { number, latest, session }
    }

    /// The state of it, from now on.
    pub(crate) fn latest(&self) -> watch::Receiver<Latest> {
        self.latest.clone()
    }

    /// Withdraws it, and returns when the server has ended it. A session that was opened for it is closed.
    ///
    /// # Errors
    /// `Lost` if it had been lost before.
    pub(crate) async fn end(self) -> Result<()> {
        let (latest, connection) = (self.latest.clone(), self.session.connection.clone());
        drop(self);
        connection.end(latest).await?.into_released()
    }
}

impl Drop for PartHandle {
    fn drop(&mut self) {
        // A membership ends with a session of its own. A hold is released first, so that history says so.
        let ends_with_session =
            Arc::strong_count(&self.session) == 1 && matches!(*self.latest.borrow(), Latest::Joined(_));
        if !ends_with_session {
            self.session.connection.change(|table, now| table.withdraw(self.number, now));
        }
    }
}

/// A hold.
#[derive(Debug)]
pub(crate) struct HoldHandle {
    pub(crate) presence: Arc<HoldPresence>,
    /// Dropped before the claim, which is then the last that keeps a session of its own.
    pub(crate) session: Arc<SessionHandle>,
    /// Until the hold is released.
    claim: Option<PartHandle>,
}

impl HoldHandle {
    pub(super) fn new(presence: HoldPresence, claim: PartHandle) -> Self {
        Self { presence: Arc::new(presence), session: Arc::clone(&claim.session), claim: Some(claim) }
    }

    /// Releases the hold, and returns when the server has released it.
    ///
    /// # Errors
    /// `Lost` if the hold was lost before.
    pub(crate) async fn release(mut self) -> Result<()> {
        if let Some(reason) = self.presence.end_as_released() {
            return Err(Error::Lost(reason));
        }
        let Some(claim) = self.claim.take() else { return Ok(()) };
        drop(self);
        claim.end().await
    }
}

impl Drop for HoldHandle {
    fn drop(&mut self) {
        self.presence.end_as_released();
    }
}
