//! What handles know of their session, claim or membership.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use crate::clock::{self, Moment};
use crate::error::LostReason;
use crate::protocol::{End, Status, Validity};

/// The runtime's timers stop while the machine is suspended, so every task reads the clock at least this often.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// The status of a session, claim or membership. Its validity is decided by the clock at the moment of the check.
#[derive(Debug)]
pub(crate) struct Presence {
    status: Mutex<Status>,
    /// Notifies those who wait for another status.
    changed: Notify,
    /// That of its session. `None`: it is one.
    session: Option<Arc<Presence>>,
    /// Why it is lost: finally.
    lost: OnceLock<LostReason>,
}

impl Presence {
    /// Of something that is declared, in this session.
    pub(crate) fn new(session: Option<Arc<Self>>) -> Arc<Self> {
        let (status, changed, lost) = (Mutex::new(Status::Declared), Notify::new(), OnceLock::new());
        Arc::new(Self { status, changed, session, lost })
    }

    /// Its status.
    pub(crate) fn status(&self) -> Status {
        self.latest().clone()
    }

    fn latest(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets its status, and wakes those who wait for another one; except of a renewal in time, which changes nothing for
    /// them.
    pub(crate) fn set(&self, status: Status, now: Moment) {
        let is_open = matches!(status, Status::Open(_));
        let before = std::mem::replace(&mut *self.latest(), status);
        let was_healthy = matches!(before, Status::Open(validity) if now < validity.at_risk_from());
        if !(was_healthy && is_open) {
            self.changed.notify_waiters();
        }
    }

    /// That of its session, or itself.
    pub(crate) fn of_session(&self) -> &Self {
        self.session.as_deref().unwrap_or(self)
    }

    /// The validity of its session, while it is open.
    pub(crate) fn validity(&self) -> Option<Validity> {
        if let Status::Open(validity) = *self.of_session().latest() { Some(validity) } else { None }
    }

    /// Why it is lost, if it is. The first caller to see that it has expired records the loss for all handles.
    pub(crate) fn lost_reason(&self) -> Option<LostReason> {
        if let Some(reason) = self.lost.get() {
            return Some(reason.clone());
        }
        let of_session = self.session.as_ref().and_then(|session| session.lost_reason());
        let reason = of_session.or_else(|| match &*self.latest() {
            Status::Open(validity) => validity.loss(clock::now()),
            Status::Withdrawn | Status::Ended(End::Withdrawn) => Some(self.withdrawn()),
            Status::Ended(End::Lost(reason)) => Some(reason.clone()),
            Status::Ended(End::Busy(_) | End::Rejected(_)) => Some(LostReason::Forgotten),
            Status::Declared | Status::Waiting(_) | Status::Held { .. } | Status::Joined(_) => None,
        })?;
        Some(self.lost.get_or_init(|| reason).clone())
    }

    /// Whether a caller has seen that it is lost.
    pub(crate) fn is_recorded_as_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// The program ends it. The reason why it was lost before, if it was.
    pub(crate) fn withdraw(&self) -> Option<LostReason> {
        let lost = self.lost_reason();
        self.lost.get_or_init(|| self.withdrawn());
        lost
    }

    fn withdrawn(&self) -> LostReason {
        if self.session.is_some() { LostReason::Released } else { LostReason::Closed }
    }

    /// Waits until it is lost: before the server could end it, or as soon as the server reports the end.
    pub(crate) async fn lost(&self) -> LostReason {
        self.wait(|_| self.lost_reason().ok_or_else(|| self.until())).await
    }

    /// When it is lost without another renewal.
    pub(crate) fn until(&self) -> Moment {
        self.validity().map_or(Moment(Duration::MAX), |validity| validity.until())
    }

    /// Waits until `look` finds something at this moment. It is called after each change of the status, and at the
    /// moment that it returns otherwise. Reads the clock itself, so that it depends on no other task to be on time. A change of its session alone is none: at the session's end, its own end follows.
    pub(crate) async fn wait<T>(&self, mut look: impl FnMut(Moment) -> Result<T, Moment>) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let now = clock::now();
            let pause = match look(now) {
                Ok(found) => return found,
                Err(until) => until.since(now).min(LONGEST_NAP),
            };
            tokio::select! {
                biased;
                () = changed => {}
                () = sleep(pause) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Duration = Duration::from_secs(60);

    fn with(status: Status, session: Option<Arc<Presence>>) -> Arc<Presence> {
        let presence = Presence::new(session);
        presence.set(status, clock::now());
        presence
    }

    fn open(valid_for: Duration) -> Status {
        let (renew_after, warn_after) = (valid_for, valid_for);
        Status::Open(Validity { renewed: clock::now(), renew_after, warn_after, valid_for, is_paused: false })
    }

    #[test]
    fn lost_hold_stays_lost_when_withdrawn() {
        let of_session = |valid_for| with(open(valid_for), None);
        let hold = |session| with(Status::Held { token: 7, transfer: None }, Some(session));
        let lost = hold(of_session(Duration::ZERO));
        assert_eq!(lost.withdraw(), Some(LostReason::Unrenewed));
        assert_eq!(lost.lost_reason(), Some(LostReason::Unrenewed));
        let held = hold(of_session(FAR));
        assert_eq!((held.lost_reason(), held.withdraw()), (None, None));
        assert_eq!(held.lost_reason(), Some(LostReason::Released));
    }

    #[tokio::test]
    async fn late_renewal_revives_nothing() {
        let session = Presence::new(None);
        assert_eq!(session.lost_reason(), None);
        session.set(open(Duration::ZERO), clock::now());
        assert_eq!(session.lost().await, LostReason::Unrenewed);
        session.set(open(FAR), clock::now());
        assert_eq!(session.lost_reason(), Some(LostReason::Unrenewed));
    }
}
