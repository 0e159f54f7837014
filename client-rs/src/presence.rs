//! The validity of sessions and holds, shared by handles and the connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::clock::{self, Moment};
use crate::error::LostReason;
use crate::handoff::TransferRequest;
use crate::progress::Progress;
use crate::validity::{Phase, Validity};

/// The state of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionState {
    /// Recently renewed.
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
#[derive(Debug)]
pub(crate) struct SessionPresence {
    validity: Mutex<Validity>,
    state: watch::Sender<SessionState>,
    /// Whether a renewal is due and held back.
    stalled: AtomicBool,
}

impl SessionPresence {
    pub(crate) fn new(ttl: Duration, disconnect_grace: Option<Duration>, sent: Moment) -> Self {
        Self {
            validity: Mutex::new(Validity::new(ttl, disconnect_grace, sent)),
            state: watch::Sender::new(SessionState::Healthy),
            stalled: AtomicBool::new(false),
        }
    }

    /// The state of the session. The first caller to see that it has expired records the loss for all handles.
    pub(crate) fn check(&self, now: Moment) -> SessionState {
        let phase = self.validity().phase(now);
        // The result of nearly every check is read without excluding other readers.
        if phase == Phase::Healthy && *self.state.borrow() == SessionState::Healthy {
            return SessionState::Healthy;
        }
        self.publish(phase);
        self.state.borrow().clone()
    }

    /// Why the session is lost, if it is.
    pub(crate) fn lost_reason(&self) -> Option<LostReason> {
        match self.check(clock::now()) {
            SessionState::Lost(reason) => Some(reason),
            SessionState::Healthy | SessionState::AtRisk => None,
        }
    }

    /// A renewal was answered.
    pub(crate) fn renewed(&self, ttl: Duration, sent: Moment, now: Moment) {
        self.validity().renewed(ttl, sent, now);
        self.check(now);
    }

    /// A command to attach it was answered.
    pub(crate) fn attached(&self, ttl: Duration, disconnect_grace: Option<Duration>, sent: Moment, now: Moment) {
        self.validity().attached(ttl, disconnect_grace, sent, now);
        self.check(now);
    }

    /// Records whether a renewal is held back for lack of progress, which is then the reason of a loss. Returns whether
    /// that has changed.
    pub(crate) fn set_stalled(&self, stalled: bool) -> bool {
        self.is_stalled() != stalled && self.stalled.swap(stalled, Ordering::Relaxed) != stalled
    }

    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    /// Ends it. The first reason stays.
    pub(crate) fn end(&self, reason: LostReason) {
        self.validity().end();
        self.state.send_if_modified(|state| {
            let ends = !matches!(state, SessionState::Lost(_));
            if ends {
                *state = SessionState::Lost(reason);
            }
            ends
        });
    }

    pub(crate) fn next_change(&self, now: Moment) -> Option<Moment> {
        self.validity().next_change(now)
    }

    pub(crate) fn until(&self) -> Moment {
        self.validity().until()
    }

    pub(crate) fn ttl(&self) -> Duration {
        self.validity().ttl()
    }

    pub(crate) fn disconnect_grace(&self) -> Option<Duration> {
        self.validity().disconnect_grace()
    }

    pub(crate) fn window(&self) -> Duration {
        self.validity().window()
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

    fn publish(&self, phase: Phase) {
        self.state.send_if_modified(|state| {
            let next = match (phase, &*state) {
                (_, SessionState::Lost(_)) => return false,
                (Phase::Healthy, _) => SessionState::Healthy,
                (Phase::AtRisk, _) => SessionState::AtRisk,
                (Phase::Over, _) if self.is_stalled() => SessionState::Lost(LostReason::Stalled),
                (Phase::Over, _) => SessionState::Lost(LostReason::Unrenewed),
            };
            let changes = next != *state;
            *state = next;
            changes
        });
    }

    fn validity(&self) -> MutexGuard<'_, Validity> {
        // The arithmetic under this lock does not panic; a poisoned lock would still hold a usable value.
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
    fate: watch::Sender<Fate>,
}

/// The state of a hold.
#[derive(Debug, Default)]
struct Fate {
    ended: Option<LostReason>,
    handoff: Option<TransferRequest>,
}

impl HoldPresence {
    pub(crate) fn new(
        session: Arc<SessionPresence>,
        names: Arc<[String]>,
        token: u64,
        progress: Option<Progress>,
    ) -> Self {
        Self { session, names, token, progress, fate: watch::Sender::default() }
    }

    /// The server asks for a handoff.
    pub(crate) fn hand_over(&self, request: TransferRequest) {
        self.fate.send_modify(|fate| fate.handoff = Some(request));
    }

    pub(crate) fn transfer_request(&self) -> Option<TransferRequest> {
        self.fate.borrow().handoff.clone()
    }

    pub(crate) async fn transfer_requested(&self) -> TransferRequest {
        let mut fate = self.fate.subscribe();
        loop {
            if let Some(request) = self.transfer_request() {
                return request;
            }
            // The sender is a field of `self`: it cannot be gone.
            let _ = fate.changed().await;
        }
    }

    /// Why it is lost, if it is.
    pub(crate) fn lost_reason(&self) -> Option<LostReason> {
        let ended = self.fate.borrow().ended.clone();
        ended.or_else(|| self.session.lost_reason())
    }

    /// Ends it. The first reason stays.
    pub(crate) fn end(&self, reason: LostReason) {
        self.fate.send_if_modified(|fate| {
            let ends = fate.ended.is_none();
            if ends {
                fate.ended = Some(reason);
            }
            ends
        });
    }

    /// Ends it because the program released it. A hold that was lost before stays lost: returns the reason.
    pub(crate) fn end_as_released(&self) -> Option<LostReason> {
        let lost = self.lost_reason();
        self.end(lost.clone().unwrap_or(LostReason::Released));
        lost
    }

    pub(crate) async fn lost(&self) -> LostReason {
        let mut fate = self.fate.subscribe();
        loop {
            if let Some(reason) = self.lost_reason() {
                return reason;
            }
            tokio::select! {
                // The sender is a field of `self`: it cannot be gone.
                _ = fate.changed() => {}
                reason = self.session.lost() => return reason,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hold whose session lives for so long from now.
    fn hold(ttl: Duration) -> HoldPresence {
        let session = Arc::new(SessionPresence::new(ttl, None, clock::now()));
        HoldPresence::new(session, Arc::new(["job".to_owned()]), 7, None)
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
}
