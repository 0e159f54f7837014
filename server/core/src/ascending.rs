//! A map by ascending keys, in which a new entry is nearly always the greatest, and often among the first to be removed.

use std::collections::BTreeMap;
use std::mem::replace;

/// The maximum number of entries in a block.
const BLOCK: usize = 64;

/// What an [`Ascending`] keeps: a pair of key and value, or a value that contains its key.
pub trait Entry {
    /// The key.
    type Key: Copy + Ord + Default;
    /// The value.
    type Value;

    /// The key of this entry.
    fn key(&self) -> Self::Key;

    /// The value of this entry.
    fn value(&self) -> &Self::Value;
}

impl<K: Copy + Ord + Default, V> Entry for (K, V) {
    type Key = K;
    type Value = V;

    fn key(&self) -> K {
        self.0
    }

    fn value(&self) -> &V {
        &self.1
    }
}

/// A sorted map in blocks, which are filled one after the other, and completely. (A `BTreeMap` that grows at its end
/// leaves half of each node empty, and the path to the newest entries is as long as to the oldest.)
#[derive(Clone, Debug)]
pub struct Ascending<E: Entry> {
    /// The blocks, each by the key from which its entries start. A block is seldom empty.
    blocks: BTreeMap<E::Key, Vec<E>>,
    newest: Vec<E>,
    /// Entries from this key on belong to `newest`.
    from: E::Key,
}

impl<E: Entry> Default for Ascending<E> {
    fn default() -> Self {
        Self { blocks: BTreeMap::new(), newest: Vec::new(), from: E::Key::default() }
    }
}

impl<E: Entry<Value: PartialEq>> PartialEq for Ascending<E> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<E: Entry<Value: Eq>> Eq for Ascending<E> {}

impl<E: Entry> Ascending<E> {
    /// The value of this key.
    #[must_use]
    pub fn get(&self, key: &E::Key) -> Option<&E::Value> {
        let block = if *key < self.from { self.blocks.range(..=key).next_back()?.1 } else { &self.newest };
        index(block, key).ok().map(|index| block[index].value())
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = E::Key> {
        self.entries().map(E::key)
    }

    /// All values, in order.
    pub fn values(&self) -> impl Iterator<Item = &E::Value> {
        self.entries().map(E::value)
    }

    /// All keys and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (E::Key, &E::Value)> {
        self.entries().map(|entry| (entry.key(), entry.value()))
    }

    fn entries(&self) -> impl Iterator<Item = &E> {
        self.blocks.values().flatten().chain(&self.newest)
    }

    /// Those after a key, in order.
    pub fn after(&self, key: E::Key) -> impl Iterator<Item = (E::Key, &E::Value)> {
        let first = self.blocks.range(..=key).next_back().map_or(E::Key::default(), |(from, _)| *from);
        let entries = self.blocks.range(first..).flat_map(|(_, block)| block).chain(&self.newest);
        entries.skip_while(move |entry| entry.key() <= key).map(|entry| (entry.key(), entry.value()))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().next().is_none()
    }

    /// Inserts an entry, whose key must not be present.
    pub fn insert(&mut self, entry: E) {
        let key = entry.key();
        let block = match key < self.from {
            true => match self.blocks.range_mut(..=key).next_back() {
                Some((_, block)) => block,
                None => self.blocks.entry(key).or_default(),
            },
            false => &mut self.newest,
        };
        let index = index(block, &key).unwrap_or_else(|index| index);
        if block.len() < BLOCK {
            return block.insert(index, entry);
        }
        if key < self.from {
            let rest = block.split_off(BLOCK / 2);
            self.blocks.insert(rest[0].key(), rest);
        } else {
            let mut rest = Vec::with_capacity(BLOCK);
            rest.extend(block.drain(index..));
            let from = rest.first().map_or(key, E::key);
            let full = replace(&mut self.newest, rest);
            self.blocks.insert(replace(&mut self.from, from), full);
        }
        self.insert(entry);
    }

    /// Removes an entry, if present.
    pub fn remove(&mut self, key: &E::Key) -> Option<E> {
        if *key >= self.from {
            let index = index(&self.newest, key).ok()?;
            return Some(self.newest.remove(index));
        }
        let (from, block) = self.blocks.range_mut(..=key).next_back()?;
        let (from, index) = (*from, index(block, key).ok()?);
        let entry = block.remove(index);
        if block.is_empty() {
            self.blocks.remove(&from);
        } else if block.len() <= block.capacity() / 2 {
            block.shrink_to_fit();
        }
        Some(entry)
    }
}

