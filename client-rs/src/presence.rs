//! The validity of sessions and holds, shared by handles and the connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::clock::{self, Moment};
use crate::error::LostReason;
use crate::handoff::TransferRequest;
use crate::latest::Latest;
use crate::progress::Progress;
use crate::protocol::Validity;

/// The state of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionState {
    /// Recently renewed.
    #[default]
    Healthy,
    /// Still valid, but a renewal is overdue (no server answered, or there was no [`Progress`]): less than a third of
    /// the TTL, or of the disconnect grace, is left.
    AtRisk,
    /// Lost, finally. The locks may be granted to others.
    Lost(LostReason),
}

/// The runtime's timers stop while the machine is suspended, so every task reads the clock at least this often.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// One session's validity, decided by the clock at the moment of the check.
#[derive(Debug, Default)]
pub(crate) struct SessionPresence {
    /// `None` before it is open: neither at risk nor lost.
    validity: Mutex<Option<Validity>>,
    state: watch::Sender<SessionState>,
    /// Whether it is not renewed because there is no progress.
    stalled: AtomicBool,
}

impl SessionPresence {
    /// The state of the session. The first caller to see that it has expired records the loss for all handles.
    pub(crate) fn check(&self, now: Moment) -> SessionState {
        let validity = *self.validity();
        let next = match validity {
            Some(validity) if now >= validity.until() && self.is_stalled() => SessionState::Lost(LostReason::Stalled),
            Some(validity) if now >= validity.until() => SessionState::Lost(LostReason::Unrenewed),
            Some(validity) if now >= validity.at_risk_from() => SessionState::AtRisk,
            _ => SessionState::Healthy,
        };
        // The result of nearly every check is read without excluding other readers.
        let before = self.state.borrow().clone();
        if before == next || matches!(before, SessionState::Lost(_)) {
            return before;
        }
        self.publish(next);
        self.state.borrow().clone()
    }

    /// Whether its state as open was received.
    pub(crate) fn is_open(&self) -> bool {
        self.validity().is_some()
    }

    /// Why the session is lost, if it is.
    pub(crate) fn lost_reason(&self) -> Option<LostReason> {
        match self.check(clock::now()) {
            SessionState::Lost(reason) => Some(reason),
            SessionState::Healthy | SessionState::AtRisk => None,
        }
    }

    /// It was opened or renewed. Returns whether it is lost nevertheless, because that came too late.
    pub(crate) fn renewed(&self, validity: Validity, now: Moment) -> bool {
        if !matches!(self.check(now), SessionState::Lost(_)) {
            *self.validity() = Some(validity);
        }
        matches!(self.check(now), SessionState::Lost(_))
    }

    /// Records whether it is not renewed for lack of progress, which is then the reason of a loss. Returns whether that
    /// has changed.
    pub(crate) fn set_stalled(&self, stalled: bool) -> bool {
        self.stalled.swap(stalled, Ordering::Relaxed) != stalled
    }

    fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    /// Ends it. The first reason stays.
    pub(crate) fn end(&self, reason: LostReason) {
        self.publish(SessionState::Lost(reason));
    }

