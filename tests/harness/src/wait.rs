//! Waiting for a condition, with an end.

use std::time::{Duration, Instant};

/// How long between two looks at a condition.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `condition` is true.
///
/// # Panics
/// If it is not after `deadline`, saying `what` was waited for.
pub async fn wait_until(deadline: Duration, what: &str, condition: impl AsyncFnMut() -> bool) {
    assert!(holds_within(deadline, condition).await, "waited {deadline:?} in vain: {what}");
}

/// Whether `condition` becomes true within `deadline`. Measured in real time, also where tokio's clock is paused.
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
