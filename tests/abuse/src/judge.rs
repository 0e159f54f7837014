//! Decides whether an attack was noticed by anybody but the attacker.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenure_harness::{Tenured, TenuredOptions, wait_until};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::{interval, timeout};
use tonic::transport::{ClientTlsConfig, Endpoint};

use crate::healthy::Healthy;
use crate::is_long;
use crate::machine::Machine;
use crate::memory::resident;
use crate::state::Way;
use crate::times::p99;

/// By then all is as before.
const NORMAL_AGAIN: Duration = Duration::from_secs(5);

/// Calls that are faster than this are not slow, however fast the others are: the server is not built for speed here, other programs
/// want the machine, too, and of a short attack there are so few calls that one of them is the p99.
const SLOW: Duration = Duration::from_millis(500);

/// How many calls tell how long calls take.
const CALLS: usize = 60;

/// How many tell that all is as before.
const CALLS_AFTER: usize = 30;

/// An attack may have the server log so many bytes: whoever can fill the log, fills the disk.
const LOG: u64 = 64 * 1024;

/// How long an attack goes on that ends by itself too soon to be noticed.
const SHORT: Duration = Duration::from_millis(700);

/// The same in the long form.
const LONG: Duration = Duration::from_secs(10);

/// No attack takes longer.
const LONGEST: Duration = Duration::from_secs(180);

/// What an attack may do.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    name: &'static str,
    may_change: bool,
    is_quiet: bool,
    memory: f64,
}

impl Attack {
    /// One that may change nothing, and have the server take 64 MiB more at the most.
    #[must_use]
    pub fn named(name: &'static str) -> Self {
        Self { name, may_change: false, is_quiet: false, memory: 64.0 }
    }

    /// It opens sessions, or acquires locks, as anybody may.
    #[must_use]
    pub fn may_change(mut self) -> Self {
        self.may_change = true;
        self
    }

    /// It takes long, and next to nothing of the machine: others may go on beside it.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.is_quiet = true;
        self
    }

    /// The server may take so many MiB more.
    #[must_use]
    pub fn memory(mut self, mib: u32) -> Self {
        self.memory = f64::from(mib);
        self
    }
}

/// Lets this process, and the servers that it starts, have as many connections as they may: crowds need more than the usual 1,024.
fn raise_limit() {
    let files = getrlimit(Resource::Nofile);
    // What fails for the lack of it says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
}

/// One attack at a time, whatever runs the tests: what they take is measured.
static ONE: Mutex<()> = Mutex::const_new(());

/// A server, and a healthy client of it.
pub struct Judge {
    // Ends before the server does.
    healthy: Healthy,
    machine: Machine,
    server: Tenured,
    way: Way,
    /// What 99 of 100 calls took without an attack.
    usual: Duration,
}

