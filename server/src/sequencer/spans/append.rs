//! A batch that is appended. It has many callers and one trace at the most that it is a part of: that of the first command
//! in it that is traced. The others are linked to it, and it to them.

use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;

use crate::store::Batch;
use crate::telemetry::traces::{self, Traced};

/// The most commands that a batch is linked to: what a span takes unless more is asked for.
const LINKS: usize = 128;

/// The span of a batch, if a command in it is traced. `passages` are those of its commands, in order.
pub(in crate::sequencer) fn append<'a>(passages: impl ExactSizeIterator<Item = &'a Traced>, batch: &Batch) -> Traced {
    // Before any of them is looked at.
    if !traces::are_exported() {
        return Traced::default();
    }
    let commands = passages.len();
    let mut traced = passages.filter(|passage| passage.is_recorded());
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

/// How it ended.
pub(in crate::sequencer) fn appended(append: &Traced, end: &'static str, is_failure: bool) {
    append.note(|| [KeyValue::new("tenure.append.outcome", end)]);
    if is_failure {
        append.fail(end);
    }
}
