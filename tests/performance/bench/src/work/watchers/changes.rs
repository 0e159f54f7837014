//! A client that makes changes, and the latency of their notifications.

use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use super::counting::Watchers;
use crate::cpu::{Meter, Processes};
use crate::measure::{Figures, Latency, Load};

/// The interval of changes, extended until all watchers are notified.
const EVERY: Duration = Duration::from_millis(20);

/// Makes two kinds of changes, alternately.
pub trait Changer {
    /// Acquires the lock.
    async fn acquire(&mut self) -> anyhow::Result<()>;
    /// Releases the lock.
    async fn release(&mut self) -> anyhow::Result<()>;
}

/// Makes changes, and measures when the last watcher is notified of each.
pub async fn observe(
    load: &Load,
    processes: &Processes,
    changer: &mut impl Changer,
    mut watchers: Option<Watchers>,
) -> anyhow::Result<Figures> {
    let warm = Instant::now() + load.warm_up;
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while Instant::now() < warm {
        pair(&mut tick, changer, &mut watchers, &mut Times::default()).await?;
    }
    let meter = Meter::start(processes);
    let end = Instant::now() + load.time;
    let mut times = Times::default();
    while times.acquired.is_empty() || Instant::now() < end {
        pair(&mut tick, changer, &mut watchers, &mut times).await?;
    }
    let figures = Figures { usage: meter.usage(), ..Figures::default() };
    let figures = figures.with("changes", 2.0 * times.acquired.len() as f64);
    let latency = Latency::of(times.notified);
    let acquired = Latency::of(times.acquired).map_or(figures.clone(), |acquired| {
        figures.with("acquire_p50_in_ms", acquired.p50).with("acquire_p99_in_ms", acquired.p99)
    });
    Ok(Figures { latency, ..acquired })
}

#[derive(Default)]
struct Times {
    notified: Vec<Duration>,
    acquired: Vec<Duration>,
}

async fn pair(
    tick: &mut tokio::time::Interval,
    changer: &mut impl Changer,
    watchers: &mut Option<Watchers>,
    times: &mut Times,
) -> anyhow::Result<()> {
    tick.tick().await;
    let start = Instant::now();
    changer.acquire().await?;
    times.acquired.push(start.elapsed());
    if let Some(watchers) = watchers {
        times.notified.push(watchers.all_notified().await? - start);
    }
    tick.tick().await;
    let start = Instant::now();
    changer.release().await?;
    if let Some(watchers) = watchers {
        times.notified.push(watchers.all_notified().await? - start);
    }
    Ok(())
}
