//! The other live servers, as of the last heartbeat.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

impl From<&ServerRecord> for MemberView {
    fn from(record: &ServerRecord) -> Self {
        Self { address: record.address.clone(), certificate: record.certificate.clone() }
    }
}

/// All servers, as of one heartbeat.
#[derive(Debug)]
pub(crate) struct KnownServers {
    /// The server that sent the heartbeat.
    pub(crate) me: ServerId,
    /// How long the heartbeat took.
    pub(crate) took: Duration,
    /// Every server, including this one, and when its heartbeat was last seen to change, on this server's clock.
    pub(crate) servers: Vec<(ServerRecord, Option<Duration>)>,
}

impl KnownServers {
    /// The other live servers.
    fn others(&self) -> impl Iterator<Item = &ServerRecord> {
        let records = self.servers.iter().map(|(record, _)| record);
        records.filter(move |record| record.server != self.me && !record.dead)
    }
}

/// The other servers and their addresses.
#[derive(Debug, Default)]
pub struct Membership {
    known: ArcSwapOption<KnownServers>,
    longest_lease_ms: AtomicU64,
    unreachable: ArcSwapOption<BTreeMap<ServerId, String>>,
}

impl Membership {
    /// Sets the result of a heartbeat.
    pub(crate) fn note(&self, known: KnownServers) {
        for (record, _) in &known.servers {
            let ms = record.lease.as_millis().try_into().unwrap_or(u64::MAX);
            self.longest_lease_ms.fetch_max(ms, Ordering::Relaxed);
        }
        self.known.store(Some(Arc::new(known)));
    }

    /// Whether another server accepts clients, as of the last heartbeat.
    pub(crate) fn take_clients(&self) -> bool {
        self.known.load().as_ref().is_some_and(|known| known.others().any(|other| !other.drains()))
    }

    /// Sets the servers that cannot be reached at their addresses, with the reasons.
    pub(crate) fn note_unreachable(&self, unreachable: BTreeMap<ServerId, String>) {
        self.unreachable.store(Some(Arc::new(unreachable)));
    }

    /// Why a live server could not be reached at its address, at the last attempt.
    pub(crate) fn unreachable(&self, server: ServerId) -> Option<String> {
        self.unreachable.load().as_ref()?.get(&server).cloned()
    }

    /// The other live servers.
    pub(crate) fn members(&self) -> BTreeMap<ServerId, MemberView> {
        let known = self.known.load();
        known.iter().flat_map(|known| known.others()).map(|other| (other.server, other.into())).collect()
    }

    pub(crate) fn label(&self, server: ServerId) -> String {
        let known = self.known.load();
        let mut records = known.iter().flat_map(|known| &known.servers).map(|(record, _)| record);
        records.find(|record| record.server == server).map(|record| record.label.clone()).unwrap_or_default()
    }

    /// The result of the last heartbeat, if any.
    pub(crate) fn known_servers(&self) -> Option<Arc<KnownServers>> {
        self.known.load_full()
    }

    /// The longest server lease recorded so far.
    #[must_use]
    pub fn longest_lease(&self) -> Duration {
        Duration::from_millis(self.longest_lease_ms.load(Ordering::Relaxed))
    }

    /// Whether other servers are live; true if not yet known.
    #[must_use]
    pub fn live(&self) -> bool {
        self.known.load().as_ref().is_none_or(|known| known.others().next().is_some())
    }

    /// The number of other live servers.
    pub(crate) fn count(&self) -> usize {
        self.known.load().as_ref().map_or(0, |known| known.others().count())
    }

    /// How to reach a server, if it is live.
    #[must_use]
    pub fn member(&self, server: ServerId) -> Option<MemberView> {
        let known = self.known.load();
        known.as_ref()?.others().find(|other| other.server == server).map(MemberView::from)
    }

    /// Whether a condition holds for all live servers; false if they are not yet known.
    pub(crate) fn all(&self, holds: impl Fn(ServerId) -> bool) -> bool {
        self.known.load().as_ref().is_some_and(|known| known.others().all(|other| holds(other.server)))
    }
}
