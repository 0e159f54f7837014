//! Trace span of the statement that appends a batch to a database.

use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;

use crate::telemetry::traces::Traced;

/// Starts the span of an append statement to a database of this system, as a child of the current append span. It
/// records no values.
pub(crate) fn statement(system: &'static str) -> Traced {
    let append = Traced::current();
    append.note(|| [KeyValue::new("db.system.name", system)]);
    let statement = append.child("INSERT batches", SpanKind::Client);
    statement.note(|| {
        [
            KeyValue::new("db.system.name", system),
            KeyValue::new("db.operation.name", "INSERT"),
            KeyValue::new("db.collection.name", "batches"),
        ]
    });
    statement
}

/// Records the outcome of a statement: `error` is the kind of error, if any.
pub(crate) fn executed(statement: &Traced, error: Option<&'static str>) {
    if let Some(error) = error {
        statement.note(|| [KeyValue::new("error.type", error)]);
        statement.fail(error);
    }
}
