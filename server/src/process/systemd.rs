//! Notifies the process supervisor, such as systemd, of the server's state: `sd_notify(3)`.
//!
//! READY=1 states that the server listens, whether or not its store is available: the server retries by itself, and a
//! restart could do no better. STATUS= states in one line whether it can serve and why not, as `/readyz` does.
//! WATCHDOG=1 states that it makes progress. STOPPING=1 is sent with the maximum duration of the drain.
//!
//! The crate `sd-notify` is not used: its sends block without a time limit, and it knows no abstract socket names.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::net::UnixDatagram;
use tokio::time::{MissedTickBehavior, timeout};
use tracing::warn;

use crate::node::readiness::Readiness;
use crate::process::watchdog::Watchdog;

/// Time limit of a notification. One that the supervisor does not read in time is lost, and the server continues.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The supervisor of this process; without one, notifications are discarded.
#[derive(Clone, Debug, Default)]
pub struct SystemdNotifier {
    socket: Option<Arc<UnixDatagram>>,
    watchdog: Option<Duration>,
}

impl SystemdNotifier {
    /// The supervisor given by `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    ///
    /// # Errors
    /// If the watchdog's variables are not numbers. An unreachable socket is only logged as a warning: the variable may
    /// come from the supervisor of a parent.
    pub fn from_environment() -> anyhow::Result<Self> {
        let is_other = number("WATCHDOG_PID")?.is_some_and(|process| process != u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC")?.filter(|_| !is_other).map(Duration::from_micros);
        let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(Self::default()) };
        Ok(Self::at(Path::new(&socket), watchdog).unwrap_or_else(|error| {
            warn!(%error, ?socket, "cannot connect to the supervisor (NOTIFY_SOCKET)");
            Self::default()
        }))
    }

    /// The supervisor at this socket: a path, or an abstract name after an @. If `watchdog` is set, it expects a
    /// notification of progress within each such interval.
    ///
    /// # Errors
    /// If the socket cannot be connected.
    pub fn at(socket: &Path, watchdog: Option<Duration>) -> anyhow::Result<Self> {
        #[cfg(target_os = "linux")]
        use std::os::linux::net::SocketAddrExt;
        let address = match socket.as_os_str().as_bytes() {
            [b'/', ..] => net::SocketAddr::from_pathname(socket)?,
            #[cfg(target_os = "linux")]
            [b'@', name @ ..] => net::SocketAddr::from_abstract_name(name)?,
            _ => bail!("it must be an absolute path, or an abstract name after an @"),
        };
        let socket = net::UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        socket.set_nonblocking(true)?;
        let socket = Some(Arc::new(UnixDatagram::from_std(socket)?));
        Ok(Self { socket, watchdog: watchdog.filter(|interval| !interval.is_zero()) })
    }

    /// Notifies that the server listens.
    pub async fn ready(&self) {
        self.send("READY=1").await;
    }

    /// Notifies whether the server can serve, and why not.
    pub async fn status(&self, readiness: &Readiness) {
        let status = if readiness.is_ready() { "serving".to_owned() } else { format!("not ready: {readiness}") };
        // A line break ends an assignment, and a database error may contain several.
        self.send(&format!("STATUS={}", status.replace(char::is_control, " "))).await;
    }

    /// Notifies that the server drains and stops within this time.
    pub async fn stopping(&self, within: Duration) {
        self.send(&format!("STOPPING=1\nEXTEND_TIMEOUT_USEC={}", within.as_micros())).await;
    }

    /// Notifies twice in each of the watchdog's intervals, for as long as the server makes progress.
    pub async fn run_watchdog(self, mut watchdog: Watchdog) {
        let Some(interval) = self.watchdog else { return };
        let mut ticks = tokio::time::interval(interval / 2);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            watchdog.mark_unchanged();
            if watchdog.changed().await.is_err() {
                return;
            }
            self.send("WATCHDOG=1").await;
        }
    }

    async fn send(&self, state: &str) {
        let Some(socket) = &self.socket else { return };
        let sent = timeout(SEND_TIMEOUT, socket.send(state.as_bytes())).await;
        if let Err(error) = sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            warn!(%error, state, "cannot notify the supervisor");
        }
    }
}

fn number(name: &str) -> anyhow::Result<Option<u64>> {
    let Some(text) = std::env::var_os(name) else { return Ok(None) };
    let number = text.to_str().and_then(|text| text.parse().ok());
    number.map(Some).with_context(|| format!("{name}: must be a number, not {text:?}"))
}
