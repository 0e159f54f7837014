//! Checks a model completely, or until a property is violated.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

/// Result of a check.
#[derive(Debug)]
pub struct Report<A> {
    /// Number of states.
    pub states: usize,
    /// Number of steps of the longest behaviour.
    pub depth: usize,
    /// Duration of the check.
    pub took: Duration,
    /// The violated properties, each with a behaviour that violates it.
    pub broken: Vec<(&'static str, Vec<A>)>,
}

impl<A: Debug> Report<A> {
    /// Asserts that all properties hold, in a model with more than a few states.
    ///
    /// # Panics
    /// If a property is violated or the model is too small.
    pub fn assert_holds(&self) {
        assert!(self.broken.is_empty(), "{self:#?}");
        assert!(self.states > 1_000, "only {} states: the model does nothing", self.states);
    }

    /// Asserts that a flaw was found, and that it breaks only the expected properties.
    ///
    /// # Panics
    /// If the flaw was not found or broke another property.
    pub fn assert_found(&self, flaw: impl Debug, expected: &[&str]) {
        assert!(!self.broken.is_empty(), "{flaw:?} is not found in {} states", self.states);
        for (name, behaviour) in &self.broken {
            assert!(expected.contains(name), "{flaw:?} breaks \"{name}\", too: {behaviour:#?}");
        }
    }
}

/// Explores the states of a model: all of them, or until a property is violated.
#[must_use]
pub fn check<M>(model: M, threads: usize) -> Report<M::Action>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    let began = Instant::now();
    let checker = model.checker().threads(threads).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let broken = checker.discoveries().into_iter().map(|(name, path)| (name, path.into_actions())).collect();
    Report { states: checker.unique_state_count(), depth: checker.max_depth(), took: began.elapsed(), broken }
}