/// The index of an entry in a block, or the index to insert it at.
fn index<E: Entry>(block: &[E], key: &E::Key) -> Result<usize, usize> {
    block.binary_search_by(|entry| entry.key().cmp(key))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Revision;

    #[derive(Clone, Debug)]
    enum Step {
        /// Inserts this number of entries, one after the other.
        Insert(u64),
        /// Removes the entry at this distance from the newest.
        RemoveRecent(usize),
        /// Removes any entry, and inserts it again if undone.
        Remove { index: usize, undone: bool },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => (1u64..100).prop_map(Step::Insert),
            2 => (0usize..5).prop_map(Step::RemoveRecent),
            8 => (any::<usize>(), prop::bool::weighted(0.3)).prop_map(|(index, undone)| Step::Remove { index, undone }),
        ]
    }

    proptest! {
        #[test]
        fn is_a_sorted_map(steps in prop::collection::vec(step(), 1..100)) {
            let (mut map, mut plain, mut next) = (Ascending::default(), BTreeMap::new(), 0);
            for step in steps {
                let mut removal = None;
                match step {
                    Step::Insert(many) => for _ in 0..many {
                        // Not every event creates an entry.
                        next += 1 + next % 3;
                        map.insert((Revision(next), next));
                        plain.insert(Revision(next), next);
                    },
                    Step::RemoveRecent(index) => {
                        removal = plain.keys().rev().nth(index).map(|revision| (*revision, false));
                    }
                    Step::Remove { index, undone } if !plain.is_empty() => {
                        removal = plain.keys().nth(index % plain.len()).map(|revision| (*revision, undone));
                    }
                    Step::Remove { .. } => {}
                }
                if let Some((revision, undone)) = removal {
                    prop_assert_eq!(map.remove(&revision), plain.remove_entry(&revision));
                    prop_assert_eq!(map.get(&revision), None);
                    prop_assert_eq!(map.remove(&revision), None);
                    if undone {
                        map.insert((revision, revision.0));
                        plain.insert(revision, revision.0);
                    }
                    let later = plain.range(revision..).map(|(_, value)| value).filter(|value| **value > revision.0);
                    prop_assert!(map.after(revision).map(|(_, value)| value).eq(later));
                }
                prop_assert!(map.iter().eq(plain.iter().map(|(key, value)| (*key, value))));
                prop_assert_eq!(map.is_empty(), plain.is_empty());
                prop_assert!(plain.iter().all(|(revision, value)| map.get(revision) == Some(value)));
            }
        }
    }

    /// A map with these entries, inserted in this order.
    fn filled(numbers: impl IntoIterator<Item = u64>) -> Ascending<(Revision, u64)> {
        let mut map = Ascending::default();
        numbers.into_iter().for_each(|number| map.insert((Revision(number), number)));
        map
    }

    fn remove(map: &mut Ascending<(Revision, u64)>, number: u64) {
        assert_eq!(map.remove(&Revision(number)), Some((Revision(number), number)));
    }

    fn assert_has_up_to(map: &Ascending<(Revision, u64)>, last: u64) {
        assert!(map.values().copied().eq(1..=last));
        assert!((1..=last).all(|number| map.get(&Revision(number)) == Some(&number)));
    }

    #[test]
    fn whole_blocks_are_reinserted_in_any_order() {
        let block = BLOCK as u64;
        let numbers = block + 1..=2 * block;
        for backwards in [false, true] {
            let mut map = filled(1..=4 * block);
            numbers.clone().for_each(|number| remove(&mut map, number));
            let mut back: Vec<u64> = numbers.clone().collect();
            if backwards {
                back.reverse();
            }
            back.into_iter().for_each(|number| map.insert((Revision(number), number)));
            assert_has_up_to(&map, 4 * block);
        }
    }

    #[test]
    fn first_entry_of_a_full_block_is_reinserted() {
        let first = BLOCK as u64 + 1;
        let mut map = filled(1..=first);
        map.remove(&Revision(first));
        let last = first + BLOCK as u64;
        (first + 1..=last).for_each(|number| map.insert((Revision(number), number)));
        map.insert((Revision(first), first));
        assert_has_up_to(&map, last);
    }

    #[test]
    fn maps_with_the_same_entries_are_equal() {
        assert_eq!(filled(1..=100), filled((1..=100).rev()));
        assert_ne!(filled(1..=100), filled(1..=99));
    }

    #[test]
    fn blocks_are_filled_to_the_end() {
        let map = filled(1..=10_000);
        let capacity: usize = map.blocks.values().map(Vec::capacity).sum();
        assert!(capacity <= 10_000, "{capacity}");
    }

    #[test]
    fn blocks_shrink_with_their_entries() {
        let mut map = filled(1..=10_000);
        let removed = (1..=10_000_u64).filter(|number| !number.is_multiple_of(4));
        removed.for_each(|number| remove(&mut map, number));
        let capacity: usize = map.blocks.values().map(Vec::capacity).sum();
        assert!(capacity <= 10_000 / 2, "{capacity}");
    }

    #[test]
    fn blocks_without_entries_are_freed() {
        let mut map = filled(1..=10_000);
        let removed = |number: &u64| !number.is_multiple_of(BLOCK as u64);
        (1..=10_000).filter(removed).for_each(|number| remove(&mut map, number));
        let capacity: usize = map.blocks.values().map(Vec::capacity).sum();
        assert!(capacity <= 8 * 10_000 / BLOCK, "{capacity}");
    }
}
