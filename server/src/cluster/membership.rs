//! The other live servers, as of the last heartbeat.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tenure_core::ServerId;

use crate::store::ServerRecord;

/// How to reach a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberView {
    /// The host and port; empty if it cannot be reached.
    pub address: String,
    /// The SHA-256 of the certificate that it presents to other servers, in hexadecimal; empty without TLS.
    pub certificate: String,
}

/// All servers, as of one heartbeat.
#[derive(Debug)]
pub(crate) struct KnownServers {
    /// How long the heartbeat took.
    pub(crate) took: Duration,
    /// Every server, including this one, and when its heartbeat was last seen to change, on this server's clock.
    pub(crate) servers: Vec<(ServerRecord, Option<Duration>)>,
}

/// The other servers and their addresses.
#[derive(Debug, Default)]
pub struct Membership {
    living: ArcSwapOption<BTreeMap<ServerId, MemberView>>,
    known_servers: ArcSwapOption<KnownServers>,
    longest_lease_ms: AtomicU64,
    unreachable: ArcSwapOption<BTreeMap<ServerId, String>>,
    /// The number of live servers that are not draining.
    staying: AtomicUsize,
}

impl Membership {
    /// Sets the live servers, and the number of them that are not draining.
    pub(crate) fn note(&self, living: BTreeMap<ServerId, MemberView>, staying: usize) {
        self.living.store(Some(Arc::new(living)));
        self.staying.store(staying, Ordering::Relaxed);
    }

    /// Whether another server accepts clients, as of the last heartbeat.
    pub(crate) fn take_clients(&self) -> bool {
        self.staying.load(Ordering::Relaxed) > 0
    }

    /// Sets the result of a heartbeat.
    pub(crate) fn note_servers(&self, known_servers: KnownServers) {
        self.known_servers.store(Some(Arc::new(known_servers)));
    }

    /// Sets the servers that cannot be reached at their addresses, with the reasons.
    pub(crate) fn note_unreachable(&self, unreachable: BTreeMap<ServerId, String>) {
        self.unreachable.store(Some(Arc::new(unreachable)));
    }

    /// Why a live server could not be reached at its address, at the last attempt.
    pub(crate) fn unreachable(&self, server: ServerId) -> Option<String> {
        self.unreachable.load().as_ref()?.get(&server).cloned()
    }

    /// The live servers.
    pub(crate) fn members(&self) -> BTreeMap<ServerId, MemberView> {
        self.living.load().as_ref().map(|living| (**living).clone()).unwrap_or_default()
    }

    /// The label of a server.
    pub(crate) fn label(&self, server: ServerId) -> String {
        let known_servers = self.known_servers.load();
        let mut seen = known_servers.iter().flat_map(|known_servers| &known_servers.servers);
        seen.find(|(record, _)| record.server == server).map(|(record, _)| record.label.clone()).unwrap_or_default()
    }

    /// The result of the last heartbeat, if any.
    pub(crate) fn known_servers(&self) -> Option<Arc<KnownServers>> {
        self.known_servers.load_full()
    }

    /// Records the lease of this or another server.
    pub(crate) fn note_lease(&self, lease: Duration) {
        let ms = lease.as_millis().try_into().unwrap_or(u64::MAX);
        self.longest_lease_ms.fetch_max(ms, Ordering::Relaxed);
    }

    /// The longest server lease recorded so far.
    #[must_use]
    pub fn longest_lease(&self) -> Duration {
        Duration::from_millis(self.longest_lease_ms.load(Ordering::Relaxed))
    }

    /// Whether other servers are live; true if not yet known.
    #[must_use]
    pub fn live(&self) -> bool {
        self.living.load().as_ref().is_none_or(|living| !living.is_empty())
    }

    /// The number of other live servers.
    pub(crate) fn count(&self) -> usize {
        self.living.load().as_ref().map_or(0, |living| living.len())
    }

    /// How to reach a server, if it is live.
    #[must_use]
    pub fn member(&self, server: ServerId) -> Option<MemberView> {
        self.living.load().as_ref()?.get(&server).cloned()
    }

    /// Whether a condition holds for all live servers; false if they are not yet known.
    pub(crate) fn all(&self, holds: impl Fn(ServerId) -> bool) -> bool {
        self.living.load().as_ref().is_some_and(|living| living.keys().all(|server| holds(*server)))
    }
}
