//! Draws the random choices of programs: session options, lock requests, and how holds are used.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_checker::Sharing;

use crate::ProgramOptions;

/// Upper bound of hold times, in ms.
const MAX_HOLD: u64 = 2_500;

/// Upper bound of short hold times, in ms, for programs whose holds are mostly short.
const MAX_SHORT_HOLD: u64 = 200;

/// Options of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionParameters {
    /// Its TTL.
    pub ttl: Duration,
    /// Its disconnect grace.
    pub grace: Option<Duration>,
}

impl SessionParameters {
    /// Draws session options.
    pub fn draw(rng: &mut StdRng, options: &ProgramOptions) -> Self {
        let ttl = Duration::from_millis(rng.random_range(600..3_000));
        let grace = (rng.random_range(0..3) == 0).then(|| rng.random_range(options.graces.clone()));
        Self { ttl, grace: grace.map(Duration::from_millis) }
    }
}

/// A lock request.
#[derive(Clone, Debug)]
pub struct LockRequest {
    /// The locks.
    pub names: Vec<String>,
    /// How they are shared.
    pub sharing: Sharing,
    /// The priority.
    pub priority: i32,
    /// Wait time.
    pub wait: Duration,
}

impl LockRequest {
    /// Draws a request for some of this many locks.
    pub fn draw(rng: &mut StdRng, locks: u32) -> Self {
        let (names, sharing) = choose(rng, locks);
        let priority = i32::from(rng.random_range(0..8) == 0);
        Self { names, sharing, priority, wait: Duration::from_millis(rng.random_range(0..2_000)) }
    }
}

fn choose(rng: &mut StdRng, locks: u32) -> (Vec<String>, Sharing) {
    let number = rng.random_range(0..locks);
    match number % 4 {
        0 | 1 if rng.random_range(0..4) == 0 => {
            (vec![format!("lock/{number}"), format!("lock/{}", number ^ 1)], Sharing::Exclusive)
        }
        0 | 1 => (vec![format!("lock/{number}")], Sharing::Exclusive),
        2 if rng.random() => (vec![format!("book/{number}")], Sharing::Shared),
        2 => (vec![format!("book/{number}")], Sharing::Exclusive),
        _ => (vec![format!("pool/{number}")], Sharing::Permits(2)),
    }
}

/// Draws a hold time.
pub fn draw_hold_time(rng: &mut StdRng, options: &ProgramOptions) -> Duration {
    let is_short = options.mostly_short && rng.random_range(0..4) > 0;
    Duration::from_millis(rng.random_range(0..if is_short { MAX_SHORT_HOLD } else { MAX_HOLD }))
}

/// Draws the pause until a hold is checked again.
pub fn draw_check_interval(rng: &mut StdRng) -> Duration {
    Duration::from_millis(rng.random_range(1..150))
}

/// How a hold ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldEnd {
    /// By dropping it, without an explicit release.
    Drop,
    /// By a transfer to the first waiter.
    Transfer,
    /// By a release.
    Release,
}

impl HoldEnd {
    /// Draws an ending; a release in most cases.
    pub fn draw(rng: &mut StdRng) -> Self {
        match rng.random_range(0..8) {
            0 | 1 => Self::Drop,
            2 => Self::Transfer,
            _ => Self::Release,
        }
    }
}
