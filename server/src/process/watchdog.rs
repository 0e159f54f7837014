//! Whether a server gets on: its watchdog, which stops when the server hangs.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// How often it beats.
const PERIOD: Duration = Duration::from_millis(200);

/// Beats for as long as a task gets on; closed when the task has ended.
pub type Watchdog = watch::Receiver<()>;

/// Gives some work a watchdog. It beats in the same task, so it stops with a runtime that hangs, and also where only this work
/// hangs and the rest of the runtime goes on. Work that waits, for a database or for anything else, does not hang.
pub fn watched(mut work: BoxFuture<'static, ()>) -> (Watchdog, impl Future<Output = ()> + Send) {
    let (beat, watchdog) = watch::channel(());
    let beating = async move {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = &mut work => return,
                _ = ticks.tick() => beat.send_replace(()),
            }
        }
    };
    (watchdog, beating)
}
