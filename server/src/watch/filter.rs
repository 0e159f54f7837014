//! Filters: the locks and groups that a watch selects.

use std::collections::BTreeSet;

/// Copies kept of each text: in the filter of a watch, in that of its subscription, and in the index.
const COPIES: usize = 3;

/// Overhead of each text, in bytes.
const TEXT: usize = 48;

/// The locks and groups that a watch selects. Filters that select the same are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Locks, by name.
    pub names: BTreeSet<String>,
    /// Locks, by name prefix.
    pub prefixes: BTreeSet<String>,
    /// Groups, by name.
    pub groups: BTreeSet<String>,
}

impl Filter {
    /// Approximate size in memory, in bytes, including its entries in the index.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let texts = self.names.iter().chain(&self.prefixes).chain(&self.groups);
        texts.map(|text| COPIES * (text.len() + TEXT)).sum()
    }

    /// Whether this lock is selected.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.names.contains(name) || self.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}
