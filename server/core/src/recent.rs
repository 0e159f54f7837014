//! A map of bounded size.

use std::hash::Hash;

use crate::map::Map;

/// A map that forgets its oldest entry when a further one is inserted beyond `MOST`.
#[derive(Debug)]
pub struct Recent<K, V, const MOST: usize> {
    known: Map<K, V>,
    /// The index of the oldest entry, once the map is full.
    oldest: usize,
}

impl<K, V, const MOST: usize> Default for Recent<K, V, MOST> {
    fn default() -> Self {
        Self { known: Map::default(), oldest: 0 }
    }
}

impl<K: Clone + Eq + Hash, V, const MOST: usize> Recent<K, V, MOST> {
    /// The value of a key, if it is remembered.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.known.get(key)
    }

    /// Inserts or replaces a value. A replaced one keeps its age.
    pub fn insert(&mut self, key: &K, value: V) {
        if let Some(known) = self.known.get_mut(key) {
            *known = value;
        } else if self.known.len() < MOST {
            self.known.insert(key.clone(), value);
        } else if self.known.replace_index(self.oldest, key.clone()).is_ok() {
            self.known[self.oldest] = value;
            self.oldest = (self.oldest + 1) % MOST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_is_forgotten_first() {
        let mut recent: Recent<u64, u64, 3> = Recent::default();
        for key in 1..=5 {
            recent.insert(&key, key);
        }
        let known = |recent: &Recent<u64, u64, 3>| (1..=6).filter(|key| recent.get(key).is_some()).collect();
        let first: Vec<u64> = known(&recent);
        assert_eq!(first, [3, 4, 5]);
        recent.insert(&6, 6);
        recent.insert(&6, 7);
        let then: Vec<u64> = known(&recent);
        assert_eq!((then, recent.get(&6)), (vec![4, 5, 6], Some(&7)));
    }
}
