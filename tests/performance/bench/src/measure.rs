//! Measurement of users in a closed loop: each begins its next turn when the last one has ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::cpu::{Meter, Processes, Usage};

/// How long the last turns may take after the measurement.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The parameters of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The number of this measurement, from which unique names are derived.
    pub number: u64,
    /// The work's level: in most works, the number of concurrent clients.
    pub level: usize,
    /// The warm-up before the measurement.
    pub warm_up: Duration,
    /// The duration of the measurement.
    pub time: Duration,
    /// Whether this is only a smoke test.
    pub quick: bool,
}

impl Load {
    /// Multiplies the duration, for works with few turns per second. Has no effect in the short form.
    pub fn longer(self, times: u32) -> Self {
        if self.quick { self } else { Self { time: self.time * times, ..self } }
    }
}

/// The results of a measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Turns per second.
    pub rate: Option<f64>,
    /// The latency of a turn.
    pub latency: Option<Latency>,
    /// The fewest turns of a user, as a share of the average: 1 if no user starves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fewest_turns: Option<f64>,
    /// The resources used meanwhile.
    pub usage: Usage,
    /// Further figures of this work, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, f64>,
}

impl Figures {
    /// Adds a further figure.
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.extra.insert(name.to_string(), value);
        self
    }
}

/// Latencies, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub max: f64,
}

impl Latency {
    /// Summarizes latencies. None if there are none.
    pub fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let at = |share: f64| {
            let index = (times.len() as f64 * share).ceil() as usize;
            times.get(index.saturating_sub(1)).map(|time| time.as_secs_f64() * 1e3)
        };
        Some(Self { p50: at(0.5)?, p99: at(0.99)?, max: at(1.0)? })
    }
}

/// A user that works in a closed loop.
pub trait User: Send + 'static {
    /// Executes one turn.
    fn turn(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

const WARMING_UP: u8 = 0;
const COUNTING: u8 = 1;
const OVER: u8 = 2;

/// Runs the users concurrently and measures their turns: for the given time, and until at least one turn has ended.
/// Returns the users.
///
/// # Errors
/// As a user's turn fails.
pub async fn closed_loop<U: User>(
    load: &Load,
    processes: &Processes,
    users: Vec<U>,
) -> anyhow::Result<(Figures, Vec<U>)> {
    let phase = Arc::new(AtomicU8::new(WARMING_UP));
    let first = Arc::new(Notify::new());
    let mut tasks = JoinSet::new();
    for user in users {
        tasks.spawn(work(user, Arc::clone(&phase), Arc::clone(&first)));
    }
    tokio::time::sleep(load.warm_up).await;
    let (meter, start) = (Meter::start(processes), Instant::now());
    phase.store(COUNTING, Ordering::Relaxed);
    tokio::time::sleep(load.time).await;
    // Failures are returned when the tasks are joined.
    let _ = tokio::time::timeout(TIMEOUT, first.notified()).await;
    phase.store(OVER, Ordering::Relaxed);
    let (wall, usage) = (start.elapsed(), meter.usage());
    let ended = tokio::time::timeout(TIMEOUT, tasks.join_all()).await.context("a turn does not end")?;

    let mut users = Vec::new();
    let (mut times, mut turns) = (Vec::new(), Vec::new());
    for done in ended {
        let (user, own) = done?;
        users.push(user);
        turns.push(own.len());
        times.extend(own);
    }
    if times.is_empty() {
        bail!("no turn ended within {wall:?}");
    }
    let fewest = turns.iter().min().copied().unwrap_or_default() as f64;
    let average = times.len() as f64 / turns.len() as f64;
    let figures = Figures {
        rate: Some(times.len() as f64 / wall.as_secs_f64()),
        latency: Latency::of(times),
        // Starvation shows neither in the rate nor in the overall latencies.
        fewest_turns: Some(fewest / average),
        usage,
        extra: BTreeMap::new(),
    };
    Ok((figures, users))
}

/// Runs one user. Records the turns that end during the measurement; notifies `first` when the first one has ended, or
/// when none will because of a failure.
async fn work<U: User>(mut user: U, phase: Arc<AtomicU8>, first: Arc<Notify>) -> anyhow::Result<(U, Vec<Duration>)> {
    let mut times = Vec::new();
    // A turn begins when the previous one ends, so one clock reading serves for both.
    let mut start = Instant::now();
    loop {
        if let Err(error) = user.turn().await {
            first.notify_one();
            return Err(error);
        }
        let end = Instant::now();
        let took = end - start;
        start = end;
        match phase.load(Ordering::Relaxed) {
            WARMING_UP => {}
            COUNTING => {
                if times.is_empty() {
                    first.notify_one();
                }
                times.push(took);
            }
            _ => return Ok((user, times)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its turn takes longer than the measurement.
    struct Slow;

    impl User for Slow {
        async fn turn(&mut self) -> anyhow::Result<()> {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok(())
        }
    }

    struct Broken;

    impl User for Broken {
        async fn turn(&mut self) -> anyhow::Result<()> {
            bail!("broken")
        }
    }

    fn load() -> Load {
        let time = Duration::from_millis(1);
        Load { number: 1, level: 1, warm_up: time, time, quick: true }
    }

    #[tokio::test]
    async fn measurement_has_at_least_one_turn() {
        let (figures, users) = closed_loop(&load(), &Processes::default(), vec![Slow, Slow]).await.expect("figures");
        assert!(figures.rate.is_some_and(|rate| rate > 0.0) && figures.latency.is_some_and(|of| of.p50 >= 50.0));
        assert_eq!(users.len(), 2);
    }

    #[tokio::test]
    async fn error_of_a_turn_is_returned() {
        let error = closed_loop(&load(), &Processes::default(), vec![Broken]).await.map(drop).expect_err("a failure");
        assert_eq!(error.to_string(), "broken");
    }

    #[test]
    fn latency_is_computed_by_rank() {
        let times = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(Latency::of(times), Some(Latency { p50: 100.0, p99: 198.0, max: 200.0 }));
        assert_eq!(Latency::of(vec![Duration::from_millis(7)]), Some(Latency { p50: 7.0, p99: 7.0, max: 7.0 }));
        assert_eq!(Latency::of(Vec::new()), None);
    }
}
