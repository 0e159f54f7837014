//! Sessions: this program's presence at the service.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tracing::Instrument;

use crate::clock;
use crate::connection::{Connection, SessionHandle};
use crate::error::{LostReason, Result};
use crate::options::SessionOptions;
use crate::presence::SessionState;

/// This program's presence at the service. All its holds and waits end with it.
///
/// A session is renewed in the background. Clones are handles to the same session; when the last one and the last
/// [`Guard`](crate::Guard) are dropped, it is closed in the background.
#[derive(Clone, Debug)]
pub struct Session {
    handle: Arc<SessionHandle>,
}

impl Session {
    /// Opens a session, which is then renewed in the background.
    pub(crate) async fn open(connection: &Connection, options: &SessionOptions) -> Result<Self> {
        let span = tracing::info_span!("tenure.open_session", otel.kind = "client");
        Ok(Self { handle: connection.open_session(options).instrument(span).await? })
    }

    /// Another handle to the same session.
    pub(crate) fn of(handle: &Arc<SessionHandle>) -> Self {
        Self { handle: Arc::clone(handle) }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.handle.id
    }

    /// Its owner label.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.handle.owner
    }

    /// The TTL.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.handle.ttl
    }

    /// The disconnect grace.
    #[must_use]
    pub fn disconnect_grace(&self) -> Option<Duration> {
        self.handle.disconnect_grace
    }

    /// Whether the server cannot have ended the session, decided by the clock at this moment: a process that was paused
    /// for too long gets `false` when it resumes. Once `false` it stays so.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.lost_reason().is_none()
    }

    /// The moment at which the session is lost without another renewal. In the past once it is lost.
    ///
    /// `Instant` stops while the machine is suspended; to decide whether the session is valid, call
    /// [`is_valid`](Self::is_valid).
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        let left = self.handle.presence.until().since(clock::now());
        Instant::now() + if self.is_valid() { left } else { Duration::ZERO }
    }

    /// The session's state, and each change of it.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<SessionState> {
        self.handle.presence.subscribe()
    }

    /// Waits until the session is lost: before the server could end it, or as soon as it reports the end.
    pub async fn lost(&self) -> LostReason {
        self.handle.presence.lost().await
    }

    /// Why the session is lost, if it is, decided by the clock at this moment.
    pub(crate) fn lost_reason(&self) -> Option<LostReason> {
        self.handle.presence.lost_reason()
    }

    /// Closes the session, with all its holds and waits. Returns when the server has closed it.
    ///
    /// # Errors
    /// `Unavailable` if no server answered in time; the session then ends by its TTL at the latest.
    pub async fn close(&self) -> Result<()> {
        self.handle.close().await
    }

    pub(crate) fn handle(&self) -> &Arc<SessionHandle> {
        &self.handle
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.handle.connection
    }
}
