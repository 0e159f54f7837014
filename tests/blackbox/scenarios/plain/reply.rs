//! Replies to the runner.

use std::collections::HashMap;

use serde_json::{Value, json};
use tenure_proto::v1::{Claim, EndReason, Event, EventType, Lock, Mode};
use tonic::Status;
use tonic_types::StatusExt;

/// The outcome of a request.
pub(crate) type Reply = Result<Value, Failure>;

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// No server replied.
    Unavailable(String),
    /// A server rejected it.
    Rejected { reason: String, message: String, metadata: HashMap<String, String> },
    /// There are no endpoints, or one is not a valid address.
    Endpoints,
    /// It was cancelled.
    Cancelled,
    /// The scenario is faulty.
    Driver(String),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        match status.get_error_details().error_info() {
            Some(info) => Self::Rejected {
                reason: info.reason.clone(),
                message: status.message().to_owned(),
                metadata: info.metadata.clone(),
            },
            None => Self::Unavailable(status.to_string()),
        }
    }
}

impl Failure {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Unavailable(message) => json!({"kind": "unavailable", "message": message}),
            Self::Rejected { reason, message, metadata } => {
                json!({"kind": "refused", "reason": reason, "message": message, "metadata": metadata})
            }
            Self::Endpoints => json!({"kind": "invalid", "field": "endpoints"}),
            Self::Cancelled => json!({"kind": "cancelled"}),
            Self::Driver(message) => json!({"kind": "driver", "message": message}),
        }
    }
}

/// The reason of a server's rejection. None if the status is not from a server.
pub(crate) fn reason(status: &Status) -> Option<String> {
    status.get_error_details().error_info().map(|info| info.reason.clone())
}

/// The name of an enum's value without the prefix that it shares with the unspecified one: `EVENT_TYPE_QUEUED` is
/// `queued`.
pub(crate) fn name(value: &str, unspecified: &str) -> String {
    let prefix = unspecified.trim_end_matches("UNSPECIFIED");
    value.trim_start_matches(prefix).to_lowercase()
}

pub(crate) fn claim(claim: &Claim) -> Value {
    json!({
        "session_id": claim.session_id,
        "owner": claim.owner,
        "token": Some(claim.token).filter(|token| *token > 0),
        "mode": name(claim.mode().as_str_name(), Mode::Unspecified.as_str_name()),
        "priority": claim.priority,
        "metadata": claim.metadata,
    })
}

pub(crate) fn lock(lock: &Lock) -> Value {
    let claims = |claims: &[Claim]| claims.iter().map(claim).collect::<Value>();
    json!({"name": lock.name, "holders": claims(&lock.holders), "waiters": claims(&lock.waiters)})
}

/// Converts an event, once for each of its locks.
pub(crate) fn events(event: &Event) -> Vec<Value> {
    event.names.iter().map(|name| event_of_lock(event, name)).collect()
}

fn event_of_lock(event: &Event, lock: &String) -> Value {
    let claim = event.claim.as_ref();
    let ended = Some(event.end_reason()).filter(|reason| *reason != EndReason::Unspecified);
    json!({
        "revision": event.revision,
        "name": lock,
        "kind": name(event.r#type().as_str_name(), EventType::Unspecified.as_str_name()),
        "session_id": claim.map(|claim| &claim.session_id),
        "token": claim.map(|claim| claim.token).filter(|token| *token > 0),
        "end_reason": ended.map(|reason| name(reason.as_str_name(), EndReason::Unspecified.as_str_name())),
        "vacant": event.vacant_names.contains(lock),
    })
}
