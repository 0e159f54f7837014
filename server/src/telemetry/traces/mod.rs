//! OpenTelemetry traces of a call, through the sequencer, to the database statement.
//!
//! They use OpenTelemetry directly instead of `tracing` spans: a batch has many callers, which needs links; the log
//! level must not affect them; and without sampling or export a span costs only a pointer check.
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

use std::borrow::Cow;
use std::future::Future;
use std::sync::OnceLock;

use futures::future::Either;
use opentelemetry::trace::{FutureExt, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::SdkTracer;

pub use export::Export;
pub(crate) use parent::{TRACEPARENT, traceparent};

/// The process-wide tracer, once export has started.
static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Whether traces are exported; if not, preparing a span is wasted work.
pub(crate) fn are_exported() -> bool {
    TRACER.get().is_some()
}

/// A recorded span, or none. The span ends when its last clone is dropped.
#[derive(Clone, Debug, Default)]
pub struct Traced(Option<Box<Context>>);

impl Traced {
    /// No span.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// The current span, if any.
    pub(crate) fn current() -> Self {
        if TRACER.get().is_none() {
            return Self::default();
        }
        Self::recorded(Context::current())
    }

    /// Starts a span with this parent, if it is sampled.
    pub(crate) fn start(name: impl Into<Cow<'static, str>>, kind: SpanKind, parent: &Context) -> Self {
        let Some(tracer) = TRACER.get() else { return Self::default() };
        let span = tracer.span_builder(name).with_kind(kind).start_with_context(tracer, parent);
        Self::recorded(parent.with_span(span))
    }

    fn recorded(context: Context) -> Self {
        Self(context.span().is_recording().then(|| Box::new(context)))
    }

    /// Starts a child span.
    pub(crate) fn child(&self, name: &'static str, kind: SpanKind) -> Self {
        self.0.as_ref().map_or_else(Self::default, |parent| Self::start(name, kind, parent))
    }

    /// Adds attributes.
    pub(crate) fn note<A: IntoIterator<Item = KeyValue>>(&self, attributes: impl FnOnce() -> A) {
        if let Some(context) = &self.0 {
            context.span().set_attributes(attributes());
        }
    }

    /// Whether a span is recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// Links to another span.
    pub(crate) fn link(&self, to: &Self) {
        if let (Some(from), Some(to)) = (&self.0, &to.0) {
            from.span().add_link(to.span().span_context().clone(), Vec::new());
        }
    }

    /// Adds an event.
    pub(crate) fn event(&self, name: &'static str, attributes: impl FnOnce() -> Vec<KeyValue>) {
        if let Some(context) = &self.0 {
            context.span().add_event(name, attributes());
        }
    }

    /// Marks the span as failed, by an error that is not the caller's.
    pub(crate) fn fail(&self, why: impl Into<Cow<'static, str>>) {
        if let Some(context) = &self.0 {
            context.span().set_status(Status::error(why));
        }
    }

    /// Runs a future with this span as its parent.
    pub(crate) fn around<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        match &self.0 {
            None => Either::Left(work),
            Some(context) => Either::Right(work.with_context((**context).clone())),
        }
    }
}
