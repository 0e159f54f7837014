//! The locks of a table: found by name, and listed in byte order of their names.

use std::collections::BTreeSet;
use std::iter::from_fn;
use std::ops::Bound;

use indexmap::map::Entry;

use crate::lock::Lock;
use crate::map::{Map, Set};
use crate::model::{Claim, Revision};
use crate::names::Text;

/// The maximum number of unsorted names. Most locks are idle again before they are due for sorting, and so never
/// sorted: finding a index among a million names costs more than all the rest of a grant.
const UNSORTED: usize = 1_024;

/// The locks that are not idle.
#[derive(Debug, Default)]
pub(super) struct Locks {
    by_name: Map<Text, Lock>,
    /// The names in byte order, except the `unsorted` ones.
    sorted: BTreeSet<Text>,
    unsorted: Set<Text>,
    /// The last name to be sorted, as an index into the unsorted ones.
    turn: usize,
    /// The number of locks with a holder.
    taken: usize,
}

/// Equality does not depend on which names are sorted.
impl PartialEq for Locks {
    fn eq(&self, other: &Self) -> bool {
        self.by_name == other.by_name
    }
}

impl Locks {
    /// The locks of all these claims, which are sorted by their ids.
    pub(super) fn of(claims: &[Claim]) -> Self {
        let (mut by_name, mut taken) = (Map::default(), 0);
        by_name.reserve_exact(claims.len());
        let find = |id| claims.binary_search_by_key(&id, |claim| claim.id).ok().map(|index| &claims[index]);
        for claim in claims {
            for name in &claim.spec.names {
                taken += enter(by_name.entry(name.clone()).or_default(), claim, find);
            }
        }
        by_name.shrink_to_fit();
        let sorted = by_name.keys().cloned().collect();
        Self { by_name, sorted, taken, ..Self::default() }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Lock> {
        self.by_name.get(name)
    }

    /// The number of locks that are held, or lingered on.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    #[cfg(test)]
    pub(super) fn are_sorted(&self) -> bool {
        self.unsorted.is_empty()
    }

    /// Adds a claim to its locks. `find` looks up a claim that is already in one.
    pub(super) fn enter<'a>(&mut self, claim: &Claim, find: impl Fn(Revision) -> Option<&'a Claim>) {
        for name in &claim.spec.names {
            let lock = match self.by_name.entry(name.clone()) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(entry) => {
                    self.unsorted.insert(name.clone());
                    entry.insert(Lock::default())
                }
            };
            self.taken += enter(lock, claim, &find);
            if self.unsorted.len() > UNSORTED {
                self.turn = (self.turn + 1) % UNSORTED;
                self.sorted.extend(self.unsorted.swap_remove_index(self.turn));
            }
        }
    }

    /// The reverse of [`Self::enter`].
    pub(super) fn leave(&mut self, claim: &Claim) {
        for name in &claim.spec.names {
            let Some((index, _, lock)) = self.by_name.get_full_mut(name) else { continue };
            let was_free = lock.holders().is_empty();
            lock.leave(claim);
            self.taken -= usize::from(!was_free && lock.holders().is_empty());
            if lock.is_idle() {
                self.by_name.swap_remove_index(index);
                if !self.unsorted.swap_remove(name) {
                    self.sorted.remove(name);
                }
            }
        }
    }

    /// The locks whose name starts with `prefix`, after the name `after`, in byte order.
    pub(super) fn after<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&'a Text, &'a Lock)> + use<'a> {
        let after = after.filter(|after| *after >= prefix);
        let start = after.map_or(Bound::Included(prefix), Bound::Excluded);
        let sorted = self.sorted.range::<str, _>((start, Bound::Unbounded));
        let mut sorted = sorted.take_while(move |name| name.starts_with(prefix)).peekable();
        let wanted = |name: &&Text| name.starts_with(prefix) && after.is_none_or(|after| &***name > after);
        let mut unsorted: Vec<&Text> = self.unsorted.iter().filter(wanted).collect();
        unsorted.sort_unstable();
        let mut unsorted = unsorted.into_iter().peekable();
        let names = from_fn(move || match (sorted.peek(), unsorted.peek()) {
            (Some(one), Some(other)) if one < other => sorted.next(),
            (Some(_), None) => sorted.next(),
            _ => unsorted.next(),
        });
        names.filter_map(|name| self.by_name.get_key_value(name))
    }
}

