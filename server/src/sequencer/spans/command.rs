//! The span of a command in the sequencer.

use opentelemetry::trace::SpanKind;
use opentelemetry::{Array, KeyValue, StringValue, Value};
use tenure_core::{Command, Outcome, ServerId, Text};

use crate::sequencer::Reply;
use crate::telemetry::traces::{Traced, parent};

/// Maximum bytes of names that a span records.
const NAMES: usize = 512;

/// The span of a command until it is in a batch, as a child of the call that requested it.
pub(in crate::sequencer) fn command(call: &Traced, namespace: &Text, command: &Command) -> Traced {
    let span = call.child("tenure.sequencer", SpanKind::Internal);
    if span.is_recorded() {
        call.note(|| subject(namespace, command));
        span.note(|| {
            [KeyValue::new("tenure.namespace", namespace.to_string()), KeyValue::new("tenure.command", kind(command))]
        });
    }
    span
}

/// The span of a command that another server has forwarded, with its origin.
pub(in crate::sequencer) fn forwarded(from: ServerId, traceparent: &str) -> Traced {
    let span = Traced::start("tenure.sequencer", SpanKind::Server, &parent::named(traceparent, ""));
    span.note(|| [KeyValue::new("tenure.passed_by", from.to_string())]);
    span
}

/// Records that the command is forwarded to another server, whose spans follow.
pub(in crate::sequencer) fn passed(span: &Traced, to: ServerId) {
    span.event("passed", || vec![KeyValue::new("tenure.passed_to", to.to_string())]);
}

/// Records the reply.
pub(in crate::sequencer) fn replied(span: &Traced, reply: &Reply) {
    if !span.is_recorded() {
        return;
    }
    match reply {
        Ok(result) => span.note(|| {
            let revision = KeyValue::new("tenure.revision", result.revision.0.cast_signed());
            let outcome = KeyValue::new("tenure.outcome", outcome(&result.outcome));
            let token = match &result.outcome {
                Outcome::Held { claim, .. } => claim.token(),
                _ => None,
            };
            let token = token.map(|token| KeyValue::new("tenure.fencing_token", token.0.cast_signed()));
            [revision, outcome].into_iter().chain(token)
        }),
        Err(refusal) => span.note(|| {
            [KeyValue::new("tenure.outcome", "refused"), KeyValue::new("tenure.refusal", refusal.to_string())]
        }),
    }
}

/// The subject of a command.
fn subject(namespace: &Text, command: &Command) -> Vec<KeyValue> {
    let mut subject = vec![KeyValue::new("tenure.namespace", namespace.to_string())];
    let mut names: Vec<&str> = Vec::new();
    match command {
        Command::Acquire { names: requested, .. } | Command::CancelAcquire { names: requested, .. } => {
            names.extend(requested.iter().map(|name| &**name));
        }
        Command::Release { name, .. }
        | Command::Evict { name, .. }
        | Command::UpdateClaim { name, .. }
        | Command::Transfer { name, .. }
        | Command::ConfigureLock { name, .. } => names.push(name),
        _ => {}
    }
    if !names.is_empty() {
        subject.push(KeyValue::new("tenure.lock.names", bounded(&names)));
    }
    if let Some(session) = command.session() {
        subject.push(KeyValue::new("tenure.session.id", session.to_string()));
    }
    if let Command::OpenSession { opening, .. } | Command::Acquire { opening: Some(opening), .. } = command {
        subject.push(KeyValue::new("tenure.session.owner", opening.owner.to_string()));
    }
    subject
}

/// Names within the bound. The last element counts those left out, if any.
fn bounded(names: &[&str]) -> Value {
    let mut shown: Vec<StringValue> = Vec::new();
    let mut left = NAMES;
    for name in names {
        let Some(rest) = left.checked_sub(name.len()) else {
            shown.push(format!("and {} more", names.len() - shown.len()).into());
            break;
        };
        left = rest;
        shown.push((*name).to_owned().into());
    }
    Value::Array(Array::String(shown))
}

fn kind(command: &Command) -> &'static str {
    match command {
        Command::OpenSession { .. } => "open_session",
        Command::AttachSession { .. } => "attach_session",
        Command::CloseSession { .. } => "close_session",
        Command::EndSession { .. } => "end_session",
        Command::Acquire { .. } => "acquire",
        Command::CancelAcquire { .. } => "cancel_acquire",
        Command::EndWait { .. } => "end_wait",
        Command::Abandon { .. } => "abandon",
        Command::Acknowledge { .. } => "acknowledge",
        Command::Release { .. } => "release",
        Command::EndLingering { .. } => "end_lingering",
        Command::Evict { .. } => "evict",
        Command::UpdateClaim { .. } => "update_claim",
        Command::Transfer { .. } => "transfer",
        Command::Preempt { .. } => "preempt",
        Command::EndTransfer { .. } => "end_transfer",
        Command::ConfigureLock { .. } => "configure_lock",
        Command::Group(_) => "group",
        Command::Adopt { .. } => "adopt",
    }
}

fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Open { .. } => "open",
        Outcome::Held { .. } => "held",
        Outcome::Waiting { .. } => "waiting",
        Outcome::Busy { .. } => "busy",
        Outcome::Group(_) => "group",
        Outcome::Evicted(_) => "evicted",
        Outcome::Transferring { .. } => "transferring",
        Outcome::Transferred { .. } => "transferred",
        Outcome::Updated(_) => "updated",
        Outcome::Done => "done",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded() {
        let short = ["a", "b"];
        assert_eq!(bounded(&short).to_string(), r#"["a","b"]"#);
        let long = "n".repeat(255);
        let shown = bounded(&[&long, &long, &long, &long]).to_string();
        assert!(shown.ends_with(r#","and 2 more"]"#) && shown.len() < NAMES + 40, "{shown}");
    }
}
