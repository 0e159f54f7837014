//! Simulates hosts, each with its own runtime and clocks. A host that is not polled is frozen; a host whose runtime is
//! dropped is dead.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use crate::defect::Defect;
use crate::machine::{ClockGuard, Clocks};
use crate::outbox::Outbox;

/// Host number.
pub type HostId = usize;

/// Behaviour of a host's clocks.
#[derive(Clone, Copy, Debug)]
pub struct ClockSettings {
    /// Seconds of host time per second of world time.
    pub rate: f64,
    /// Wall clock at the beginning of the world, since 1970.
    pub wall: Duration,
}

/// Clock of one run of a host.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Start of the runtime by the host's clock.
    start: Instant,
    /// Start of the runtime by the world's clock.
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

/// Context of the programs of a host.
#[derive(Clone)]
pub struct HostContext {
    /// Host number.
    pub host: HostId,
    /// Number of earlier runs of the host.
    pub run: u64,
    /// Outgoing messages.
    pub outbox: Outbox,
    /// Clock of this run.
    pub time: Time,
    /// The deliberate defect, if any.
    pub defect: Option<Defect>,
}

/// A simulated host.
pub struct Host {
    /// Host number.
    pub id: HostId,
    /// Behaviour of the host's clocks.
    pub clock: ClockSettings,
    /// Number of earlier runs.
    pub run: u64,
    /// Whether the host is frozen.
    pub is_frozen: bool,
    running: Option<Running>,
}

struct Running {
    runtime: Runtime,
    time: Time,
    clocks: Clocks,
}

impl Host {
    /// Creates a host that is not running yet.
    #[must_use]
    pub fn new(id: HostId, clock: ClockSettings) -> Self {
        Self { id, clock, run: 0, is_frozen: false, running: None }
    }

    /// Whether the host is running.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.running.is_some()
    }

    /// Starts the host with a program.
    pub fn start<P>(
        &mut self,
        now: Duration,
        outbox: &Outbox,
        defect: Option<Defect>,
        program: impl FnOnce(HostContext) -> P,
    ) where
        P: Future<Output = ()> + Send + 'static,
    {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        let start = runtime.block_on(async { Instant::now() });
        let time = Time { start, began: now, rate: self.clock.rate };
        let clocks = Clocks { start, uptime: Duration::from_secs(1_000) + now, wall: self.clock.wall + now };
        let context = HostContext { host: self.id, run: self.run, outbox: outbox.clone(), time, defect };
        self.is_frozen = false;
        {
            let _clock_guard = ClockGuard::install(clocks);
            let _entered = runtime.enter();
            runtime.spawn(program(context));
        }
        self.running = Some(Running { runtime, time, clocks });
    }

    /// Kills the host at once.
    pub fn kill(&mut self) {
        self.run += 1;
        if let Some(running) = self.running.take() {
            let _clock_guard = ClockGuard::install(running.clocks);
            running.runtime.shutdown_background();
        }
    }

    /// Sets the wall clock.
    pub fn set_wall(&mut self, wall: Duration) {
        if let Some(running) = &mut self.running {
            running.clocks.wall = running.clocks.wall + wall - self.clock.wall;
        }
        self.clock.wall = wall;
    }

    /// Runs the host until this world time.
    pub fn run_until(&self, at: Duration) {
        let Some(running) = self.running.as_ref().filter(|_| !self.is_frozen) else { return };
        let _clock_guard = ClockGuard::install(running.clocks);
        running.runtime.block_on(async { tokio::time::sleep_until(running.time.local(at)).await });
    }

    /// Thaws the host. Its clocks kept running while it was frozen.
    pub fn thaw(&mut self, now: Duration) {
        self.is_frozen = false;
        let Some(running) = &self.running else { return };
        let _clock_guard = ClockGuard::install(running.clocks);
        running.runtime.block_on(async {
            let behind = running.time.local(now).saturating_duration_since(Instant::now());
            tokio::time::advance(behind).await;
        });
    }

    /// Runs a closure in the context of the host's programs.
    pub fn within<T>(&self, action: impl FnOnce(&tokio::runtime::Handle) -> T) -> Option<T> {
        let running = self.running.as_ref()?;
        let _clock_guard = ClockGuard::install(running.clocks);
        let _entered = running.runtime.enter();
        Some(action(running.runtime.handle()))
    }
}
