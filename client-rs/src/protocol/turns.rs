//! The local queue: claims of one session that share a name take turns, because to the server a second acquire is a
//! repetition of the first.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use foldhash::HashMap;

use crate::connection::ClaimKey;

/// One queue of claims for each name. A claim is in the queues of all its names from the request until its hold has
/// ended; its acquire is sent when it is first in all of them. A claim joins all its queues at once, so there are no
/// deadlocks.
#[derive(Debug, Default)]
pub(super) struct Turns {
    lines: HashMap<String, Line>,
}

/// Usually no claim is behind the first, and then `behind` has no allocation.
#[derive(Debug)]
struct Line {
    first: ClaimKey,
    behind: VecDeque<ClaimKey>,
}

impl Turns {
    /// Joins the queues. Returns whether the claim is first in all of them.
    pub(super) fn join(&mut self, claim: ClaimKey, names: &[String]) -> bool {
        let mut is_first = true;
        for name in names {
            match self.lines.entry(name.clone()) {
                Entry::Vacant(none) => {
                    none.insert(Line { first: claim, behind: VecDeque::new() });
                }
                Entry::Occupied(line) => {
                    line.into_mut().behind.push_back(claim);
                    is_first = false;
                }
            }
        }
        is_first
    }

    /// Whether a claim is first in all its queues.
    pub(super) fn is_first(&self, claim: ClaimKey, names: &[String]) -> bool {
        names.iter().all(|name| self.lines.get(name).is_some_and(|line| line.first == claim))
    }

    /// The claim that is first in the queue of one of these names, if any is.
    pub(super) fn first_in_way(&self, names: &[String]) -> Option<ClaimKey> {
        names.iter().find_map(|name| self.lines.get(name)).map(|line| line.first)
    }

    /// Leaves the queues. Returns the claims that are now first in one of them.
    pub(super) fn leave(&mut self, claim: ClaimKey, names: &[String]) -> Vec<ClaimKey> {
        let mut next = Vec::new();
        for name in names {
            let Some(line) = self.lines.get_mut(name) else { continue };
            if line.first != claim {
                line.behind.retain(|other| *other != claim);
            } else if let Some(first) = line.behind.pop_front() {
                line.first = first;
            } else {
                self.lines.remove(name);
                continue;
            }
            if !next.contains(&line.first) {
                next.push(line.first);
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn claims_that_share_a_name_take_turns_in_order_of_arrival() {
        let (a, ab, b) = (names(&["a"]), names(&["a", "b"]), names(&["b"]));
        let mut turns = Turns::default();
        assert!(turns.join(ClaimKey(1), &a));
        assert!(!turns.join(ClaimKey(2), &ab));
        assert!(!turns.join(ClaimKey(3), &b), "a later claim does not overtake");
        assert!(turns.is_first(ClaimKey(1), &a));
        assert!(!turns.is_first(ClaimKey(2), &ab));
        assert!(!turns.is_first(ClaimKey(3), &b));
        assert_eq!(turns.leave(ClaimKey(1), &a), [ClaimKey(2)]);
        assert!(turns.is_first(ClaimKey(2), &ab));
        assert_eq!(turns.leave(ClaimKey(2), &ab), [ClaimKey(3)]);
        assert!(turns.is_first(ClaimKey(3), &b));
        assert_eq!(turns.leave(ClaimKey(3), &b), []);
        assert!(turns.lines.is_empty(), "idle names leave nothing behind");
    }

    #[test]
    fn leaving_from_the_middle_keeps_the_order() {
        let a = names(&["a"]);
        let mut turns = Turns::default();
        for key in 1..=3 {
            turns.join(ClaimKey(key), &a);
        }
        assert_eq!(turns.leave(ClaimKey(2), &a), [ClaimKey(1)]);
        assert_eq!(turns.leave(ClaimKey(1), &a), [ClaimKey(3)]);
    }
}
