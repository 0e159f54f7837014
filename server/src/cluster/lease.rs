//! The server's own lease, and the service clock that stands still without it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::Tick;
use tenure_core::defect::Defect;

use crate::cluster::clock::Clock;

/// The most that the service clock moves at once. Whoever looks at it at least this often sees it run; a server that was
/// frozen in between could take no renewals, so that time counts for nobody.
const LONGEST_STEP: Duration = Duration::from_millis(100);

/// The right of this server to answer renewals, and how long it has been able to.
pub struct Lease {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    /// Until when the lease holds, on the clock. `None`: it needs no renewal, because nobody else could adopt.
    until: Option<Duration>,
    /// It was given up, whatever heartbeat may still be under way.
    over: bool,
    tick: Tick,
    looked: Duration,
}

impl Lease {
    /// A lease that has yet to begin.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let looked = clock.now();
        let state = State { until: Some(Duration::ZERO), over: false, tick: Tick::ZERO, looked };
        Self { clock, state: Mutex::new(state) }
    }

    /// The time now, to note when a heartbeat is sent.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// A heartbeat that was sent at `sent` has been committed: the lease holds for `validity` from then. Returns whether it had run out.
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

    /// The lease holds for ever: no other server can adopt.
    pub fn hold_for_ever(&self) {
        let mut state = self.lock();
        if !state.over {
            state.until = None;
        }
    }

    /// The lease is over for good.
    pub fn give_up(&self) {
        let mut state = self.lock();
        (state.until, state.over) = (Some(Duration::ZERO), true);
    }

    /// The moment on the service clock, if the lease holds.
    #[must_use]
    pub fn tick(&self) -> Option<Tick> {
        let now = self.clock.now();
        let mut state = self.lock();
        (state.look(now) || Defect::LeaseIgnored.is_here()).then_some(state.tick)
    }

    /// The moment on the service clock, whether or not the lease holds.
    #[must_use]
    pub fn standing_tick(&self) -> Tick {
        let now = self.clock.now();
        let mut state = self.lock();
        state.look(now);
        state.tick
    }

    /// How long the lease holds on; `None` if for ever.
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
    /// Moves the service clock on; tells whether the lease holds.
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

    struct Late;

    impl Clock for Late {
        fn now(&self) -> Duration {
            Duration::from_secs(100)
        }
    }

    #[test]
    fn no_heartbeat_that_is_still_under_way_brings_back_what_was_given_up() {
        let lease = Lease::new(Arc::new(Late));
        lease.extend(lease.now(), Duration::from_secs(9));
        assert!(lease.tick().is_some());
        lease.give_up();
        assert!(!lease.extend(lease.now(), Duration::from_secs(9)), "no session lives on by it");
        lease.hold_for_ever();
        assert_eq!((lease.tick(), lease.left()), (None, Some(Duration::ZERO)));
    }
}
