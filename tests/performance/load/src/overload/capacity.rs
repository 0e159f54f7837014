//! Measures the capacity of a server: a closed loop, with increasing concurrency until the throughput stops rising.

use std::time::Duration;

use super::flood::{Flood, Pace};

/// The initial concurrency, and the factor of each step.
const FIRST: usize = 64;
const STEP: usize = 4;

/// The maximum concurrency: no more than a server queues.
const MOST: usize = 8_192;

/// A step is worth it if it raises the throughput by this factor.
const WORTH: f64 = 1.1;

/// The capacity of a server.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Locks acquired and released per second.
    pub rate: f64,
    /// The concurrency at that rate.
    pub at_once: usize,
}

/// Measures the capacity, in steps of this duration.
///
/// # Errors
/// If a stream ends, or a command is rejected.
pub async fn measure(mut flood: Flood, step: Duration) -> anyhow::Result<(Flood, Capacity)> {
    let mut best = Capacity { rate: 0.0, at_once: 0 };
    let mut at_once = FIRST;
    while at_once <= MOST {
        let mut rate;
        (flood, rate) = closed(flood, at_once, step).await?;
        if rate < best.rate * WORTH {
            // Measured again: other programs may have used the machine.
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

/// Measures the rate at this concurrency.
///
/// # Errors
/// If a stream ends, or a command is rejected.
pub async fn closed(flood: Flood, at_once: usize, time: Duration) -> anyhow::Result<(Flood, f64)> {
    let (flood, tally) = flood.run(Pace::Closed(at_once), time).await?;
    anyhow::ensure!(
        tally.unexpected.is_empty(),
        "commands are rejected at a concurrency of {at_once}: {:?}",
        tally.unexpected
    );
    Ok((flood, tally.rate()))
}
