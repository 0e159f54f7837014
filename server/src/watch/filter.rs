//! What somebody watches.

use std::collections::BTreeSet;

/// How often each text is kept: in the filter of a watch, in that of its subscription, and in the index.
const COPIES: usize = 3;

/// What each text takes beside its bytes.
const TEXT: usize = 48;

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
    /// About how many bytes it takes, with its places in the index.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let texts = self.names.iter().chain(&self.prefixes).chain(&self.groups);
        texts.map(|text| COPIES * (text.len() + TEXT)).sum()
    }

    /// Whether this lock is watched.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.names.contains(name) || self.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}
