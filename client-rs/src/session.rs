//! Sessions: this program's presence at the service.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_proto::v1;
use tokio_stream::Stream;

use crate::clock::{self, Moment};
use crate::connection::Connection;
use crate::convert::from_wire;
use crate::error::{LostReason, Result};
use crate::presence::Presence;

/// This program's presence at the service. All its holds and waits end with it.
///
/// A session is renewed in the background. Clones are handles to the same session; when the last one and the last
/// [`Guard`](crate::Guard) are dropped, it is closed in the background.
#[derive(Clone, Debug)]
pub struct Session(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    number: u64,
    presence: Arc<Presence>,
    declared: v1::DeclaredSession,
    connection: Connection,
}

/// The state of a session.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum SessionState {
    /// Recently renewed.
    #[default]
    Healthy,
    /// Still valid, but a renewal is overdue (no server answered, or there was no [`Progress`](crate::Progress)): less
    /// than a third of the TTL, or of the disconnect grace, is left.
    AtRisk,
    /// Lost, finally. The locks may be granted to others.
    Lost(LostReason),
}

impl Session {
    pub(crate) fn new(
        number: u64,
        presence: Arc<Presence>,
        declared: v1::DeclaredSession,
        connection: Connection,
    ) -> Self {
        Self(Arc::new(Inner { number, presence, declared, connection }))
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.0.declared.session_id
    }

    /// Its owner label.
    pub fn owner(&self) -> &str {
        &self.0.declared.owner
    }

    /// The TTL.
    pub fn ttl(&self) -> Duration {
        from_wire(self.0.declared.ttl)
    }

    /// The disconnect grace.
    pub fn disconnect_grace(&self) -> Option<Duration> {
        self.0.declared.disconnect_grace.is_some().then(|| from_wire(self.0.declared.disconnect_grace))
    }

    /// Whether the server cannot have ended the session, decided by the clock at this moment: a process that was paused
    /// for too long gets `false` when it resumes. Once `false` it stays so.
    pub fn is_valid(&self) -> bool {
        self.lost_reason().is_none()
    }

    /// The moment at which the session is lost without another renewal. In the past once it is lost.
    ///
    /// `Instant` stops while the machine is suspended; to decide whether the session is valid, call
    /// [`is_valid`](Self::is_valid).
    pub fn valid_until(&self) -> Instant {
        let validity = self.0.presence.validity().filter(|_| self.is_valid());
        Instant::now() + validity.map_or(Duration::ZERO, |validity| validity.until().since(clock::now()))
    }

    /// The session's state, decided by the clock at this moment.
    pub fn state(&self) -> SessionState {
        self.0.presence.state()
    }

    /// The session's state, now and after each change. Ends after the loss, and does not keep the session open.
    pub fn states(&self) -> impl Stream<Item = SessionState> + Send + Unpin + 'static {
        let start = (Arc::clone(&self.0.presence), None);
        Box::pin(futures::stream::unfold(start, |(presence, last)| async move {
            if matches!(last, Some(SessionState::Lost(_))) {
                return None;
            }
            let state = presence.state_after(last.as_ref()).await;
            Some((state.clone(), (presence, Some(state))))
        }))
    }

    /// Waits until the session is lost: before the server could end it, or as soon as it reports the end.
    pub async fn lost(&self) -> LostReason {
        self.0.presence.lost().await
    }

    /// Why the session is lost, if it is, decided by the clock at this moment.
    pub fn lost_reason(&self) -> Option<LostReason> {
        self.0.presence.lost_reason()
    }

    /// Closes the session, with all its holds and waits. Returns when the server has closed it.
    ///
    /// # Errors
    /// `Unavailable` if no server answered in time; the session then ends by its TTL at the latest.
    pub async fn close(&self) -> Result<()> {
        self.0.withdraw();
        self.0.connection.end(&self.0.presence).await.map(drop)
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    pub(crate) fn presence(&self) -> &Arc<Presence> {
        &self.0.presence
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.0.connection
    }
}

impl Presence {
    fn state(&self) -> SessionState {
        match (self.lost_reason(), self.validity()) {
            (Some(reason), _) => SessionState::Lost(reason),
            (None, Some(validity)) if clock::now() >= validity.at_risk_from() => SessionState::AtRisk,
            _ => SessionState::Healthy,
        }
    }

    async fn state_after(&self, last: Option<&SessionState>) -> SessionState {
        self.wait(|_| match self.state() {
            state if last != Some(&state) => Ok(state),
            SessionState::AtRisk => Err(self.until()),
            _ => Err(self.validity().map_or(Moment(Duration::MAX), |validity| validity.at_risk_from())),
        })
        .await
    }
}

impl Inner {
    fn withdraw(&self) {
        self.presence.withdraw();
        self.connection.change(|table, now| table.withdraw(self.number, now));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.withdraw();
    }
}
