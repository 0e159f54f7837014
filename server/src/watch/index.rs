//! Who is concerned by what happens: from names and prefixes to selections.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tenure_core::{Event, Text};

use super::filter::Filter;
use super::log::Position;
use super::selection::Selection;
use crate::limits::Budget;
use crate::store::Batch;

pub(super) struct Index {
    budget: Budget,
    selections: HashMap<Filter, Arc<Selection>>,
    names: HashMap<String, Vec<Arc<Selection>>>,
    prefixes: HashMap<String, Vec<Arc<Selection>>>,
    /// How many of the prefixes are so long.
    prefix_lengths: BTreeMap<usize, usize>,
    groups: HashMap<String, Vec<Arc<Selection>>>,
    /// How far the fan-out has come.
    pub(super) examined: Position,
    /// Whether there is a fan-out.
    pub(super) is_attended: bool,
    next: u64,
}

/// Selections without repetition, in the order of their ids.
pub(super) type Found = BTreeMap<u64, Arc<Selection>>;

impl Index {
    /// An empty one, whose selections keep messages of this budget.
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            budget,
            selections: HashMap::new(),
            names: HashMap::new(),
            prefixes: HashMap::new(),
            prefix_lengths: BTreeMap::new(),
            groups: HashMap::new(),
            examined: Position::default(),
            is_attended: false,
            next: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.selections.is_empty()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Selection>> {
        self.selections.values()
    }

    /// A number for a selection or a reader.
    pub(super) fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The selection of a filter, made if there is none. What was examined before is not in it.
    pub(super) fn select(&mut self, filter: Filter) -> Arc<Selection> {
        if let Some(found) = self.selections.get(&filter) {
            return found.clone();
        }
        let (id, start) = (self.next_number(), self.examined.revision);
        let selection = Arc::new(Selection::new(id, filter.clone(), start, self.budget.clone()));
        for name in &filter.names {
            self.names.entry(name.clone()).or_default().push(selection.clone());
        }
        for prefix in &filter.prefixes {
            let sharing = self.prefixes.entry(prefix.clone()).or_default();
            if sharing.is_empty() {
                *self.prefix_lengths.entry(prefix.len()).or_default() += 1;
            }
            sharing.push(selection.clone());
        }
        for group in &filter.groups {
            self.groups.entry(group.clone()).or_default().push(selection.clone());
        }
        self.selections.insert(filter, selection.clone());
        selection
    }

    /// Forgets a selection that has no readers.
    pub(super) fn forget(&mut self, selection: &Selection) {
        let filter = selection.filter();
        for name in &filter.names {
            remove(&mut self.names, name, selection);
        }
        for prefix in &filter.prefixes {
            if remove(&mut self.prefixes, prefix, selection)
                && let Some(count) = self.prefix_lengths.get_mut(&prefix.len())
            {
                *count -= 1;
                if *count == 0 {
                    self.prefix_lengths.remove(&prefix.len());
                }
            }
        }
        for group in &filter.groups {
            remove(&mut self.groups, group, selection);
        }
        self.selections.remove(filter);
    }

    /// The selections that a batch concerns.
    pub(super) fn concerned(&self, batch: &Batch) -> Found {
        let mut found = Found::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for recorded in &batch.events {
            if let Event::Group { group, .. } = &recorded.event {
                add(self.groups.get(&**group), &mut found);
            }
            self.find(recorded.event.locks(), &mut seen, &mut found);
        }
        found
    }

    fn find<'a>(&self, names: impl IntoIterator<Item = &'a Text>, seen: &mut BTreeSet<&'a str>, found: &mut Found) {
        for name in names {
            if !seen.insert(name) {
                continue;
            }
            add(self.names.get(&**name), found);
            for (&length, _) in self.prefix_lengths.range(..=name.len()) {
                add(name.get(..length).and_then(|prefix| self.prefixes.get(prefix)), found);
            }
        }
    }
}

fn add(selections: Option<&Vec<Arc<Selection>>>, found: &mut Found) {
    found.extend(selections.into_iter().flatten().map(|selection| (selection.id(), selection.clone())));
}

/// Removes a selection from under a key; whether it was the last one there.
fn remove(map: &mut HashMap<String, Vec<Arc<Selection>>>, key: &str, selection: &Selection) -> bool {
    let Some(sharing) = map.get_mut(key) else { return false };
    sharing.retain(|other| other.id() != selection.id());
    let is_last = sharing.is_empty();
    if is_last {
        map.remove(key);
    }
    is_last
}
