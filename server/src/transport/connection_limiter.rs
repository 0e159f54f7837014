//! Limits the number of open connections, in total and per address.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::account::{Account, Accounts};
use super::limiter::{Limiter, Permit, host};
use crate::telemetry::log_throttle::LogThrottle;
use crate::transport::metrics::Connections;

/// The maximum number of concurrent TLS handshakes of one address (for IPv6: one /64 network).
const HANDSHAKES_OF_ONE_ADDRESS: usize = 64;

/// The interval at which rejected connections and mismatches are logged.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Limits on connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The maximum number of open connections.
    pub connections: usize,
    /// The maximum number of open connections from one address (for IPv6: from one /64 network).
    pub of_one_address: usize,
    /// Timeout until a client has begun to speak HTTP/2.
    pub greeting: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { connections: 20_000, of_one_address: 10_000, greeting: Duration::from_secs(10) }
    }
}

/// Counts and limits open connections.
pub(super) struct ConnectionLimiter {
    greeting_timeout: Duration,
    limiter: Limiter<Handshakes>,
    /// Rejected connections that are not logged yet.
    rejected: Mutex<(u64, LogThrottle)>,
    /// Connections with clients that speak TLS to a plaintext port, or plaintext to a TLS port.
    mismatches: Mutex<LogThrottle>,
    counts: Connections,
    accounts: Accounts,
}

/// Permits for the concurrent handshakes of one address.
#[derive(Clone)]
struct Handshakes(Arc<Semaphore>);

impl Default for Handshakes {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(HANDSHAKES_OF_ONE_ADDRESS)))
    }
}

/// The permit of an open connection, released on drop.
pub struct ConnectionPermit {
    limiter: Arc<ConnectionLimiter>,
    of_address: Permit<Handshakes>,
    /// The connection's memory account.
    pub(super) account: Arc<Account>,
}

impl ConnectionPermit {
    /// Logs, rate-limited, that a client and this server disagree on TLS.
    pub(super) fn note_mismatch(&self, what: &'static str) {
        let mut mismatches = self.limiter.mismatches.lock().unwrap_or_else(PoisonError::into_inner);
        if mismatches.on_error(Instant::now()) {
            tracing::warn!(from = ?self.of_address.host, "{what}");
        }
    }

    /// Timeout until the client has begun to speak HTTP/2.
    pub(super) fn greeting_timeout(&self) -> Duration {
        self.limiter.greeting_timeout
    }

    /// Counts a failed handshake.
    pub(super) fn note_failed_handshake(&self) {
        self.limiter.counts.handshakes_failed.inc();
    }

    /// Permits for the concurrent handshakes of the connection's address.
    pub(super) fn handshakes(&self) -> Arc<Semaphore> {
        self.of_address.shared.0.clone()
    }
}

impl ConnectionLimiter {
    pub(super) fn new(limits: ConnectionLimits, counts: Connections, accounts: Accounts) -> Arc<Self> {
        let limiter = Limiter::new(limits.connections, limits.of_one_address);
        let throttle = || LogThrottle::every(LOG_INTERVAL);
        let (rejected, mismatches) = (Mutex::new((0, throttle())), Mutex::new(throttle()));
        Arc::new(Self { greeting_timeout: limits.greeting, limiter, rejected, mismatches, counts, accounts })
    }

    /// Admits a connection, unless a limit is reached. Then it is closed, and its client fails over to another server.
    pub(super) fn acquire(self: &Arc<Self>, address: Option<SocketAddr>) -> Option<ConnectionPermit> {
        let address = address.map(|address| address.ip());
        let Some(permit) = self.limiter.acquire(address) else {
            self.counts.rejected.inc();
            let (rejected, throttle) = &mut *self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
            *rejected += 1;
            if throttle.on_error(Instant::now()) {
                tracing::warn!(
                    connections = self.limiter.count(),
                    rejected = *rejected,
                    last = ?address.map(host),
                    "connections are rejected: the limit in total or for one address is reached"
                );
                *rejected = 0;
            }
            return None;
        };
        self.counts.open.inc();
        let account = self.accounts.open(permit.host);
        Some(ConnectionPermit { limiter: self.clone(), of_address: permit, account })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limiter.counts.open.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Buffers;

    #[test]
    fn each_address_has_handshakes_of_its_own() {
        let limiter = ConnectionLimiter::new(
            ConnectionLimits::default(),
            Connections::default(),
            Accounts::new(&Buffers::default()),
        );
        let acquire = |host: u8| limiter.acquire(Some(([10, 0, 0, host], 4_711).into())).expect("below the limits");
        let [first, second, other] = [1, 1, 2].map(acquire);
        let taken = first.handshakes().try_acquire_many_owned(64).expect("all handshakes of its address");
        assert!(second.handshakes().try_acquire().is_err(), "the same address");
        assert!(other.handshakes().try_acquire().is_ok());
        drop(taken);
        assert!(second.handshakes().try_acquire().is_ok());
    }
}
