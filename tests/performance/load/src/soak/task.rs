//! The state that all programs of a run share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_checker::{Call, CallKind, Entry, Outcome, Recorder};
use tenure_client::Error;
use tenure_client::v1::ErrorReason;

/// The state that all programs of a run share.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// The servers, as URLs.
    pub urls: Arc<[String]>,
    /// The history for the checker.
    pub recorder: Recorder,
    is_over: Arc<AtomicBool>,
    notes: Arc<Mutex<Notes>>,
}

/// Counters.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// The number of actions by kind.
    pub done: BTreeMap<&'static str, usize>,
    /// The number of violations by description.
    pub wrong: BTreeMap<String, usize>,
    /// When a watch first reported an event, by revision.
    pub reported: BTreeMap<u64, Duration>,
    /// The revision up to which the watch of everything has reported.
    pub reported_up_to: u64,
}

impl Task {
    /// Creates a task for these servers.
    pub fn new(urls: Vec<String>) -> Self {
        Self { urls: urls.into(), ..Self::default() }
    }

    /// Returns whether the run continues.
    pub fn is_running(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    /// Makes all programs start nothing new.
    pub fn finish(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// The counters so far.
    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an action.
    pub fn count(&self, what: &'static str) {
        *self.notes().done.entry(what).or_default() += 1;
    }

    /// Counts the outcome of an action. In a run without faults, the only errors allowed are those caused by other
    /// callers' actions.
    pub fn counted<T>(&self, what: &'static str, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => {
                self.count(what);
                return Some(value);
            }
            Err(error) if is_caused_by_others(&error) => self.count("rejected because of other callers"),
            Err(error) => *self.notes().wrong.entry(format!("{what}: {error}")).or_default() += 1,
        }
        None
    }

    /// Records a call that ends now.
    pub fn write(&self, session: &str, names: &[String], kind: CallKind, start: Duration, outcome: Outcome) {
        let end = tenure_chaos::now();
        let call = Call { session: session.to_owned(), names: names.to_vec(), kind, start, end, outcome };
        self.recorder.write(Entry::Call(call));
    }
}

/// Returns whether an error only reflects what another caller has done, or not done, in the meantime.
fn is_caused_by_others(error: &Error) -> bool {
    matches!(
        error.reason(),
        Some(
            ErrorReason::TransferImpossible
                | ErrorReason::StaleAssignment
                | ErrorReason::ConfigConflict
                | ErrorReason::NotLeader
                | ErrorReason::SessionNotFound
        )
    )
}