impl Judge {
    /// A server that knows nobody.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn open() -> anyhow::Result<Self> {
        Self::of(&TenuredOptions::default(), None, None).await
    }

    /// A server that knows nobody, for all attacks that leave it as it was. It ends with this process.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Judge> = OnceCell::const_new();
        SHARED.get_or_init(async || Self::open().await.unwrap_or_else(|error| panic!("{error:#}"))).await
    }

    /// A server with these options, at which the healthy client shows this token and speaks this TLS.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn of(
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
        let way = Way { endpoint, bearer: bearer.map(str::to_owned) };
        let (healthy, machine) = (Healthy::start(way.clone()), Machine::watch());
        let mut judge = Self { healthy, machine, server, way, usual: Duration::ZERO };
        // The first ones are not like the others.
        judge.calls(CALLS / 5).await;
        judge.usual = p99(judge.calls(CALLS).await);
        Ok(judge)
    }

    /// Where gRPC is served.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.server.port()).into()
    }

    /// Where operators are served.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.server.admin_port()).into()
    }

    /// A client connects and is served.
    ///
    /// # Panics
    /// If it is not.
    pub async fn is_served(&self) {
        self.state("a new client").await;
    }

    /// The server.
    pub fn server(&mut self) -> &mut Tenured {
        &mut self.server
    }

    /// Has an attack happen, and judges it.
    ///
    /// # Panics
    /// If anybody but the attacker notices it.
    pub async fn under<T>(&self, attack: Attack, deed: impl Future<Output = T>) -> T {
        let Attack { name, may_change, is_quiet, memory } = attack;
        let _alone = if is_quiet { None } else { Some(ONE.lock().await) };
        let before = self.state(name).await;
        let (taken, logged) = (self.memory(), self.logged());
        let begun = Instant::now();
        let mut most = taken;
        let mut look = interval(Duration::from_millis(10));
        let mut deed = std::pin::pin!(timeout(LONGEST, deed));
        let done = loop {
            tokio::select! {
                done = &mut deed => break done.unwrap_or_else(|_| panic!("{name}: not over after {LONGEST:?}")),
                _ = look.tick() => most = most.max(self.memory()),
            }
        };
        most = most.max(self.memory());
        let lasted = begun.elapsed();
        self.next_call().await;
        let during = self.healthy.times(begun);
        let (calls, slowest, bound) = (during.len(), p99(during), self.bound(begun));
        let normal = timeout(NORMAL_AGAIN, self.is_normal()).await;
        assert!(normal.is_ok(), "{name}: not as before after {NORMAL_AGAIN:?}");
        if !may_change {
            assert_eq!(self.state(name).await, before, "{name}: has changed something");
        }
        self.assert_well(name);
        let logged = self.logged() - logged;
        assert!(logged <= LOG, "{name}: the server has logged {logged} bytes");
        let grown = most - taken;
        eprintln!(
            "{name}: {lasted:.1?}; memory {taken:.0} MiB, {grown:+.1}; p99 {:.1?} before, {slowest:.1?} of {calls} during \
             (at most {bound:.1?}); as before {:.1?} later",
            self.usual,
            normal.unwrap_or_default()
        );
        assert!(grown <= memory, "{name}: the server has taken {grown:.1} MiB more, {memory} at the most");
        assert!(slowest <= bound, "{name}: a healthy client's calls took {slowest:?}, {bound:?} at the most");
        done
    }

    /// Has an attack happen again and again for a while, and judges it. What came of each time.
    ///
    /// # Panics
    /// If anybody but the attacker notices it.
    pub async fn sustained<T>(&self, attack: Attack, deed: impl AsyncFn() -> T) -> Vec<T> {
        let again = async {
            let (begun, mut done) = (Instant::now(), Vec::new());
            while begun.elapsed() < if is_long() { LONG } else { SHORT } {
                done.push(deed().await);
            }
            done
        };
        self.under(attack, again).await
    }

    /// The most that 99 of 100 calls may take: twice what they usually do, and what the machine has added.
    fn bound(&self, since: Instant) -> Duration {
        (2 * self.usual).max(SLOW) + p99(self.machine.delays(since))
    }

    /// Waits until a healthy client's calls take no longer than usual. How long that was.
    async fn is_normal(&self) -> Duration {
        let begun = Instant::now();
        loop {
            let since = Instant::now();
            if p99(self.calls(CALLS_AFTER).await) <= self.bound(since) && self.way.state().await.is_ok() {
                return begun.elapsed();
            }
        }
    }

    /// How long the next so many calls take.
    async fn calls(&self, many: usize) -> Vec<Duration> {
        let since = Instant::now();
        let mut times = Vec::new();
        wait_until(LONGEST, "a healthy client's calls", async || {
            times = self.healthy.times(since);
            times.len() >= many || !self.healthy.refused().is_empty()
        })
        .await;
        times
    }

    /// Waits until the call is over that is under way.
    async fn next_call(&self) {
        let since = Instant::now();
        wait_until(LONGEST, "a healthy client's call", async || !self.healthy.times(since).is_empty()).await;
    }

    fn logged(&self) -> u64 {
        std::fs::metadata(self.server.log_file()).map_or(0, |file| file.len())
    }

    fn memory(&self) -> f64 {
        self.server.process_id().map_or(0.0, resident)
    }

    async fn state(&self, name: &str) -> String {
        self.way.state().await.unwrap_or_else(|status| panic!("{name}: a healthy client is refused: {status:?}"))
    }

    /// Nobody was refused, and nothing panicked.
    fn assert_well(&self, name: &str) {
        let refused = self.healthy.refused();
        assert!(refused.is_empty(), "{name}: a healthy client was refused: {refused:?}");
        let log = std::fs::read_to_string(self.server.log_file()).context("the log").unwrap_or_default();
        assert!(!log.contains("panicked"), "{name}: the server has panicked");
    }
}
