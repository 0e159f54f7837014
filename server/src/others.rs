//! The other servers that live, as the last beat told.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tenure_core::ServerId;

/// The other servers, and where each is reached.
#[derive(Debug, Default)]
pub struct Others(ArcSwapOption<BTreeMap<ServerId, String>>);

impl Others {
    /// Takes note of those that live.
    pub(crate) fn note(&self, living: BTreeMap<ServerId, String>) {
        self.0.store(Some(Arc::new(living)));
    }

    /// Whether there is anybody else, as far as is known.
    #[must_use]
    pub fn live(&self) -> bool {
        self.0.load().as_ref().is_none_or(|living| !living.is_empty())
    }

    /// Where a server is reached that lives; empty if nowhere.
    #[must_use]
    pub fn address(&self, server: ServerId) -> Option<String> {
        self.0.load().as_ref()?.get(&server).cloned()
    }

    /// Whether this holds of all of them, as far as they are known.
    pub(crate) fn all(&self, holds: impl Fn(ServerId) -> bool) -> bool {
        self.0.load().as_ref().is_some_and(|living| living.keys().all(|server| holds(*server)))
    }
}
