//! A sorted set for very many instances, most of which have few elements.

use std::collections::BTreeSet;
use std::slice;

/// The maximum number of elements in one row: moving them all costs less than finding a place in a tree.
const ROW: usize = 1_024;

/// A sorted set that allocates nothing until it has a second element, and little then.
#[derive(Clone, Debug)]
pub struct Few<T>(Inner<T>);

#[derive(Clone, Debug)]
#[expect(clippy::box_collection, reason = "most have neither, and are to be small")]
enum Inner<T> {
    None,
    One(T),
    Row(Box<Vec<T>>),
    /// The set has exceeded a row at some time.
    Tree(Box<BTreeSet<T>>),
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Inner::None)
    }
}

impl<T: Ord> PartialEq for Few<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Ord> Eq for Few<T> {}

impl<T: Ord> Few<T> {
    /// The elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let (row, tree) = match &self.0 {
            Inner::None => (&[][..], None),
            Inner::One(one) => (slice::from_ref(one), None),
            Inner::Row(row) => (&row[..], None),
            Inner::Tree(tree) => (&[][..], Some(tree.iter())),
        };
        row.iter().chain(tree.into_iter().flatten())
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Inner::None => 0,
            Inner::One(_) => 1,
            Inner::Row(row) => row.len(),
            Inner::Tree(tree) => tree.len(),
        }
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The smallest element.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    /// Whether the set contains this element.
    #[must_use]
    pub fn contains(&self, element: &T) -> bool {
        match &self.0 {
            Inner::None => false,
            Inner::One(one) => one == element,
            Inner::Row(row) => row.binary_search(element).is_ok(),
            Inner::Tree(tree) => tree.contains(element),
        }
    }

    /// Adds an element, unless present.
    pub(crate) fn insert(&mut self, element: T) {
        match &mut self.0 {
            Inner::None => self.0 = Inner::One(element),
            Inner::One(_) => {
                let Inner::One(one) = std::mem::replace(&mut self.0, Inner::Row(Box::default())) else { return };
                self.insert(one);
                self.insert(element);
            }
            Inner::Row(row) => {
                // Most insertions are in order.
                let place = if row.last() < Some(&element) { Err(row.len()) } else { row.binary_search(&element) };
                if let Err(place) = place {
                    row.insert(place, element);
                    if row.len() > ROW {
                        self.0 = Inner::Tree(Box::new(row.drain(..).collect()));
                    }
                }
            }
            Inner::Tree(tree) => {
                tree.insert(element);
            }
        }
    }

    /// Removes an element, if present.
    pub(crate) fn remove(&mut self, element: &T) {
        match &mut self.0 {
            Inner::None => {}
            Inner::One(one) if one != element => {}
            Inner::One(_) => self.0 = Inner::None,
            Inner::Row(row) => {
                // Many elements are removed soon after their insertion.
                let place = if row.last() == Some(element) { Ok(row.len() - 1) } else { row.binary_search(element) };
                if let Ok(place) = place {
                    row.remove(place);
                    if row.len() < row.capacity() / 4 {
                        row.shrink_to(row.len() * 2);
                    }
                    if row.is_empty() {
                        self.0 = Inner::None;
                    }
                }
            }
            Inner::Tree(tree) => {
                tree.remove(element);
                if tree.is_empty() {
                    self.0 = Inner::None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Inserts and removes elements, and compares with a plain set.
    fn is_a_sorted_set(steps: Vec<(bool, u16)>) -> Result<(), TestCaseError> {
        let (mut few, mut set) = (Few::default(), BTreeSet::new());
        for (number, (add, element)) in steps.into_iter().enumerate() {
            if add {
                few.insert(element);
                set.insert(element);
            } else {
                few.remove(&element);
                set.remove(&element);
            }
            if set.len() < 10 || number % 100 == 0 {
                prop_assert!(few.iter().eq(set.iter()) && few.iter().rev().eq(set.iter().rev()));
            }
            prop_assert_eq!((few.len(), few.is_empty(), few.first()), (set.len(), set.is_empty(), set.first()));
            prop_assert_eq!(few.contains(&element), add);
            prop_assert!(!few.contains(&u16::MAX));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn small_set_is_a_sorted_set(steps in prop::collection::vec((any::<bool>(), 0u16..6), 0..40)) {
            is_a_sorted_set(steps)?;
        }
    }

    #[test]
    fn large_set_is_a_sorted_set() {
        let many = 2 * ROW as u16;
        let scattered = |number: u16| number.wrapping_mul(40_503) % 32_768;
        let inserts = (0..many).map(|number| (true, scattered(number)));
        let removals = (0..many).map(|number| (false, scattered(number)));
        is_a_sorted_set(inserts.chain(removals).collect()).expect("equal to a sorted set");
    }

    #[test]
    fn elements_up_to_the_bound_are_in_one_row() {
        let mut few: Few<usize> = Few::default();
        for element in 0..ROW {
            few.insert(element);
            assert!(matches!(few.0, Inner::One(_) | Inner::Row(_)));
        }
        few.insert(ROW);
        assert!(matches!(few.0, Inner::Tree(_)));
    }

    #[test]
    fn sets_with_the_same_elements_are_equal() {
        let of = |elements: &[u8]| {
            let mut few = Few::default();
            elements.iter().for_each(|element| few.insert(*element));
            few
        };
        assert_eq!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[1, 2]), of(&[1]));
    }
}
