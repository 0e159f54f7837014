//! Limits concurrency, in total and per address (for IPv6: per /64 network).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Issues permits. Each carries a `T` that is shared by all permits of the same address.
#[derive(Clone)]
pub(crate) struct Limiter<T = ()>(Arc<Shared<T>>);

struct Shared<T> {
    limit: usize,
    limit_of_one_address: usize,
    given: Mutex<Given<T>>,
}

#[derive(Default)]
struct Given<T> {
    count: usize,
    of: HashMap<IpAddr, Host<T>>,
}

#[derive(Default)]
struct Host<T> {
    count: usize,
    shared: T,
}

/// A permit, released on drop.
pub(crate) struct Permit<T = ()> {
    limiter: Limiter<T>,
    /// The address or network, if known.
    pub(super) host: Option<IpAddr>,
    /// The value shared by all permits of this address.
    pub(super) shared: T,
}

impl<T> Limiter<T> {
    /// The number of permits in use.
    pub(crate) fn count(&self) -> usize {
        self.given().count
    }

    fn given(&self) -> MutexGuard<'_, Given<T>> {
        self.0.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone + Default> Limiter<T> {
    /// Creates a limiter of at most `limit` permits, and at most `limit_of_one_address` per address.
    pub(crate) fn new(limit: usize, limit_of_one_address: usize) -> Self {
        Self(Arc::new(Shared { limit, limit_of_one_address, given: Mutex::default() }))
    }

    /// Issues a permit. `None`: a limit is reached.
    pub(crate) fn acquire(&self, address: Option<IpAddr>) -> Option<Permit<T>> {
        let host = address.map(host);
        let mut given = self.given();
        let of_this = host.and_then(|host| given.of.get(&host)).map_or(0, |host| host.count);
        if given.count >= self.0.limit || of_this >= self.0.limit_of_one_address {
            return None;
        }
        given.count += 1;
        let shared = host.map_or_else(T::default, |host| {
            let host = given.of.entry(host).or_default();
            host.count += 1;
            host.shared.clone()
        });
        Some(Permit { limiter: self.clone(), host, shared })
    }
}

impl<T> Drop for Permit<T> {
    fn drop(&mut self) {
        let mut given = self.limiter.given();
        given.count -= 1;
        if let Some(host) = self.host
            && let Some(of_this) = given.of.get_mut(&host)
        {
            of_this.count -= 1;
            if of_this.count == 0 {
                given.of.remove(&host);
            }
        }
    }
}

/// The unit of the per-address limit: for IPv6 the /64 network, because a host usually controls all of its addresses.
pub(crate) fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acquire(limiter: &Limiter, address: &str) -> Option<Permit> {
        limiter.acquire(Some(address.parse().expect("an address")))
    }

    #[test]
    fn dropped_permit_can_be_acquired_again() {
        let limiter = Limiter::new(3, 2);
        let first = acquire(&limiter, "10.0.0.1").expect("below the limits");
        let second = acquire(&limiter, "10.0.0.1").expect("below the limits");
        assert!(acquire(&limiter, "10.0.0.1").is_none(), "past the limit of one address");
        let third = acquire(&limiter, "10.0.0.2").expect("another address");
        assert!(acquire(&limiter, "10.0.0.3").is_none() && limiter.acquire(None).is_none(), "past the limit of all");
        drop(second);
        let again = acquire(&limiter, "10.0.0.1").expect("a permit was dropped");
        drop((first, third, again));
        assert!(limiter.given().of.is_empty() && limiter.count() == 0);
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        let limiter = Limiter::new(3, 2);
        let _given = [acquire(&limiter, "2001:db8:0:1::1"), acquire(&limiter, "2001:db8:0:1:ffff::2")];
        assert!(acquire(&limiter, "2001:db8:0:1::3").is_none());
        assert!(acquire(&limiter, "2001:db8:0:2::1").is_some());
    }

    #[test]
    fn mapped_ipv4_address_equals_its_plain_form() {
        assert_eq!(host("::ffff:10.0.0.1".parse().expect("an address")), host("10.0.0.1".parse().expect("an address")));
    }
}
