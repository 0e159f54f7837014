//! A server under attack: checks that an attack affects nothing besides the attacker.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenure_harness::{Tenured, TenuredOptions, wait_until};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::{interval, timeout};
use tonic::transport::{ClientTlsConfig, Endpoint};

use crate::healthy::HealthyClient;
use crate::is_long;
use crate::machine::Machine;
use crate::memory::resident;
use crate::state::ClientConfig;
use crate::times::p99;

/// The deadline for calls to be as fast as before the attack.
const RECOVERY: Duration = Duration::from_secs(5);

/// Calls faster than this are never slow, regardless of the usual latency: the server is a debug build, other programs
/// use the machine, and a short attack sees so few calls that one of them is the p99.
const SLOW: Duration = Duration::from_millis(500);

/// The number of calls that establish the usual latency.
const CALLS: usize = 60;

/// The number of calls that establish that the latency is back to normal.
const CALLS_AFTER: usize = 30;

/// The maximum number of bytes that an attack may make the server log: filling the log fills the disk.
const LOG: u64 = 64 * 1024;

/// How long an attack is repeated that by itself is too short to be noticed.
const SHORT: Duration = Duration::from_millis(700);

/// The repetition time in the long form.
const LONG: Duration = Duration::from_secs(10);

/// The maximum duration of an attack.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The permitted effects of an attack.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    name: &'static str,
    may_change: bool,
    may_connect: bool,
    is_quiet: bool,
    memory: f64,
}

impl Attack {
    /// An attack that may change nothing, and cost the server at most 64 MiB of memory.
    #[must_use]
    pub fn named(name: &'static str) -> Self {
        Self { name, may_change: false, may_connect: false, is_quiet: false, memory: 64.0 }
    }

    /// Permits opening sessions and acquiring locks, as for any caller.
    #[must_use]
    pub fn may_change(mut self) -> Self {
        self.may_change = true;
        self
    }

    /// Permits clients to connect, which raises the revision, and nothing else.
    #[must_use]
    pub fn may_connect(mut self) -> Self {
        self.may_connect = true;
        self
    }

    /// Marks an attack that takes long but hardly uses the machine: others may run beside it.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.is_quiet = true;
        self
    }

    /// Permits the server to use this many MiB more.
    #[must_use]
    pub fn memory(mut self, mib: u32) -> Self {
        self.memory = f64::from(mib);
        self
    }
}

/// Raises the descriptor limit of this process, and of the servers that it starts, to the maximum: attacks need more
/// than the usual 1,024 connections.
fn raise_limit() {
    let files = getrlimit(Resource::Nofile);
    // A failure shows up where descriptors run out.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
}

/// Serializes attacks, regardless of the test runner: their resource usage is measured.
static ONE: Mutex<()> = Mutex::const_new(());

/// A server, and a healthy client of it.
pub struct Target {
    // Dropped before the server.
    healthy: HealthyClient,
    machine: Machine,
    server: Tenured,
    config: ClientConfig,
    /// The p99 latency without an attack.
    usual: Duration,
}

