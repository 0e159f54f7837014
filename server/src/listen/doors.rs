//! Who is let in: how many connections there may be, in all and from one address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::metrics::Connections;
use crate::trouble::Trouble;

/// How many TLS handshakes of one address (of IPv6: of one network of 64 bits) are under way at once.
const HANDSHAKES_OF_ONE_ADDRESS: usize = 64;

/// How often it is told that connections are turned away.
const TELL: Duration = Duration::from_secs(10);

/// What connections may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// How many there may be.
    pub connections: usize,
    /// How many there may be from one address (of IPv6: from one network of 64 bits).
    pub of_one_address: usize,
    /// How long it may take until a client has begun to speak HTTP/2.
    pub greeting: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { connections: 20_000, of_one_address: 10_000, greeting: Duration::from_secs(10) }
    }
}

/// Counts who is inside.
#[derive(Clone)]
pub(super) struct Doors(Arc<Shared>);

struct Shared {
    limits: ConnectionLimits,
    inside: Mutex<Inside>,
    /// With clients that speak TLS where there is none, or none where there is.
    mismatches: Mutex<Trouble>,
    counts: Connections,
}

#[derive(Default)]
struct Inside {
    many: usize,
    of: HashMap<IpAddr, Host>,
    turned_away: u64,
    told: Option<Instant>,
}

/// What one address has.
struct Host {
    inside: usize,
    handshakes: Arc<Semaphore>,
}

impl Host {
    fn new() -> Self {
        Self { inside: 0, handshakes: Arc::new(Semaphore::new(HANDSHAKES_OF_ONE_ADDRESS)) }
    }
}

/// A connection's place inside, until it is dropped.
pub struct Place {
    doors: Doors,
    host: Option<IpAddr>,
    handshakes: Arc<Semaphore>,
}

impl Place {
    /// Logs, now and then, that a client and this server do not agree on TLS.
    pub(super) fn note_mismatch(&self, what: &'static str) {
        let mut mismatches = self.doors.0.mismatches.lock().unwrap_or_else(PoisonError::into_inner);
        if mismatches.fails(tokio::time::Instant::now()) {
            tracing::warn!(from = ?self.host, "{what}");
        }
    }

    /// Counts that its handshake has failed.
    pub(super) fn note_failed_handshake(&self) {
        self.doors.0.counts.handshakes_failed.inc();
    }

    /// Room for the handshakes of its address.
    pub(super) fn handshakes(&self) -> Arc<Semaphore> {
        self.handshakes.clone()
    }
}

impl Doors {
    pub(super) fn new(limits: ConnectionLimits, counts: Connections) -> Self {
        let mismatches = Mutex::new(Trouble::told_every(TELL));
        Self(Arc::new(Shared { limits, inside: Mutex::default(), mismatches, counts }))
    }

    pub(super) fn limits(&self) -> ConnectionLimits {
        self.0.limits
    }

    /// Lets one more in. `None`: there is no room.
    pub(super) fn enter(&self, address: Option<SocketAddr>) -> Option<Place> {
        let host = address.map(|address| host(address.ip()));
        let mut inside = self.lock();
        let of_this = host.and_then(|host| inside.of.get(&host)).map_or(0, |host| host.inside);
        if inside.many >= self.0.limits.connections || of_this >= self.0.limits.of_one_address {
            inside.turn_away(host, Instant::now());
            self.0.counts.turned_away.inc();
            return None;
        }
        inside.many += 1;
        self.0.counts.open.inc();
        let handshakes = match host {
            Some(host) => {
                let host = inside.of.entry(host).or_insert_with(Host::new);
                host.inside += 1;
                host.handshakes.clone()
            }
            None => Host::new().handshakes,
        };
        Some(Place { doors: self.clone(), host, handshakes })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn turn_away(&mut self, last: Option<IpAddr>, now: Instant) {
        self.turned_away += 1;
        if self.told.is_none_or(|told| now.duration_since(told) >= TELL) {
            let (connections, turned_away) = (self.many, self.turned_away);
            tracing::warn!(
                connections,
                turned_away,
                ?last,
                "there are as many connections as may be, or from one address"
            );
            (self.told, self.turned_away) = (Some(now), 0);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inside = self.doors.lock();
        inside.many -= 1;
        self.doors.0.counts.open.dec();
        if let Some(host) = self.host
            && let Some(of_this) = inside.of.get_mut(&host)
        {
            of_this.inside -= 1;
            if of_this.inside == 0 {
                inside.of.remove(&host);
            }
        }
    }
}

/// Whose an address is: who has one of IPv6 has as a rule all that begin with the same 64 bits.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doors() -> Doors {
        Doors::new(
            ConnectionLimits { connections: 3, of_one_address: 2, ..ConnectionLimits::default() },
            Connections::default(),
        )
    }

    fn from(address: &str) -> Option<SocketAddr> {
        Some(SocketAddr::new(address.parse().expect("an address"), 4_711))
    }

    #[test]
    fn who_leaves_makes_room() {
        let doors = doors();
        let first = doors.enter(from("10.0.0.1")).expect("there is room");
        let second = doors.enter(from("10.0.0.1")).expect("there is room");
        assert!(doors.enter(from("10.0.0.1")).is_none(), "as many as may be from one address");
        let third = doors.enter(from("10.0.0.2")).expect("there is room for others");
        assert!(doors.enter(from("10.0.0.3")).is_none() && doors.enter(None).is_none(), "as many as may be");
        drop(second);
        let again = doors.enter(from("10.0.0.1")).expect("there is room again");
        drop((first, third, again));
        assert!(doors.lock().of.is_empty() && doors.lock().many == 0);
    }

    #[test]
    fn each_address_has_handshakes_of_its_own() {
        let doors = doors();
        let room = |address| doors.enter(from(address)).expect("there is room");
        let [first, second, other] = ["10.0.0.1", "10.0.0.1", "10.0.0.2"].map(room);
        let taken = first.handshakes().try_acquire_many_owned(64).expect("all of its address");
        assert!(second.handshakes().try_acquire().is_err(), "the same address");
        assert!(other.handshakes().try_acquire().is_ok());
        drop(taken);
        assert!(second.handshakes().try_acquire().is_ok());
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        let doors = doors();
        let _inside = [doors.enter(from("2001:db8:0:1::1")), doors.enter(from("2001:db8:0:1:ffff::2"))];
        assert!(doors.enter(from("2001:db8:0:1::3")).is_none());
        assert!(doors.enter(from("2001:db8:0:2::1")).is_some());
    }

    #[test]
    fn an_address_of_the_older_kind_is_the_same_in_both_forms() {
        assert_eq!(host("::ffff:10.0.0.1".parse().expect("an address")), host("10.0.0.1".parse().expect("an address")));
    }
}
