//! Pauses between attempts: longer each time, and different for each client.

use std::time::Duration;

use rand::RngExt;

/// Doubling pauses with jitter: each is drawn from the upper half of its step.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    tries: u32,
}

impl Backoff {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, tries: 0 }
    }

    /// Between attempts of a call, or of a command that was refused temporarily.
    pub(crate) fn of_commands() -> Self {
        Self::new(Duration::from_millis(20), Duration::from_millis(500))
    }

    /// Between attempts of long-lived roles: to lead, to join, to watch.
    pub(crate) fn of_roles() -> Self {
        Self::new(Duration::from_millis(50), Duration::from_millis(500))
    }

    /// The pause before the next attempt.
    pub(crate) fn next_pause(&mut self) -> Duration {
        let step = self.first.saturating_mul(1 << self.tries.min(16)).min(self.longest);
        self.tries = self.tries.saturating_add(1);
        step.mul_f64(rand::rng().random_range(0.5..=1.0))
    }

    /// Starts again with a short pause, after a success.
    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_within_their_bounds() {
        let (first, longest) = (Duration::from_millis(50), Duration::from_secs(1));
        let mut backoff = Backoff::new(first, longest);
        let pauses: Vec<_> = (0..40).map(|_| backoff.next_pause()).collect();
        assert!(pauses[0] >= first / 2 && pauses[0] <= first);
        assert!(pauses[1] >= first && pauses[1] <= first * 2);
        assert!(pauses[20..].iter().all(|pause| *pause >= longest / 2 && *pause <= longest));
        backoff.reset();
        assert!(backoff.next_pause() <= first);
    }
}
