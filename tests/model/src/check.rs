//! Checking a model: all of it, or until something is found.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

/// What a check came to.
#[derive(Debug)]
pub struct Report<A> {
    /// How many states there are.
    pub states: usize,
    /// How many steps the longest behaviour has.
    pub depth: usize,
    /// How long the check took.
    pub took: Duration,
    /// The properties that do not hold, each with a behaviour in which it does not.
    pub broken: Vec<(&'static str, Vec<A>)>,
}

impl<A: Debug> Report<A> {
    /// Asserts that a flaw was found, and that it breaks no other properties than these.
    ///
    /// # Panics
    /// If that is not so.
    pub fn assert_found(&self, flaw: impl Debug, expected: &[&str]) {
        assert!(!self.broken.is_empty(), "{flaw:?} is not found in {} states", self.states);
        for (name, behaviour) in &self.broken {
            assert!(expected.contains(name), "{flaw:?} breaks \"{name}\", too: {behaviour:#?}");
        }
    }
}

/// Looks at every state of a model, or at as many as it takes to find a property that does not hold.
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