impl Target {
    /// Starts a server without authentication.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(&TenuredOptions::default(), None, None).await
    }

    /// A server without authentication, shared by all attacks that leave it unchanged. It ends with this process.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Target> = OnceCell::const_new();
        SHARED.get_or_init(async || Self::start().await.unwrap_or_else(|error| panic!("{error:#}"))).await
    }

    /// Starts a server with these options; the healthy client uses this token and this TLS configuration.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn start_with(
        options: &TenuredOptions,
        bearer: Option<&str>,
        tls: Option<ClientTlsConfig>,
    ) -> anyhow::Result<Self> {
        raise_limit();
        let server = Tenured::start(options).await?;
        let endpoint = match tls {
            None => Endpoint::from_shared(server.url())?,
            Some(tls) => Endpoint::from_shared(server.url().replace("http:", "https:"))?.tls_config(tls)?,
        };
        let config = ClientConfig { endpoint, bearer: bearer.map(str::to_owned) };
        let (healthy, machine) = (HealthyClient::start(config.clone()), Machine::start());
        let mut target = Self { healthy, machine, server, config, usual: Duration::ZERO };
        // The first calls are not representative.
        target.calls(CALLS / 5).await;
        target.usual = p99(target.calls(CALLS).await);
        Ok(target)
    }

    /// The gRPC address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.server.port()).into()
    }

    /// The admin address.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.server.admin_port()).into()
    }

    /// Checks that a new client connects and is served.
    ///
    /// # Panics
    /// If it is not.
    pub async fn assert_served(&self) {
        self.state("a new client").await;
    }

    /// The server.
    pub fn server(&mut self) -> &mut Tenured {
        &mut self.server
    }

    /// Runs an attack, and checks its effects.
    ///
    /// # Panics
    /// If anything besides the attacker is affected.
    pub async fn run<T>(&self, attack: Attack, action: impl Future<Output = T>) -> T {
        let Attack { name, may_change, may_connect, is_quiet, memory } = attack;
        let _alone = if is_quiet { None } else { Some(ONE.lock().await) };
        let before = self.state(name).await;
        let (taken, logged) = (self.memory(), self.logged());
        let begun = Instant::now();
        let mut most = taken;
        let mut look = interval(Duration::from_millis(10));
        let mut action = std::pin::pin!(timeout(TIMEOUT, action));
        let done = loop {
            tokio::select! {
                done = &mut action => break done.unwrap_or_else(|_| panic!("{name}: still running after {TIMEOUT:?}")),
                _ = look.tick() => most = most.max(self.memory()),
            }
        };
        most = most.max(self.memory());
        let lasted = begun.elapsed();
        self.next_call().await;
        let during = self.healthy.times(begun);
        let (calls, slowest, bound) = (during.len(), p99(during), self.bound(begun));
        let normal = timeout(RECOVERY, self.wait_for_recovery()).await;
        assert!(normal.is_ok(), "{name}: not back to normal after {RECOVERY:?}");
        if !may_change {
            let compared = |state: String| {
                let (revision, rest) = state.split_once(", ").expect("a revision, and what exists");
                if may_connect { rest.to_owned() } else { format!("{revision}, {rest}") }
            };
            assert_eq!(compared(self.state(name).await), compared(before), "{name}: changed the state");
        }
        self.assert_healthy(name);
        let logged = self.logged() - logged;
        assert!(logged <= LOG, "{name}: the server has logged {logged} bytes");
        let grown = most - taken;
        eprintln!(
            "{name}: {lasted:.1?}; memory {taken:.0} MiB, {grown:+.1}; p99 {:.1?} before, {slowest:.1?} of {calls} during \
             (at most {bound:.1?}); normal {:.1?} later",
            self.usual,
            normal.unwrap_or_default()
        );
        assert!(grown <= memory, "{name}: the server uses {grown:.1} MiB more, the limit is {memory}");
        assert!(slowest <= bound, "{name}: a healthy client's calls took {slowest:?}, the limit is {bound:?}");
        done
    }

    /// Repeats an attack for a while, and checks its effects. Returns the result of each repetition.
    ///
    /// # Panics
    /// If anything besides the attacker is affected.
    pub async fn run_repeatedly<T>(&self, attack: Attack, action: impl AsyncFn() -> T) -> Vec<T> {
        let repeated = async {
            let (begun, mut done) = (Instant::now(), Vec::new());
            while begun.elapsed() < if is_long() { LONG } else { SHORT } {
                done.push(action().await);
            }
            done
        };
        self.run(attack, repeated).await
    }

    /// The p99 limit: twice the usual latency, but at least [`SLOW`], plus the delay that the machine has added.
    fn bound(&self, since: Instant) -> Duration {
        (2 * self.usual).max(SLOW) + p99(self.machine.delays(since))
    }

    /// Waits until a healthy client's calls take no longer than usual. Returns how long that took.
    async fn wait_for_recovery(&self) -> Duration {
        let begun = Instant::now();
        loop {
            let since = Instant::now();
            if p99(self.calls(CALLS_AFTER).await) <= self.bound(since) && self.config.state().await.is_ok() {
                return begun.elapsed();
            }
        }
    }

    /// The durations of the next `many` calls.
    async fn calls(&self, many: usize) -> Vec<Duration> {
        let since = Instant::now();
        let mut times = Vec::new();
        wait_until(TIMEOUT, "a healthy client's calls", async || {
            times = self.healthy.times(since);
            times.len() >= many || !self.healthy.errors().is_empty()
        })
        .await;
        times
    }

    /// Waits for the end of the next call.
    async fn next_call(&self) {
        let since = Instant::now();
        wait_until(TIMEOUT, "a healthy client's call", async || !self.healthy.times(since).is_empty()).await;
    }

    fn logged(&self) -> u64 {
        std::fs::metadata(self.server.log_file()).map_or(0, |file| file.len())
    }

    fn memory(&self) -> f64 {
        self.server.process_id().map_or(0.0, resident)
    }

    async fn state(&self, name: &str) -> String {
        self.config.state().await.unwrap_or_else(|status| panic!("{name}: a healthy client is rejected: {status:?}"))
    }

    /// Checks that no healthy call was rejected, and nothing panicked.
    fn assert_healthy(&self, name: &str) {
        let errors = self.healthy.errors();
        assert!(errors.is_empty(), "{name}: a healthy client was rejected: {errors:?}");
        let log = std::fs::read_to_string(self.server.log_file()).context("the log").unwrap_or_default();
        assert!(!log.contains("panicked"), "{name}: the server has panicked");
    }
}
