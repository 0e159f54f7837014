//! Checking a model: all of it, or until something is found.

use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use crate::action::Action;
use crate::limits::Limits;

/// What a check came to.
#[derive(Debug)]
pub struct Report {
    /// How many states there are.
    pub states: usize,
    /// How many steps the longest behaviour has.
    pub depth: usize,
    /// How long the check took.
    pub took: Duration,
    /// The properties that do not hold, each with a behaviour in which it does not.
    pub broken: Vec<(&'static str, Vec<Action>)>,
}

/// Looks at every state of a model, or at as many as it takes to find a property that does not hold.
#[must_use]
pub fn check(limits: Limits, threads: usize) -> Report {
    let began = Instant::now();
    let checker = limits.checker().threads(threads).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let broken = checker.discoveries().into_iter().map(|(name, path)| (name, path.into_actions())).collect();
    Report { states: checker.unique_state_count(), depth: checker.max_depth(), took: began.elapsed(), broken }
}
