//! The other servers that live, as the last heartbeat found them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tenure_core::ServerId;

use crate::store::Presence;

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberView {
    /// Its host and port; empty if it is reached nowhere.
    pub address: String,
    /// The SHA-256 of the certificate that it shows there to other servers, in hexadecimal; empty if it speaks no TLS.
    pub certificate: String,
}

/// All servers, as a heartbeat found them.
#[derive(Debug)]
pub(crate) struct HeartbeatsSeen {
    /// How long its answer took.
    pub(crate) took: Duration,
    /// Every server, this one among them, and when its heartbeat was seen to change, on this server's clock.
    pub(crate) servers: Vec<(Presence, Option<Duration>)>,
}

/// The other servers, and how each is reached.
#[derive(Debug, Default)]
pub struct Membership {
    living: ArcSwapOption<BTreeMap<ServerId, MemberView>>,
    heartbeats_seen: ArcSwapOption<HeartbeatsSeen>,
    longest_lease_ms: AtomicU64,
    unreachable: ArcSwapOption<BTreeMap<ServerId, String>>,
    /// How many of them do not drain.
    staying: AtomicUsize,
}

impl Membership {
    /// Takes note of those that live, and of how many of them do not drain.
    pub(crate) fn note(&self, living: BTreeMap<ServerId, MemberView>, staying: usize) {
        self.living.store(Some(Arc::new(living)));
        self.staying.store(staying, Ordering::Relaxed);
    }

    /// Whether there is another one that takes clients, as the last heartbeat had it.
    pub(crate) fn take_clients(&self) -> bool {
        self.staying.load(Ordering::Relaxed) > 0
    }

    /// Notes what a heartbeat found.
    pub(crate) fn note_heartbeats_seen(&self, heartbeats_seen: HeartbeatsSeen) {
        self.heartbeats_seen.store(Some(Arc::new(heartbeats_seen)));
    }

    /// Takes note of those that cannot be reached at their addresses, and why.
    pub(crate) fn note_unreachable(&self, unreachable: BTreeMap<ServerId, String>) {
        self.unreachable.store(Some(Arc::new(unreachable)));
    }

    /// Why a server that lives could not be reached at its address, when that was tried last.
    pub(crate) fn unreachable(&self, server: ServerId) -> Option<String> {
        self.unreachable.load().as_ref()?.get(&server).cloned()
    }

    /// How each that lives is reached.
    pub(crate) fn members(&self) -> BTreeMap<ServerId, MemberView> {
        self.living.load().as_ref().map(|living| (**living).clone()).unwrap_or_default()
    }

    /// What people call a server.
    pub(crate) fn label(&self, server: ServerId) -> String {
        let heartbeats_seen = self.heartbeats_seen.load();
        let mut seen = heartbeats_seen.iter().flat_map(|heartbeats_seen| &heartbeats_seen.servers);
        seen.find(|(presence, _)| presence.server == server)
            .map(|(presence, _)| presence.label.clone())
            .unwrap_or_default()
    }

    /// What the last heartbeat found, if there was one.
    pub(crate) fn heartbeats_seen(&self) -> Option<Arc<HeartbeatsSeen>> {
        self.heartbeats_seen.load_full()
    }

    /// Takes note of a server's lease, this one's or another's.
    pub(crate) fn note_lease(&self, lease: Duration) {
        let ms = lease.as_millis().try_into().unwrap_or(u64::MAX);
        self.longest_lease_ms.fetch_max(ms, Ordering::Relaxed);
    }

    /// The longest lease of a server that was seen so far.
    #[must_use]
    pub fn longest_lease(&self) -> Duration {
        Duration::from_millis(self.longest_lease_ms.load(Ordering::Relaxed))
    }

    /// Whether there is anybody else, as far as is known.
    #[must_use]
    pub fn live(&self) -> bool {
        self.living.load().as_ref().is_none_or(|living| !living.is_empty())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.living.load().as_ref().map_or(0, |living| living.len())
    }

    /// How a server is reached, if it lives.
    #[must_use]
    pub fn member(&self, server: ServerId) -> Option<MemberView> {
        self.living.load().as_ref()?.get(&server).cloned()
    }

    /// Whether this holds of all of them, as far as they are known.
    pub(crate) fn all(&self, holds: impl Fn(ServerId) -> bool) -> bool {
        self.living.load().as_ref().is_some_and(|living| living.keys().all(|server| holds(*server)))
    }
}
