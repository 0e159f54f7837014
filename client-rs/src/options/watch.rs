//! The options of a watch.

/// What to watch. With neither names nor prefixes nor groups: all locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    pub(crate) names: Vec<String>,
    pub(crate) prefixes: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) after_revision: u64,
}

impl WatchOptions {
    /// All locks of the namespace.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Locks by name: at most 100.
    #[must_use]
    pub fn names(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// One lock more.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// The locks whose names begin with this, besides the others: at most 100 prefixes.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefixes.push(prefix.into());
        self
    }

    /// Groups by name: at most 100. No locks unless they are added.
    #[must_use]
    pub fn groups(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { groups: names.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// One group more.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>) -> Self {
        self.groups.push(name.into());
        self
    }

    /// Begins with the events after this revision instead of a snapshot: the last revision that an earlier watch
    /// delivered.
    #[must_use]
    pub fn after_revision(self, revision: u64) -> Self {
        Self { after_revision: revision, ..self }
    }
}