/// Adds a claim to one of its locks. Returns 1 if that was free, and is no longer.
fn enter<'a>(lock: &mut Lock, claim: &Claim, find: impl Fn(Revision) -> Option<&'a Claim>) -> usize {
    let was_free = lock.holders().is_empty();
    lock.enter(claim, find);
    usize::from(was_free && !lock.holders().is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::encoding::Millis;
    use crate::model::{ClaimSpec, ClaimState, Mode, no_labels};

    /// A hold of one lock.
    fn hold(name: &Text) -> Claim {
        let (names, owner, mode, metadata) = (name.clone().into(), Text::from(""), Mode::Exclusive, no_labels());
        let (session, opened, min_hold) = (Text::from("ann"), Revision(1), Millis::default());
        let (priority, waiting_server, declared) = (0, None, 0);
        let spec =
            ClaimSpec { session, opened, owner, names, mode, priority, metadata, min_hold, waiting_server, declared };
        Claim::new(Revision(2), Arc::new(spec), ClaimState::Held { token: Revision(2) })
    }

    fn listed<'a>(locks: &'a Locks, prefix: &'a str, after: Option<&str>) -> Vec<&'a str> {
        locks.after(prefix, after).map(|(name, _)| &**name).collect()
    }

    /// Names in an unsorted order.
    fn names() -> impl Iterator<Item = Text> {
        (0..3 * UNSORTED).map(|number| Text::from(format!("{:05}", number * 7_919 % 100_000)))
    }

    #[test]
    fn locks_are_listed_in_order_whether_they_are_sorted_or_not() {
        let mut locks = Locks::default();
        let mut expected = BTreeSet::new();
        for (number, name) in names().enumerate() {
            locks.enter(&hold(&name), |_| None);
            expected.insert(name.clone());
            if number % 3 == 0 {
                // An older name, or the newest one.
                let left = if number % 2 == 0 { expected.first().cloned().unwrap_or(name) } else { name };
                locks.leave(&hold(&left));
                expected.remove(&left);
            }
        }
        assert!(locks.unsorted.len() <= UNSORTED && !locks.sorted.is_empty());
        assert!(listed(&locks, "", None).into_iter().eq(expected.iter().map(|name| &**name)));
        for (prefix, after) in
            [("9", None), ("9", Some("8")), ("9", Some("90000")), ("94", Some("94500")), ("9", Some("99"))]
        {
            let some = |name: &&str| name.starts_with(prefix) && after.is_none_or(|after| *name > after);
            let expected: Vec<&str> = expected.iter().map(|name| &**name).filter(some).collect();
            assert_eq!(listed(&locks, prefix, after), expected, "{prefix} {after:?}");
            assert!(expected.len() > 5, "{prefix} {after:?}");
        }
        assert_eq!(locks.by_name.len(), locks.sorted.len() + locks.unsorted.len(), "nothing is left of removed names");
    }

    #[test]
    fn locks_are_sorted_after_the_bound_of_newer_ones() {
        let mut locks = Locks::default();
        let names: Vec<Text> = (0..2 * UNSORTED).rev().map(|number| Text::from(format!("{number:05}"))).collect();
        let (first, last) = names.split_at(UNSORTED);
        first.iter().for_each(|name| locks.enter(&hold(name), |_| None));
        assert_eq!((locks.unsorted.len(), locks.sorted.len()), (UNSORTED, 0));
        last.iter().for_each(|name| locks.enter(&hold(name), |_| None));
        assert!(locks.sorted.iter().rev().eq(first));
        assert!(listed(&locks, "", None).into_iter().eq(names.iter().rev().map(|name| &**name)));
        first.iter().for_each(|name| locks.leave(&hold(name)));
        assert_eq!((locks.unsorted.len(), locks.sorted.len()), (UNSORTED, 0));
        assert_eq!(listed(&locks, "", Some(&last[2])), [&*last[1], &*last[0]]);
    }

    #[test]
    fn locks_of_a_restored_table_are_sorted_from_the_start() {
        let claims: Vec<Claim> = names().map(|name| hold(&name)).collect();
        let locks = Locks::of(&claims);
        assert!(locks.by_name.keys().eq(claims.iter().flat_map(|claim| &claim.spec.names)));
        assert!(locks.are_sorted());
    }

    #[test]
    fn short_lived_locks_are_never_sorted() {
        let mut locks = Locks::default();
        for name in names() {
            locks.enter(&hold(&name), |_| None);
            assert!(locks.sorted.is_empty());
            locks.leave(&hold(&name));
            assert_eq!((locks.by_name.len(), locks.unsorted.len()), (0, 0));
        }
    }
}