    /// When it is lost without another renewal.
    pub(crate) fn until(&self) -> Moment {
        self.validity().map_or(Moment(Duration::MAX), |validity| validity.until())
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<SessionState> {
        self.state.subscribe()
    }

    /// Waits until the session is lost. Reads the clock itself, so that it depends on no other task to be on time.
    pub(crate) async fn lost(&self) -> LostReason {
        let mut state = self.state.subscribe();
        loop {
            let now = clock::now();
            if let SessionState::Lost(reason) = self.check(now) {
                return reason;
            }
            let nap = self.until().since(now).min(LONGEST_NAP);
            tokio::select! {
                // The sender is a field of `self`: it cannot be gone.
                _ = state.changed() => {}
                () = tokio::time::sleep(nap) => {}
            }
        }
    }

    /// A loss is final.
    fn publish(&self, next: SessionState) {
        self.state.send_if_modified(|state| {
            let changes = next != *state && !matches!(state, SessionState::Lost(_));
            if changes {
                *state = next;
            }
            changes
        });
    }

    fn validity(&self) -> MutexGuard<'_, Option<Validity>> {
        // Nothing under this lock panics; a poisoned lock would still hold a usable value.
        self.validity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One hold's validity: its session's, unless the hold ended before.
#[derive(Debug)]
pub(crate) struct HoldPresence {
    pub(crate) session: Arc<SessionPresence>,
    pub(crate) names: Arc<[String]>,
    pub(crate) token: u64,
    /// The progress of the work under the hold, if it is renewed only while there is some.
    pub(crate) progress: Option<Progress>,
    /// The state of its claim.
    latest: watch::Receiver<Latest>,
    /// Why this program ended it, if it did.
    ended: watch::Sender<Option<LostReason>>,
}

impl HoldPresence {
    pub(crate) fn new(
        session: Arc<SessionPresence>,
        names: Arc<[String]>,
        token: u64,
        progress: Option<Progress>,
        latest: watch::Receiver<Latest>,
    ) -> Self {
        Self { session, names, token, progress, latest, ended: watch::Sender::default() }
    }

    pub(crate) fn transfer_request(&self) -> Option<TransferRequest> {
        if let Latest::Held { request, .. } = &*self.latest.borrow() { request.clone() } else { None }
    }

    pub(crate) async fn transfer_requested(&self) -> TransferRequest {
        let mut latest = self.latest.clone();
        loop {
            if let Some(request) = self.transfer_request() {
                return request;
            }
            if latest.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Why it is lost, if it is.
    pub(crate) fn lost_reason(&self) -> Option<LostReason> {
        let ended = self.ended.borrow().clone();
        ended.or_else(|| self.session.lost_reason()).or_else(|| self.latest.borrow().lost_reason())
    }

    /// Ends it because the program released it. A hold that was lost before stays lost: returns the reason.
    pub(crate) fn end_as_released(&self) -> Option<LostReason> {
        let lost = self.lost_reason();
        self.ended.send_replace(Some(lost.clone().unwrap_or(LostReason::Released)));
        lost
    }

    pub(crate) async fn lost(&self) -> LostReason {
        let (mut ended, mut latest) = (self.ended.subscribe(), self.latest.clone());
        loop {
            if let Some(reason) = self.lost_reason() {
                return reason;
            }
            tokio::select! {
                // The sender is a field of `self`: it cannot be gone.
                _ = ended.changed() => {}
                changed = latest.changed() => if changed.is_err() && self.lost_reason().is_none() {
                    return LostReason::Closed;
                },
                reason = self.session.lost() => return self.lost_reason().unwrap_or(reason),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hold whose session lives for so long from now.
    fn hold(valid_for: Duration) -> HoldPresence {
        let session = Arc::new(SessionPresence::default());
        let (renewed, renew_after, warn_after) = (clock::now(), valid_for, valid_for);
        session.renewed(Validity { renewed, renew_after, warn_after, valid_for }, renewed);
        let latest = watch::channel(Latest::Held { token: 7, request: None }).1;
        HoldPresence::new(session, Arc::new(["job".to_owned()]), 7, None, latest)
    }

    #[test]
    fn lost_hold_stays_lost_when_dropped() {
        let lost = hold(Duration::ZERO);
        assert_eq!(lost.end_as_released(), Some(LostReason::Unrenewed));
        assert_eq!(lost.lost_reason(), Some(LostReason::Unrenewed));
        let held = hold(Duration::from_secs(60));
        assert_eq!(held.end_as_released(), None);
        assert_eq!(held.lost_reason(), Some(LostReason::Released));
    }

    #[test]
    fn late_renewal_revives_nothing() {
        let session = SessionPresence::default();
        let at = |milliseconds| Moment(Duration::from_millis(milliseconds));
        let validity = |milliseconds| Validity {
            renewed: at(milliseconds),
            renew_after: Duration::from_millis(300),
            warn_after: Duration::from_millis(700),
            valid_for: Duration::from_millis(1_000),
        };
        assert!(!session.renewed(validity(0), at(10)));
        assert_eq!(session.check(at(699)), SessionState::Healthy);
        assert_eq!(session.check(at(700)), SessionState::AtRisk);
        assert!(!session.renewed(validity(300), at(710)));
        assert_eq!(session.check(at(720)), SessionState::Healthy);
        assert!(session.renewed(validity(600), at(1_300)));
        assert_eq!(session.check(at(1_300)), SessionState::Lost(LostReason::Unrenewed));
        // Not even for a clock that is read late.
        assert_eq!(session.check(at(700)), SessionState::Lost(LostReason::Unrenewed));
    }
}
