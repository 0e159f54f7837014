//! What somebody watches.

use std::collections::BTreeSet;

/// Which locks and groups are watched. Two that choose the same are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Locks, by name.
    pub names: BTreeSet<String>,
    /// Locks, by what their names begin with.
    pub prefixes: BTreeSet<String>,
    /// Groups, by name.
    pub groups: BTreeSet<String>,
}

impl Filter {
    /// Whether this lock is watched.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.names.contains(name) || self.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}
