//! The works: what is done, with which targets, and what is expected of it. Each has a file, and a line in [`all`].

mod handover;
mod held;
mod idle;
mod keep_alive;
pub mod killed;
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
        start::work(),
    ]
}

/// Something that is done with several targets.
pub struct Work {
    /// What `--only` calls it.
    pub name: &'static str,
    /// What is done, for people: a sentence.
    pub title: &'static str,
    /// What the levels count, for people: `clients`.
    pub level: &'static str,
    /// At which levels it is done.
    pub levels: Levels,
    /// With what, in the order in which they take turns.
    pub candidates: Vec<Candidate>,
    /// What is expected.
    pub goals: Vec<Goal>,
}

/// The levels at which a work is done.
pub enum Levels {
    /// Those of `--concurrency`.
    Concurrency,
    /// These; in the short form the others.
    Own {
        /// In earnest.
        full: &'static [usize],
        /// In the short form.
        quick: &'static [usize],
    },
}

/// A target before it is started.
pub struct Candidate {
    /// What `--target` and the results call it: words with `-` between them, the store last.
    pub name: String,
    /// The only levels that make sense for it: none for all of the work's.
    pub levels: Option<&'static [usize]>,
    start: Start,
}

type Start = Box<dyn Fn(Arc<Lab>) -> LocalBoxFuture<'static, anyhow::Result<Box<dyn Subject>>>>;

impl Candidate {
    /// A target that `start` starts, when its first turn comes.
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

    /// Measured only at these levels.
    pub fn only_at(self, levels: &'static [usize]) -> Self {
        Self { levels: Some(levels), ..self }
    }

    /// Starts it.
    pub async fn start(&self, lab: &Arc<Lab>) -> anyhow::Result<Box<dyn Subject>> {
        (self.start)(Arc::clone(lab)).await
    }
}

/// A target that is up, and that a work is done with, again and again.
#[async_trait]
pub trait Subject: Send {
    /// Does the work at one level, once, and measures it. What it leaves behind must not change the next measurement.
    async fn measure(&mut self, load: &Load) -> anyhow::Result<Figures>;
}

/// Something that is expected of the figures of one work.
pub struct Goal {
    /// What, for people: `256 clients, library, PostgreSQL: against etcd`.
    pub text: &'static str,
    /// The number, out of what one round measured: none if a part of it was not measured.
    pub value: fn(&Round) -> Option<f64>,
    /// What it should be.
    pub bound: Bound,
}

/// What a number should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

impl Bound {
    /// Whether a number is as it should be.
    pub fn holds(self, number: f64) -> bool {
        match self {
            Self::AtLeast(least) => number >= least,
            Self::AtMost(most) => number <= most,
        }
    }
}
