//! What a server can take: a closed loop, of more and more at a time, until that does not make it faster.

use std::time::Duration;

use super::flood::{Flood, Pace};

/// How many are under way at a time at first, and how many times more each time.
const FIRST: usize = 64;
const STEP: usize = 4;

/// The most at a time: no more than a server lets wait.
const MOST: usize = 8_192;

/// More at a time is worth it if it makes this much faster.
const WORTH: f64 = 1.1;

/// What a server can take.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Locks taken and given back in a second.
    pub rate: f64,
    /// How many were under way at a time.
    pub at_once: usize,
}

/// Measures it, in steps of this time.
///
/// # Errors
/// If a stream ends, or something is refused.
pub async fn measure(mut flood: Flood, step: Duration) -> anyhow::Result<(Flood, Capacity)> {
    let mut best = Capacity { rate: 0.0, at_once: 0 };
    let mut at_once = FIRST;
    while at_once <= MOST {
        let mut rate;
        (flood, rate) = closed(flood, at_once, step).await?;
        if rate < best.rate * WORTH {
            // Once more: the machine may have been at something else.
            (flood, rate) = closed(flood, at_once, step).await?;
        }
        if rate < best.rate * WORTH {
            break;
        }
        best = Capacity { rate, at_once };
        at_once *= STEP;
    }
    Ok((flood, best))
}

/// The rate at so many at a time.
///
/// # Errors
/// If a stream ends, or something is refused.
pub async fn closed(flood: Flood, at_once: usize, time: Duration) -> anyhow::Result<(Flood, f64)> {
    let (flood, tally) = flood.run(Pace::Closed(at_once), time).await?;
    anyhow::ensure!(tally.unexpected.is_empty(), "{at_once} at a time are refused: {:?}", tally.unexpected);
    Ok((flood, tally.rate()))
}
