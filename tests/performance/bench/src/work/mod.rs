//! The works: what is done, with which targets, and the goals. Each has a file, and a line in [`all`].

mod failover;
mod handover;
mod held;
mod idle;
mod keep_alive;
pub mod killed;
mod languages;
mod pairs;
mod start;
mod watchers;

use std::rc::Rc;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::{FutureExt, LocalBoxFuture};

use crate::lab::Lab;
use crate::measure::{Figures, Load};
use crate::result::Round;

/// All works, in the order in which they run and are reported.
pub fn all() -> Vec<Work> {
    vec![
        pairs::work(),
        handover::work(),
        keep_alive::work(),
        watchers::work(),
        held::work(),
        idle::work(),
        killed::work(),
        failover::work(),
        start::work(),
        languages::work(),
    ]
}

/// A workload that is run with several targets.
pub struct Work {
    /// Its name for `--only`.
    pub name: &'static str,
    /// Its description in reports: a sentence.
    pub title: &'static str,
    /// The unit of the levels in reports: `clients`.
    pub level: &'static str,
    /// Its levels.
    pub levels: Levels,
    /// Its targets, in the order in which they take turns.
    pub candidates: Vec<Candidate>,
    /// Its goals.
    pub goals: Vec<Goal>,
}

/// The levels of a work.
pub enum Levels {
    /// The values of `--concurrency`.
    Concurrency,
    /// The work's own levels.
    Own {
        /// In the full form.
        full: &'static [usize],
        /// In the short form.
        quick: &'static [usize],
    },
}

/// A target that is not started yet.
pub struct Candidate {
    /// Its name for `--target` and in results: words with `-` between them, the store last.
    pub name: String,
    /// Restricts the levels. None: all levels of the work.
    pub levels: Option<&'static [usize]>,
    start: Start,
}

type Start = Box<dyn Fn(Arc<Lab>) -> LocalBoxFuture<'static, anyhow::Result<Box<dyn Subject>>>>;

impl Candidate {
    /// A target that `start` starts on its first turn.
    pub fn new<S: Subject + 'static>(
        name: impl Into<String>,
        start: impl AsyncFn(Arc<Lab>) -> anyhow::Result<S> + 'static,
    ) -> Self {
        let start = Rc::new(start);
        let start: Start = Box::new(move |lab| {
            let start = Rc::clone(&start);
            async move { Ok(Box::new((*start)(lab).await?) as Box<dyn Subject>) }.boxed_local()
        });
        Self { name: name.into(), levels: None, start }
    }

    /// Restricts it to these levels.
    pub fn only_at(self, levels: &'static [usize]) -> Self {
        Self { levels: Some(levels), ..self }
    }

    /// Starts it.
    pub async fn start(&self, lab: &Arc<Lab>) -> anyhow::Result<Box<dyn Subject>> {
        (self.start)(Arc::clone(lab)).await
    }
}

/// A running target that executes a work repeatedly.
#[async_trait]
pub trait Subject: Send {
    /// Runs the work once at one level, and measures it. Its leftovers must not affect the next measurement.
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures>;
}

/// A goal for the figures of one work.
pub struct Goal {
    /// Its description in reports: `256 clients, library, PostgreSQL: against etcd`.
    pub text: &'static str,
    /// The number, computed from one round: None if a part of it was not measured.
    pub value: fn(&Round) -> Option<f64>,
    /// Its bound.
    pub bound: Bound,
    /// The section of the page of limits that says what limits the number, if one does.
    pub limits: Option<&'static str>,
}

impl Goal {
    /// A goal.
    pub fn new(text: &'static str, bound: Bound, value: fn(&Round) -> Option<f64>) -> Self {
        Self { text, value, bound, limits: None }
    }

    /// Goals with the section that says what limits them.
    pub fn limited(section: &'static str, goals: Vec<Self>) -> Vec<Self> {
        goals.into_iter().map(|goal| Self { limits: Some(section), ..goal }).collect()
    }
}

/// The bound of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
}

impl Bound {
    /// Whether a number is within the bound.
    pub fn holds(self, number: f64) -> bool {
        match self {
            Self::AtLeast(least) => number >= least,
            Self::AtMost(most) => number <= most,
        }
    }
}
