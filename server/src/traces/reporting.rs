//! What carries spans away: on the server's runtime, and without a word for each failure.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use tokio::runtime::Handle;

/// A collector that cannot be reached is told of so often at the most.
const AGAIN: Duration = Duration::from_secs(60);

/// Exports spans by another exporter.
#[derive(Debug)]
pub(super) struct Reporting<E> {
    inner: Arc<E>,
    runtime: Handle,
    trouble: Mutex<Trouble>,
}

/// Since when spans cannot be exported, as far as that was told.
#[derive(Debug, Default)]
struct Trouble {
    told: Option<Instant>,
    is_failing: bool,
}

/// What is to be told.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Fails,
    WorksAgain,
}

impl Trouble {
    fn hear(&mut self, works: bool, now: Instant) -> Option<Word> {
        let was_failing = std::mem::replace(&mut self.is_failing, !works);
        let is_due = self.told.is_none_or(|told| now.duration_since(told) >= AGAIN);
        match (works, was_failing) {
            (false, _) if is_due => {
                self.told = Some(now);
                Some(Word::Fails)
            }
            // One that comes and goes is not told of each time either.
            (true, true) if is_due => Some(Word::WorksAgain),
            _ => None,
        }
    }
}

impl<E> Reporting<E> {
    /// By `inner`, which does its work on this runtime.
    pub(super) fn new(inner: E, runtime: Handle) -> Self {
        Self { inner: Arc::new(inner), runtime, trouble: Mutex::default() }
    }

    fn report(&self, result: &OTelSdkResult) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match (trouble.hear(result.is_ok(), Instant::now()), result) {
            (Some(Word::Fails), Err(error)) => tracing::warn!(%error, "traces cannot be exported, and are dropped"),
            (Some(Word::WorksAgain), _) => tracing::info!("traces are exported again"),
            _ => {}
        }
    }
}

impl<E: SpanExporter + 'static> SpanExporter for Reporting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let inner = self.inner.clone();
        let exported = self.runtime.spawn(async move { inner.export(batch).await }).await;
        let result = exported.unwrap_or_else(|error| Err(OTelSdkError::InternalFailure(error.to_string())));
        self.report(&result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        // Nobody else has it before the first span.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.set_resource(resource);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_told_once_a_minute() {
        let (mut trouble, start) = (Trouble::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(trouble.hear(true, at(0)), None);
        assert_eq!(trouble.hear(false, at(1)), Some(Word::Fails));
        assert_eq!(trouble.hear(false, at(2)), None);
        assert_eq!(trouble.hear(true, at(3)), None, "it may be gone again at once");
        assert_eq!(trouble.hear(false, at(60)), None);
        assert_eq!(trouble.hear(false, at(61)), Some(Word::Fails));
        assert_eq!(trouble.hear(true, at(121)), Some(Word::WorksAgain));
        assert_eq!(trouble.hear(true, at(122)), None);
    }
}
