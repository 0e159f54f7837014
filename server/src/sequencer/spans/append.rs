//! The span of an appended batch. The batch has many callers, but the span is in at most one trace: that of the first
//! traced command. The spans of the others are linked to it, and it to them.

use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;

use crate::store::Batch;
use crate::telemetry::traces::{self, Traced};

/// Maximum number of linked commands: the default limit of links in a span.
const LINKS: usize = 128;

/// The span of a batch, if a command in it is traced. `spans` are the spans of its commands, in order.
pub(in crate::sequencer) fn append<'a>(spans: impl ExactSizeIterator<Item = &'a Traced>, batch: &Batch) -> Traced {
    // Checked before any span is examined.
    if !traces::are_exported() {
        return Traced::default();
    }
    let commands = spans.len();
    let mut traced = spans.filter(|span| span.is_recorded());
    let Some(first) = traced.next() else { return Traced::default() };
    let append = first.child("tenure.append", SpanKind::Internal);
    append.note(|| {
        let count = |name, count: usize| KeyValue::new(name, i64::try_from(count).unwrap_or(i64::MAX));
        [
            KeyValue::new("tenure.namespace", batch.namespace.to_string()),
            count("tenure.batch.commands", commands),
            count("tenure.batch.events", batch.events.len()),
            KeyValue::new("tenure.revision.before", batch.previous.0.cast_signed()),
            KeyValue::new("tenure.revision.after", batch.revision().0.cast_signed()),
        ]
    });
    for other in traced.take(LINKS) {
        append.link(other);
        other.link(&append);
    }
    append
}

/// Records the outcome of the append.
pub(in crate::sequencer) fn appended(append: &Traced, end: &'static str, is_failure: bool) {
    append.note(|| [KeyValue::new("tenure.append.outcome", end)]);
    if is_failure {
        append.fail(end);
    }
}
