//! What all programs of a run have in common.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_checker::{Call, CallKind, Diary, Entry, Outcome};
use tenure_client::{Error, Reason};

/// What all programs of a run have in common.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// The servers, as URLs.
    pub urls: Arc<[String]>,
    /// What the checker reads.
    pub diary: Diary,
    is_over: Arc<AtomicBool>,
    notes: Arc<Mutex<Notes>>,
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// How often something was done.
    pub done: BTreeMap<&'static str, usize>,
    /// What was not as it should be, how often.
    pub wrong: BTreeMap<String, usize>,
    /// When a watch first told of an event, by revision.
    pub told: BTreeMap<u64, Duration>,
    /// Up to which revision the watch of everything has told.
    pub told_up_to: u64,
}

impl Task {
    /// One for these servers.
    pub fn new(urls: Vec<String>) -> Self {
        Self { urls: urls.into(), ..Self::default() }
    }

    /// Whether it goes on.
    pub fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    /// Nobody begins anything more.
    pub fn finish(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// What was counted so far.
    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts something that was done.
    pub fn count(&self, what: &'static str) {
        *self.notes().done.entry(what).or_default() += 1;
    }

    /// Counts what came of something. Where nothing fails, there are no errors but those that tell of what others do.
    pub fn counted<T>(&self, what: &'static str, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => {
                self.count(what);
                return Some(value);
            }
            Err(error) if is_about_others(&error) => self.count("refused because of what others do"),
            Err(error) => *self.notes().wrong.entry(format!("{what}: {error}")).or_default() += 1,
        }
        None
    }

    /// Writes down a call that ends now.
    pub fn write(&self, session: &str, names: &[String], kind: CallKind, start: Duration, outcome: Outcome) {
        let end = tenure_chaos::now();
        let call = Call { session: session.to_owned(), names: names.to_vec(), kind, start, end, outcome };
        self.diary.write(Entry::Call(call));
    }
}

/// Whether a refusal only tells of what somebody else has done meanwhile, or has not.
fn is_about_others(error: &Error) -> bool {
    matches!(
        error.reason(),
        Some(
            Reason::TransferImpossible
                | Reason::StaleAssignment
                | Reason::ConfigConflict
                | Reason::NotLeader
                | Reason::SessionNotFound
        )
    )
}
