//! Measuring: users that work in a closed loop, each beginning its next turn when the last one is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::cpu::{Meter, Processes, Usage};

/// How long the last turns may take after the time is over.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is asked of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The number of this measurement, so that it can have names that no other one has.
    pub number: u64,
    /// What the work's levels count: mostly, how many clients work at once.
    pub level: usize,
    /// How long to work before it counts.
    pub warm_up: Duration,
    /// For how long it counts.
    pub time: Duration,
    /// Whether only to prove that it runs.
    pub quick: bool,
}

impl Load {
    /// The same for so many times the time, where little happens in a second. Not in the short form.
    pub fn longer(self, times: u32) -> Self {
        if self.quick { self } else { Self { time: self.time * times, ..self } }
    }
}

/// What was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Turns a second.
    pub rate: Option<f64>,
    /// How long a turn took.
    pub latency: Option<Latency>,
    /// The turns of the one who had the fewest, as a share of the average: 1 if nobody starves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fewest_turns: Option<f64>,
    /// What the processes used meanwhile.
    pub usage: Usage,
    /// What else this work tells, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, f64>,
}

impl Figures {
    /// With one more.
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.extra.insert(name.to_string(), value);
        self
    }
}

/// How long something took, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Half of them took at most this.
    pub p50: f64,
    /// 99 of 100 took at most this.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Latency {
    /// Sums up. None if there is nothing to sum up.
    pub fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let at = |share: f64| {
            let place = (times.len() as f64 * share).ceil() as usize;
            times.get(place.saturating_sub(1)).map(|time| time.as_secs_f64() * 1e3)
        };
        Some(Self { p50: at(0.5)?, p99: at(0.99)?, max: at(1.0)? })
    }
}

/// One who works in a closed loop.
pub trait User: Send + 'static {
    /// Does the work once.
    fn turn(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

const WARMING_UP: u8 = 0;
const COUNTING: u8 = 1;
const OVER: u8 = 2;

/// Lets the users work at once and measures their turns: for as long as asked, and until one turn at least has ended. Gives the
/// users back.
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
    // A failure is told in the end.
    let _ = tokio::time::timeout(PATIENCE, first.notified()).await;
    phase.store(OVER, Ordering::Relaxed);
    let (wall, usage) = (start.elapsed(), meter.usage());
    let ended = tokio::time::timeout(PATIENCE, tasks.join_all()).await.context("a turn does not end")?;

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
        // Who starves is not seen in the rate, nor among all latencies.
        fewest_turns: Some(fewest / average),
        usage,
        extra: BTreeMap::new(),
    };
    Ok((figures, users))
}

/// One user's work. Turns that end while it counts are told, and that the first one has ended, or that none will.
async fn work<U: User>(mut user: U, phase: Arc<AtomicU8>, first: Arc<Notify>) -> anyhow::Result<(U, Vec<Duration>)> {
    let mut times = Vec::new();
    // A turn begins when the one before it ends: so one look at the clock is enough for both.
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

    /// Takes longer than what is asked for.
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
    async fn waits_for_one_turn_at_least() {
        let (figures, users) = closed_loop(&load(), &Processes::default(), vec![Slow, Slow]).await.expect("figures");
        assert!(figures.rate.is_some_and(|rate| rate > 0.0) && figures.latency.is_some_and(|of| of.p50 >= 50.0));
        assert_eq!(users.len(), 2);
    }

    #[tokio::test]
    async fn tells_of_a_turn_that_fails() {
        let error = closed_loop(&load(), &Processes::default(), vec![Broken]).await.map(drop).expect_err("a failure");
        assert_eq!(error.to_string(), "broken");
    }

    #[test]
    fn sums_up_by_rank() {
        let times = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(Latency::of(times), Some(Latency { p50: 100.0, p99: 198.0, max: 200.0 }));
        assert_eq!(Latency::of(vec![Duration::from_millis(7)]), Some(Latency { p50: 7.0, p99: 7.0, max: 7.0 }));
        assert_eq!(Latency::of(Vec::new()), None);
    }
}
