//! Shows that the server makes progress: a signal that stops when the server hangs.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// The interval of the signals.
const PERIOD: Duration = Duration::from_millis(200);

/// Changes while the task makes progress; closed when the task has ended.
pub type Watchdog = watch::Receiver<()>;

/// Signals progress of `work`. The signal comes from the same task, so that it stops when the runtime hangs, and also
/// when only this work hangs. Work that waits, for a database or for anything else, does not hang.
pub fn watched(mut work: BoxFuture<'static, ()>) -> (Watchdog, impl Future<Output = ()> + Send) {
    let (signal, watchdog) = watch::channel(());
    let watched = async move {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = &mut work => return,
                _ = ticks.tick() => signal.send_replace(()),
            }
        }
    };
    (watchdog, watched)
}
