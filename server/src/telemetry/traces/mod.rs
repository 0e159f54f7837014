//! OpenTelemetry traces of a call, through the sequencer, to the database statement.
//!
//! A span travels as the [`Context`] in which it is active. The context is empty if traces are not exported or the span
//! is not sampled, and nothing below an empty context is recorded. `tracing` spans would cost several times as much per
//! command, also without being sampled, and would stay open until all spans below them are closed.
//!
//! ```text
//! tenure.v1.LockService/Acquire      the call, or the equivalent command on a stream
//! └─ tenure.sequencer                from the submission to the sequencer until its reply
//!    └─ tenure.append                the batch: child of its first traced command, linked to and from the others
//!       └─ INSERT batches            the statement
//! ```
//!
//! Tracing has no effect on behaviour: a span changes no decision and no order.

mod export;
pub(crate) mod parent;
mod reporting;

use std::sync::OnceLock;

use opentelemetry::trace::{Span, SpanKind, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::SdkTracer;

pub use export::Export;

/// The process-wide tracer, once export has started.
static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Whether traces are exported; if not, preparing a span is wasted work.
pub(crate) fn are_exported() -> bool {
    TRACER.get().is_some()
}

/// Starts a span below this parent, which may be in another process.
pub(crate) fn start(name: &'static str, kind: SpanKind, parent: &Context) -> Context {
    let Some(tracer) = TRACER.get() else { return Context::new() };
    let span = tracer.span_builder(name).with_kind(kind).start_with_context(tracer, parent);
    if span.is_recording() { parent.with_span(span) } else { Context::new() }
}

/// Starts a span below a recorded one.
pub(crate) fn child(parent: &Context, name: &'static str, kind: SpanKind) -> Context {
    if parent.has_active_span() { start(name, kind, parent) } else { Context::new() }
}

/// Adds attributes to a span. They are not computed for an empty context.
pub(crate) fn note<A: IntoIterator<Item = KeyValue>>(span: &Context, attributes: impl FnOnce() -> A) {
    if span.has_active_span() {
        span.span().set_attributes(attributes());
    }
}
