//! The server's own lease, and the service clock that advances only while the lease is valid.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::Tick;

use crate::cluster::clock::Clock;

/// The largest step of the service clock. If read at least this often, it runs continuously; a server that was frozen
/// in between could accept no renewals, so that time must not count.
const LONGEST_STEP: Duration = Duration::from_millis(100);

/// The right of this server to answer renewals, and the time for which it was able to.
pub struct Lease {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    /// The expiry of the lease, on the clock. `None`: it needs no renewal, because no other server could adopt.
    until: Option<Duration>,
    /// The lease has ended, even if a heartbeat is still in flight.
    over: bool,
    tick: Tick,
    looked: Duration,
}

impl Lease {
    /// A lease that has not begun.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let looked = clock.now();
        let state = State { until: Some(Duration::ZERO), over: false, tick: Tick::ZERO, looked };
        Self { clock, state: Mutex::new(state) }
    }

    /// The current time, to record when a heartbeat is sent.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Extends the lease to `validity` after `sent`, once the heartbeat sent then is committed. Returns whether the
    /// lease had lapsed.
    pub fn extend(&self, sent: Duration, validity: Duration) -> bool {
        let now = self.clock.now();
        let mut state = self.lock();
        let lapsed = !state.look(now);
        if state.over {
            return false;
        }
        state.until = state.until.map(|until| until.max(sent + validity));
        lapsed
    }

    /// Makes the lease permanent, because no other server can adopt.
    pub fn hold_for_ever(&self) {
        let mut state = self.lock();
        if !state.over {
            state.until = None;
        }
    }

    /// Ends the lease permanently.
    pub fn revoke(&self) {
        let mut state = self.lock();
        (state.until, state.over) = (Some(Duration::ZERO), true);
    }

    /// The time on the service clock, if the lease is valid.
    #[must_use]
    pub fn tick(&self) -> Option<Tick> {
        let now = self.clock.now();
        let mut state = self.lock();
        state.look(now).then_some(state.tick)
    }

    /// The time on the service clock, whether or not the lease is valid.
    #[must_use]
    pub fn standing_tick(&self) -> Tick {
        let now = self.clock.now();
        let mut state = self.lock();
        state.look(now);
        state.tick
    }

    /// The remaining time of the lease; `None` if it is permanent.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        let now = self.clock.now();
        self.lock().until.map(|until| until.saturating_sub(now))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Advances the service clock; returns whether the lease is valid.
    fn look(&mut self, now: Duration) -> bool {
        let served = self.until.map_or(now, |until| until.min(now));
        self.tick += served.saturating_sub(self.looked).min(LONGEST_STEP);
        self.looked = self.looked.max(now);
        self.until.is_none_or(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FixedClock;

    impl Clock for FixedClock {
        fn now(&self) -> Duration {
            Duration::from_secs(100)
        }
    }

    #[test]
    fn pending_heartbeat_does_not_renew_a_revoked_lease() {
        let lease = Lease::new(Arc::new(FixedClock));
        lease.extend(lease.now(), Duration::from_secs(9));
        assert!(lease.tick().is_some());
        lease.revoke();
        assert!(!lease.extend(lease.now(), Duration::from_secs(9)), "the lease was revoked");
        lease.hold_for_ever();
        assert_eq!((lease.tick(), lease.left()), (None, Some(Duration::ZERO)));
    }
}
