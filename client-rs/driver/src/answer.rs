//! Answers to requests.

use serde_json::{Map, Value, json};
use tenure_client::v1::{BusyState, Claim, EndReason, Event, Group, GroupEvent, Lock};
use tenure_client::{Error, Hold, LostReason, SessionState, Standing};

/// The outcome of a request.
pub(crate) type Answer = Result<Value, Failure>;

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The client returned an error.
    Client(Error),
    /// The request was cancelled.
    Cancelled,
    /// The scenario is faulty.
    Driver(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

impl Failure {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Cancelled => json!({"kind": "cancelled"}),
            Self::Driver(message) => json!({"kind": "driver", "message": message}),
            Self::Client(Error::Unavailable(message)) => json!({"kind": "unavailable", "message": message}),
            Self::Client(Error::Refused(refusal)) => json!({
                "kind": "refused",
                "reason": refusal.reason,
                "message": refusal.message,
                "metadata": refusal.metadata,
            }),
            Self::Client(Error::Lost(reason)) => json!({"kind": "lost", "lost": lost(reason)}),
            Self::Client(Error::Invalid { field, problem }) => {
                json!({"kind": "invalid", "field": field, "message": problem})
            }
            Self::Client(Error::Closed) => json!({"kind": "closed"}),
            Self::Client(error) => json!({"kind": "driver", "message": format!("an unknown error: {error}")}),
        }
    }
}

pub(crate) fn lost(reason: &LostReason) -> Value {
    match reason {
        LostReason::Unrenewed => json!({"reason": "expired"}),
        LostReason::Stalled => json!({"reason": "stalled"}),
        LostReason::Forgotten => json!({"reason": "forgotten"}),
        LostReason::InUse => json!({"reason": "in_use"}),
        LostReason::Released => json!({"reason": "released"}),
        LostReason::Closed => json!({"reason": "closed"}),
        LostReason::Ended(ended) => json!({
            "reason": "ended",
            "end_reason": ended.reason().word(),
            "operator": unless_empty(&ended.operator),
            "note": unless_empty(&ended.note),
        }),
        other => json!({"reason": format!("{other:?}")}),
    }
}

/// The text, or null if it is empty.
pub(crate) fn unless_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// The number, or null if it is zero.
fn unless_zero(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number > 0)
}

fn end_reason(reason: EndReason) -> Option<&'static str> {
    (reason != EndReason::Unspecified).then(|| reason.word())
}

pub(crate) fn state(state: &SessionState, is_valid: bool) -> Value {
    match state {
        SessionState::Healthy => json!({"state": "healthy", "valid": is_valid}),
        SessionState::AtRisk => json!({"state": "at_risk", "valid": is_valid}),
        SessionState::Lost(reason) => json!({"state": "lost", "valid": is_valid, "lost": lost(reason)}),
        other => json!({"state": format!("{other:?}"), "valid": is_valid}),
    }
}

pub(crate) fn hold(hold: &Hold) -> Value {
    json!({
        "valid": hold.is_valid(),
        "token": hold.token(),
        "lost": hold.lost_reason().as_ref().map(lost),
    })
}

pub(crate) fn busy(busy: &BusyState) -> Value {
    json!({"acquired": false, "holder": busy.holder.as_deref().map(claim)})
}

pub(crate) fn claim(claim: &Claim) -> Value {
    json!({
        "session_id": claim.session_id,
        "owner": claim.owner,
        "token": unless_zero(claim.token),
        "mode": claim.mode().word(),
        "priority": claim.priority,
        "metadata": claim.metadata,
    })
}

pub(crate) fn lock(lock: &Lock) -> Value {
    json!({
        "name": lock.name,
        "holders": lock.holders.iter().map(claim).collect::<Vec<_>>(),
        "waiters": lock.waiters.iter().map(claim).collect::<Vec<_>>(),
    })
}

pub(crate) fn leader(leader: Option<&Claim>) -> Value {
    let leader =
        leader.map(|leader| json!({"session_id": leader.session_id, "owner": leader.owner, "token": leader.token}));
    json!({"leader": leader})
}

/// An event, once for each of its locks.
pub(crate) fn events(event: &Event) -> impl Iterator<Item = Value> {
    let claim = event.claim.as_ref();
    event.names.iter().map(move |name| {
        json!({
            "revision": event.revision,
            "name": name,
            "kind": event.r#type().word(),
            "session_id": claim.map(|claim| &claim.session_id),
            "token": claim.and_then(|claim| unless_zero(claim.token)),
            "end_reason": end_reason(event.end_reason()),
            "vacant": event.vacant_names.contains(name),
        })
    })
}

pub(crate) fn group_event(event: &GroupEvent) -> Value {
    json!({
        "revision": event.revision,
        "group": event.group,
        "kind": event.r#type().word(),
        "number": event.member.as_ref().map(|member| member.number),
        "session_id": event.member.as_ref().map(|member| &member.session_id),
        "end_reason": end_reason(event.end_reason()),
        "leader": unless_zero(event.leader),
        "config": event.config,
    })
}

pub(crate) fn group(group: &Group) -> Value {
    let members = group.members.iter().map(|member| {
        json!({
            "number": member.number,
            "session_id": member.session_id,
            "owner": member.owner,
            "metadata": member.metadata,
            "assignment": member.assignment,
        })
    });
    let leader = group
        .leader
        .as_ref()
        .map(|leader| json!({"number": leader.member, "token": leader.token, "session_id": leader.session_id}));
    json!({
        "name": group.name,
        "members": members.collect::<Vec<_>>(),
        "leader": leader,
        "config": group.config,
        "config_revision": group.config_revision,
        "current": group.assignments_current,
    })
}

pub(crate) fn standing(standing: &Standing) -> Map<String, Value> {
    let Value::Object(fields) = json!({
        "leads": standing.leads(),
        "token": standing.token(),
        "number": standing.number,
        "assignment": standing.assignment(),
        "current": standing.is_current(),
        "members": standing.group.members.iter().map(|member| member.number).collect::<Vec<_>>(),
        "config": standing.group.config,
        "lost": standing.lost.as_ref().map(lost),
    }) else {
        return Map::new();
    };
    fields
}
