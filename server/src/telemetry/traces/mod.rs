//! Traces: what became of a call, from the call by way of the sequencer to the statement in the database, as spans of OpenTelemetry.
//!
//! They are made with OpenTelemetry itself and not with the spans of `tracing`: a batch has many callers, so it takes links; the
//! level of the log decides nothing; and who is not sampled, or not asked for, costs no more than a look at a pointer.
//!
//! ```text
//! tenure.v1.LockService/Acquire      the call, or a stream's command of that meaning
//! └─ tenure.sequencer                from asking the sequencer until it has told what came of it
//!    └─ tenure.append                the batch: child of the first command in it that is traced, linked to and from the others
//!       └─ INSERT batches            the statement
//! ```
//!
//! Nothing goes by them: that a span is there changes no decision and no order.

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

/// Makes the spans, once they are asked for: of the whole process, as the log is.
static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Whether anything is traced in this process: if not, a span is not worth preparing.
pub(crate) fn are_exported() -> bool {
    TRACER.get().is_some()
}

/// A span that is recorded, or none. It ends when the last of these is dropped.
#[derive(Clone, Debug, Default)]
pub struct Traced(Option<Box<Context>>);

impl Traced {
    /// No span.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// The span that goes on here, if there is one.
    pub(crate) fn current() -> Self {
        if TRACER.get().is_none() {
            return Self::default();
        }
        Self::recorded(Context::current())
    }

    /// A span with this parent, if it is to be recorded.
    pub(crate) fn start(name: impl Into<Cow<'static, str>>, kind: SpanKind, parent: &Context) -> Self {
        let Some(tracer) = TRACER.get() else { return Self::default() };
        let span = tracer.span_builder(name).with_kind(kind).start_with_context(tracer, parent);
        Self::recorded(parent.with_span(span))
    }

    fn recorded(context: Context) -> Self {
        Self(context.span().is_recording().then(|| Box::new(context)))
    }

    /// A part of this one.
    pub(crate) fn child(&self, name: &'static str, kind: SpanKind) -> Self {
        self.0.as_ref().map_or_else(Self::default, |parent| Self::start(name, kind, parent))
    }

    /// Says more of it.
    pub(crate) fn note<A: IntoIterator<Item = KeyValue>>(&self, attributes: impl FnOnce() -> A) {
        if let Some(context) = &self.0 {
            context.span().set_attributes(attributes());
        }
    }

    /// Whether there is a span.
    pub(crate) fn is_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// Refers to another span.
    pub(crate) fn link(&self, to: &Self) {
        if let (Some(from), Some(to)) = (&self.0, &to.0) {
            from.span().add_link(to.span().span_context().clone(), Vec::new());
        }
    }

    /// Something happens meanwhile.
    pub(crate) fn event(&self, name: &'static str, attributes: impl FnOnce() -> Vec<KeyValue>) {
        if let Some(context) = &self.0 {
            context.span().add_event(name, attributes());
        }
    }

    /// It fails, and not by the fault of whoever asked.
    pub(crate) fn fail(&self, why: impl Into<Cow<'static, str>>) {
        if let Some(context) = &self.0 {
            context.span().set_status(Status::error(why));
        }
    }

    /// Does something as a part of it.
    pub(crate) fn around<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        match &self.0 {
            None => Either::Left(work),
            Some(context) => Either::Right(work.with_context((**context).clone())),
        }
    }
}
