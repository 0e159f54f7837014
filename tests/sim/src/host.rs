//! Hosts: each has a runtime and clocks of its own. One that is not run stands still, and one whose runtime is dropped is dead.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use crate::machine::{Clocks, Told};
use crate::mail::Mail;

/// A host's number.
pub type HostId = usize;

/// How a host's clocks go.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How many of its seconds pass in one.
    pub rate: f64,
    /// What its wall clock shows at the beginning of the world, since 1970.
    pub wall: Duration,
}

/// The time of one run of a host.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// When its runtime was started, by its own clock ...
    start: Instant,
    /// ... and by the world's.
    began: Duration,
    rate: f64,
}

impl Time {
    /// The world's time.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.began + Instant::now().saturating_duration_since(self.start).div_f64(self.rate)
    }

    fn local(&self, at: Duration) -> Instant {
        self.start + at.saturating_sub(self.began).mul_f64(self.rate)
    }
}

/// What programs of a host know of where they are.
#[derive(Clone)]
pub struct Here {
    /// The host.
    pub host: HostId,
    /// How often it was started before.
    pub run: u64,
    /// What it sends.
    pub mail: Mail,
    /// Its time.
    pub time: Time,
}

/// A host.
pub struct Host {
    /// Its number.
    pub id: HostId,
    /// How its clocks go.
    pub pace: Pace,
    /// How often it was started before.
    pub run: u64,
    /// Whether it stands still.
    pub is_frozen: bool,
    running: Option<Running>,
}

struct Running {
    runtime: Runtime,
    time: Time,
    clocks: Clocks,
}

impl Host {
    /// One that is not running yet.
    #[must_use]
    pub fn new(id: HostId, pace: Pace) -> Self {
        Self { id, pace, run: 0, is_frozen: false, running: None }
    }

    /// Whether it is running.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.running.is_some()
    }

    /// Starts it with a program.
    pub fn start<P>(&mut self, now: Duration, mail: &Mail, program: impl FnOnce(Here) -> P)
    where
        P: Future<Output = ()> + Send + 'static,
    {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        let start = runtime.block_on(async { Instant::now() });
        let time = Time { start, began: now, rate: self.pace.rate };
        let clocks = Clocks { start, uptime: Duration::from_secs(1_000) + now, wall: self.pace.wall + now };
        let here = Here { host: self.id, run: self.run, mail: mail.clone(), time };
        self.is_frozen = false;
        {
            let _told = Told::by(clocks);
            let _entered = runtime.enter();
            runtime.spawn(program(here));
        }
        self.running = Some(Running { runtime, time, clocks });
    }

    /// It dies at once.
    pub fn kill(&mut self) {
        self.run += 1;
        if let Some(running) = self.running.take() {
            let _told = Told::by(running.clocks);
            running.runtime.shutdown_background();
        }
    }

    /// Its wall clock is set.
    pub fn set_wall(&mut self, wall: Duration) {
        if let Some(running) = &mut self.running {
            running.clocks.wall = running.clocks.wall + wall - self.pace.wall;
        }
        self.pace.wall = wall;
    }

    /// Runs it until this moment of the world.
    pub fn run_until(&self, at: Duration) {
        let Some(running) = self.running.as_ref().filter(|_| !self.is_frozen) else { return };
        let _told = Told::by(running.clocks);
        running.runtime.block_on(async { tokio::time::sleep_until(running.time.local(at)).await });
    }

    /// It stood still, and goes on: its clocks have gone on meanwhile.
    pub fn thaw(&mut self, now: Duration) {
        self.is_frozen = false;
        let Some(running) = &self.running else { return };
        let _told = Told::by(running.clocks);
        running.runtime.block_on(async {
            let behind = running.time.local(now).saturating_duration_since(Instant::now());
            tokio::time::advance(behind).await;
        });
    }

    /// Does something in it, as its programs would.
    pub fn within<T>(&self, deed: impl FnOnce(&tokio::runtime::Handle) -> T) -> Option<T> {
        let running = self.running.as_ref()?;
        let _told = Told::by(running.clocks);
        let _entered = running.runtime.enter();
        Some(deed(running.runtime.handle()))
    }
}

/// What is shared by those who look after a host.
pub type Shared<T> = Arc<std::sync::Mutex<T>>;
