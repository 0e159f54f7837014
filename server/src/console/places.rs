//! Places for calls that are under way: so many in all, of which one address has only some.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many calls of one kind may be under way.
const ALL: usize = 64;

/// How many of them for one address, so that it cannot keep all others out.
const OF_ONE_ADDRESS: usize = 32;

/// Counts calls of one kind that are under way.
#[derive(Clone, Default)]
pub(super) struct Places(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A place of one call, until it is dropped.
pub(super) struct Place {
    places: Places,
    address: IpAddr,
}

impl Places {
    /// Takes a place. `None`: there is none left, in all or for this address.
    pub(super) fn take(&self, address: IpAddr) -> Option<Place> {
        let address = address.to_canonical();
        let mut taken = self.lock();
        let of_this = taken.get(&address).copied().unwrap_or_default();
        if of_this >= OF_ONE_ADDRESS || taken.values().sum::<usize>() >= ALL {
            return None;
        }
        taken.insert(address, of_this + 1);
        Some(Place { places: self.clone(), address })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(count) = taken.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_leaves_places_for_others_and_gives_its_own_back() {
        let places = Places::default();
        let take = |host: u8, count: usize| (0..count).filter_map(|_| places.take([10, 0, 0, host].into())).collect();
        let first: Vec<Place> = take(1, ALL);
        let second: Vec<Place> = take(2, ALL);
        assert_eq!((first.len(), second.len()), (OF_ONE_ADDRESS, ALL - OF_ONE_ADDRESS));
        assert!(places.take([10, 0, 0, 3].into()).is_none(), "as many as may be");
        drop(first);
        assert!(places.take([10, 0, 0, 1].into()).is_some());
        drop(second);
        assert!(places.lock().is_empty());
    }
}
