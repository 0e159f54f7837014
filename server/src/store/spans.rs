//! Trace span of the statement that appends a batch to a database.

use opentelemetry::trace::{SpanKind, Status, TraceContextExt};
use opentelemetry::{Context, KeyValue};

use crate::telemetry::traces::{child, note};

/// Starts the span of an append statement to a database of this system, as a child of the current append span. It
/// records no values.
pub(crate) fn statement(system: &'static str) -> Context {
    let append = Context::current();
    append.span().set_attribute(KeyValue::new("db.system.name", system));
    let statement = child(&append, "INSERT batches", SpanKind::Client);
    note(&statement, || {
        [
            KeyValue::new("db.system.name", system),
            KeyValue::new("db.operation.name", "INSERT"),
            KeyValue::new("db.collection.name", "batches"),
        ]
    });
    statement
}

/// Records the outcome of a statement: `error` is the kind of error, if any.
pub(crate) fn executed(statement: &Context, error: Option<&'static str>) {
    if let Some(error) = error {
        statement.span().set_attribute(KeyValue::new("error.type", error));
        statement.span().set_status(Status::error(error));
    }
}
