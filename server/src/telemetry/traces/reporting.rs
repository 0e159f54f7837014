//! Exports spans on the server's runtime, with throttled logging of failures.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::telemetry::log_throttle::LogThrottle;

/// The interval at which export failures are logged.
const AGAIN: Duration = Duration::from_secs(60);

/// Exports spans through another exporter.
#[derive(Debug)]
pub(super) struct Reporting<E> {
    inner: Arc<E>,
    runtime: Handle,
    throttle: Mutex<LogThrottle>,
}

impl<E> Reporting<E> {
    /// Wraps `inner`, which has its resource already and runs on this runtime.
    pub(super) fn new(inner: E, runtime: Handle) -> Self {
        Self { inner: Arc::new(inner), runtime, throttle: Mutex::new(LogThrottle::every(AGAIN)) }
    }
}

impl<E: SpanExporter + 'static> SpanExporter for Reporting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let inner = self.inner.clone();
        let exported = self.runtime.spawn(async move { inner.export(batch).await }).await;
        let result = exported.unwrap_or_else(|error| Err(OTelSdkError::InternalFailure(error.to_string())));
        let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        match &result {
            Err(error) if throttle.on_error(Instant::now()) => {
                tracing::warn!(%error, "cannot export traces: they are dropped");
            }
            Ok(()) if throttle.on_recovery() => tracing::info!("traces can be exported again"),
            _ => {}
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }
}
