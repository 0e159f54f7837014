//! Waiting for a condition, with a deadline.

use std::time::{Duration, Instant};

/// The interval between two checks of a condition.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `condition` is true.
///
/// # Panics
/// If it is not after `deadline`, naming `what` was awaited.
pub async fn wait_until(deadline: Duration, what: &str, condition: impl AsyncFnMut() -> bool) {
    assert!(holds_within(deadline, condition).await, "timeout after {deadline:?}: {what}");
}

/// Whether `condition` becomes true within `deadline`, measured in real time, also where tokio's clock is paused.
pub(crate) async fn holds_within(deadline: Duration, mut condition: impl AsyncFnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition().await {
            return true;
        }
        if start.elapsed() > deadline {
            return false;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
