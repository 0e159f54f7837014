//! The watch index: maps lock names, name prefixes and groups to subscriptions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tenure_core::Event;

use super::filter::Filter;
use super::log::Position;
use super::subscription::Subscription;
use crate::limits::Budget;
use crate::store::Batch;

#[derive(Default)]
pub(super) struct Index {
    subscriptions: HashMap<Filter, Arc<Subscription>>,
    names: HashMap<String, Vec<Arc<Subscription>>>,
    prefixes: HashMap<String, Vec<Arc<Subscription>>>,
    /// Number of prefixes of each length.
    prefix_lengths: BTreeMap<usize, usize>,
    groups: HashMap<String, Vec<Arc<Subscription>>>,
    /// Up to where the fan-out has examined the log.
    pub(super) examined: Position,
    /// Whether the hub has a fan-out.
    pub(super) is_attended: bool,
    next: u64,
}

/// Distinct subscriptions, in the order of their ids.
pub(super) type Matches = BTreeMap<u64, Arc<Subscription>>;

impl Index {
    pub(super) fn is_empty(&self) -> bool {
        self.subscriptions.is_empty()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Subscription>> {
        self.subscriptions.values()
    }

    /// The next number for a subscription or a reader.
    pub(super) fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The subscription of a filter, created if missing. A new one lacks everything that was examined before, and
    /// charges its messages to this budget.
    pub(super) fn select(&mut self, filter: Filter, budget: &Budget) -> Arc<Subscription> {
        if let Some(found) = self.subscriptions.get(&filter) {
            return found.clone();
        }
        let (id, start) = (self.next_number(), self.examined.revision);
        let subscription = Arc::new(Subscription::new(id, filter.clone(), start, budget.clone()));
        for name in &filter.names {
            self.names.entry(name.clone()).or_default().push(subscription.clone());
        }
        for prefix in &filter.prefixes {
            let sharing = self.prefixes.entry(prefix.clone()).or_default();
            if sharing.is_empty() {
                *self.prefix_lengths.entry(prefix.len()).or_default() += 1;
            }
            sharing.push(subscription.clone());
        }
        for group in &filter.groups {
            self.groups.entry(group.clone()).or_default().push(subscription.clone());
        }
        self.subscriptions.insert(filter, subscription.clone());
        subscription
    }

    /// Removes a subscription that has no readers.
    pub(super) fn forget(&mut self, subscription: &Subscription) {
        let filter = subscription.filter();
        for name in &filter.names {
            remove(&mut self.names, name, subscription);
        }
        for prefix in &filter.prefixes {
            if remove(&mut self.prefixes, prefix, subscription)
                && let Some(count) = self.prefix_lengths.get_mut(&prefix.len())
            {
                *count -= 1;
                if *count == 0 {
                    self.prefix_lengths.remove(&prefix.len());
                }
            }
        }
        for group in &filter.groups {
            remove(&mut self.groups, group, subscription);
        }
        self.subscriptions.remove(filter);
    }

    /// The subscriptions that a batch matches.
    pub(super) fn concerned(&self, batch: &Batch) -> Matches {
        let mut found = Matches::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for recorded in &batch.events {
            if let Event::Group { group, .. } = &recorded.event {
                add(self.groups.get(&**group), &mut found);
            }
            for name in recorded.event.locks() {
                if !seen.insert(name) {
                    continue;
                }
                add(self.names.get(&**name), &mut found);
                for (&length, _) in self.prefix_lengths.range(..=name.len()) {
                    add(name.get(..length).and_then(|prefix| self.prefixes.get(prefix)), &mut found);
                }
            }
        }
        found
    }
}

fn add(subscriptions: Option<&Vec<Arc<Subscription>>>, found: &mut Matches) {
    found.extend(subscriptions.into_iter().flatten().map(|subscription| (subscription.id(), subscription.clone())));
}

/// Removes a subscription from a key. Returns whether it was the last one there.
fn remove(map: &mut HashMap<String, Vec<Arc<Subscription>>>, key: &str, subscription: &Subscription) -> bool {
    let Some(sharing) = map.get_mut(key) else { return false };
    sharing.retain(|other| other.id() != subscription.id());
    let is_last = sharing.is_empty();
    if is_last {
        map.remove(key);
    }
    is_last
}
