//! A program that exports its own spans, as users' programs do: this process.

use std::sync::{Arc, Mutex};

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The spans of this thread, as they would be exported.
#[derive(Clone, Debug, Default)]
pub struct Program(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Program {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

impl Program {
    /// Collects from now on, until the guard is dropped.
    pub fn start() -> (Self, DefaultGuard) {
        let program = Self::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(program.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("program"));
        (program, tracing_subscriber::registry().with(layer).set_default())
    }

    /// The span of this name.
    pub fn span(&self, name: &str) -> SpanData {
        let spans = self.0.lock().unwrap();
        let found = spans.iter().find(|span| span.name == name);
        found.unwrap_or_else(|| panic!("no {name} among {:?}", spans.iter().map(|span| &span.name))).clone()
    }
}
