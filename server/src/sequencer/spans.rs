//! The spans of a command in the sequencer, and of the batch that includes it.
//!
//! A batch has many callers, but its span is in at most one trace: that of its first traced command. The spans of the
//! others are linked to it, and it to them.

use opentelemetry::trace::{SpanKind, Status, TraceContextExt};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use tenure_core::{Acquire, Change, Command, Outcome, ServerId, Text};

use super::Reply;
use crate::store::{Batch, StoreError};
use crate::telemetry::traces::{child, note, parent, start};

/// Maximum bytes of names that a span records.
const NAMES: usize = 512;

/// Maximum number of linked commands: the default limit of links in a span.
const LINKS: usize = 128;

/// The span of a command until it is in a batch, as a child of the call that requested it.
pub(super) fn command(call: &Context, namespace: &Text, command: &Command) -> Context {
    let span = child(call, "tenure.sequencer", SpanKind::Internal);
    if span.has_active_span() {
        let namespace = KeyValue::new("tenure.namespace", namespace.to_string());
        span.span().set_attributes([namespace.clone(), KeyValue::new("tenure.command", <&str>::from(command))]);
        call.span().set_attributes(subject(command).into_iter().chain([namespace]));
    }
    span
}

/// The span of a command that another server has forwarded, with its origin.
pub(super) fn received(from: ServerId, traceparent: &str) -> Context {
    let span = start("tenure.sequencer", SpanKind::Server, &parent::named(traceparent));
    note(&span, || [KeyValue::new("tenure.forwarded_by", from.to_string())]);
    span
}

/// Records that the command is forwarded to another server, whose spans follow.
pub(super) fn forwarded(span: &Context, to: ServerId) {
    if span.has_active_span() {
        span.span().add_event("forwarded", vec![KeyValue::new("tenure.forwarded_to", to.to_string())]);
    }
}

/// Records the reply.
pub(super) fn replied(span: &Context, reply: &Reply) {
    note(span, || match reply {
        Ok(result) => {
            let mut attributes = vec![
                KeyValue::new("tenure.revision", result.revision.0.cast_signed()),
                KeyValue::new("tenure.outcome", <&str>::from(&result.outcome)),
            ];
            if let Outcome::Held { claim, .. } = &result.outcome {
                let token = claim.token();
                attributes.extend(token.map(|token| KeyValue::new("tenure.fencing_token", token.0.cast_signed())));
            }
            attributes
        }
        Err(rejection) => {
            vec![KeyValue::new("tenure.outcome", "refused"), KeyValue::new("tenure.refusal", rejection.to_string())]
        }
    });
}

/// The span of a batch, if a command in it is traced. `spans` are the spans of its commands, in order.
pub(super) fn append<'a>(spans: impl ExactSizeIterator<Item = Option<&'a Context>>, batch: &Batch) -> Context {
    let commands = spans.len();
    let mut traced = spans.flatten().filter(|span| span.has_active_span());
    let Some(first) = traced.next() else { return Context::new() };
    let append = child(first, "tenure.append", SpanKind::Internal);
    note(&append, || {
        [
            KeyValue::new("tenure.namespace", batch.namespace.to_string()),
            KeyValue::new("tenure.batch.commands", commands as i64),
            KeyValue::new("tenure.batch.events", batch.events.len() as i64),
            KeyValue::new("tenure.revision.before", batch.previous.0.cast_signed()),
            KeyValue::new("tenure.revision.after", batch.revision().0.cast_signed()),
        ]
    });
    let link = |from: &Context, to: &Context| from.span().add_link(to.span().span_context().clone(), Vec::new());
    for other in traced.take(LINKS) {
        link(&append, other);
        link(other, &append);
    }
    append
}

/// Records the outcome of the append.
pub(super) fn appended(append: &Context, result: &Result<(), StoreError>) {
    let (end, is_failure) = match result {
        Ok(()) => ("committed", false),
        Err(StoreError::Conflict) => ("lost", false),
        Err(StoreError::Unavailable(_)) => ("unavailable", true),
        Err(_) => ("unknown", true),
    };
    append.span().set_attribute(KeyValue::new("tenure.append.outcome", end));
    if is_failure {
        append.span().set_status(Status::error(end));
    }
}

/// The subject of a command.
fn subject(command: &Command) -> Vec<KeyValue> {
    let declared: Vec<Text>;
    let names = match command {
        Command::Acquire(Acquire { names, .. }) | Command::CancelAcquire { names, .. } => &names[..],
        Command::Change { changes, .. } => {
            declared = changes.iter().flat_map(declared_names).cloned().collect();
            &declared
        }
        Command::Release { name, .. }
        | Command::Evict { name, .. }
        | Command::UpdateClaim { name, .. }
        | Command::Transfer { name, .. }
        | Command::ConfigureLock { name, .. } => std::slice::from_ref(name),
        _ => &[],
    };
    let mut subject = Vec::new();
    if !names.is_empty() {
        subject.push(KeyValue::new("tenure.lock.names", bounded(names)));
    }
    if let Some(session) = command.session() {
        subject.push(KeyValue::new("tenure.session.id", session.to_string()));
    }
    if let Some(client) = client(command) {
        subject.push(KeyValue::new("tenure.client.id", client.to_string()));
    }
    if let Command::OpenSession { opening, .. } | Command::Acquire(Acquire { opening: Some(opening), .. }) = command {
        subject.push(KeyValue::new("tenure.session.owner", opening.owner.to_string()));
    }
    subject
}

/// The locks that a change claims.
fn declared_names(change: &Change) -> impl Iterator<Item = &Text> {
    let claims = match change {
        Change::Declare(declaration) => &declaration.claims[..],
        Change::Withdraw(_) => &[],
    };
    claims.iter().flat_map(|claim| claim.names.iter())
}

/// The client of a command of one.
fn client(command: &Command) -> Option<&Text> {
    match command {
        Command::Connect(hello) => Some(&hello.client),
        Command::Change { client, .. } | Command::AbandonClient { client, .. } | Command::EndClient { client, .. } => {
            Some(client)
        }
        _ => None,
    }
}

/// Names within the bound. The last element counts those left out, if any.
fn bounded(names: &[Text]) -> Value {
    let mut left = NAMES;
    let fit = names.iter().take_while(|name| left.checked_sub(name.len()).map(|rest| left = rest).is_some());
    let mut shown: Vec<StringValue> = fit.map(|name| name.to_string().into()).collect();
    if shown.len() < names.len() {
        shown.push(format!("and {} more", names.len() - shown.len()).into());
    }
    Value::Array(Array::String(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded() {
        assert_eq!(bounded(&["a".into(), "b".into()]).to_string(), r#"["a","b"]"#);
        let long = vec![Text::from("n".repeat(255)); 4];
        let shown = bounded(&long).to_string();
        assert!(shown.ends_with(r#","and 2 more"]"#) && shown.len() < NAMES + 40, "{shown}");
    }
}
