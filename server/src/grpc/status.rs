//! Statuses for callers: each has a reason, and facts that programs decide by.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use tenure_core::{Obstacle, Rejection};
use tenure_proto::v1;
use tenure_proto::v1::ErrorReason as Reason;
use tokio::time::Instant;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::authorize::{CLIENT_OWNER, SESSION_OWNER};
use crate::auth::{RateLimited, Refusals, Unidentified};
use crate::telemetry::log_throttle::LogThrottle;

/// The domain of `google.rpc.ErrorInfo`.
const DOMAIN: &str = "tenure";

/// The trailer with the reason, for programs without the generated code of `google.rpc`.
const REASON: HeaderName = HeaderName::from_static("tenure-reason");

/// Retry delay advised to callers.
const RETRY: Duration = Duration::from_millis(250);

/// Retry delay if a limit is reached, and something must be released first.
const RETRY_FULL: Duration = Duration::from_secs(1);

/// Minimum interval between log entries about calls rejected because of the database.
const LOG: Duration = Duration::from_secs(10);

/// Throttles these log entries, for all calls.
static OUTAGE: Mutex<LogThrottle> = Mutex::new(LogThrottle::every(LOG));

/// A detail of a status.
type Fact = (&'static str, String);

pub(crate) fn fact(key: &'static str, value: impl Display) -> Fact {
    (key, value.to_string())
}

/// The status code of a reason. Most depend on the state that the request meets.
fn code_of(reason: Reason) -> Code {
    match reason {
        Reason::InvalidField => Code::InvalidArgument,
        Reason::SessionNotFound => Code::NotFound,
        Reason::StoreUnavailable | Reason::OutcomeUnknown | Reason::LeaseLost | Reason::Draining => Code::Unavailable,
        Reason::Overloaded | Reason::LimitReached => Code::ResourceExhausted,
        Reason::AcquireCancelled
        | Reason::ClaimEnded
        | Reason::ConfigConflict
        | Reason::StaleAssignment
        | Reason::TransferNotConfirmed => Code::Aborted,
        Reason::DeadlineExceeded => Code::DeadlineExceeded,
        Reason::Unauthenticated => Code::Unauthenticated,
        Reason::PermissionDenied => Code::PermissionDenied,
        _ => Code::FailedPrecondition,
    }
}

/// A status with its reason and facts. It advises when to retry if that helps.
pub(crate) fn status(reason: Reason, message: impl Into<String>, facts: Vec<Fact>) -> Status {
    let retry = match (reason, code_of(reason)) {
        (Reason::LimitReached, _) => Some(RETRY_FULL),
        (Reason::Overloaded, _) | (_, Code::Unavailable) => Some(RETRY),
        _ => None,
    };
    status_with_retry(reason, message, facts, retry)
}

fn status_with_retry(reason: Reason, message: impl Into<String>, facts: Vec<Fact>, retry: Option<Duration>) -> Status {
    let code = code_of(reason);
    let facts: HashMap<String, String> = facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let mut details = ErrorDetails::new();
    if code == Code::InvalidArgument {
        let fact = |key: &str| facts.get(key).cloned().unwrap_or_default();
        details.add_bad_request_violation(fact("field"), fact("bound"));
    }
    if retry.is_some() {
        details.set_retry_info(retry);
    }
    details.set_error_info(name_of(reason), DOMAIN, facts);
    let metadata =
        MetadataMap::from_headers([(REASON, HeaderValue::from_static(name_of(reason)))].into_iter().collect());
    Status::with_error_details_and_metadata(code, message, details, metadata)
}

/// A field is out of its bounds.
pub(crate) fn invalid(field: impl Display, bound: impl Display) -> Status {
    let message = format!("{field}: {bound}");
    status(Reason::InvalidField, message, vec![fact("field", field), fact("bound", bound)])
}

/// A deadline has passed: the call's own, or that of its message.
pub(crate) fn overdue(message: impl Into<String>) -> Status {
    status(Reason::DeadlineExceeded, message, Vec::new())
}

/// Temporarily unavailable; nothing was changed.
pub(crate) fn not_now(message: &str) -> Status {
    status(Reason::StoreUnavailable, message, Vec::new())
}

impl From<Unidentified> for Status {
    fn from(why: Unidentified) -> Self {
        status(Reason::Unauthenticated, why.to_string(), vec![fact("rule", why.rule())])
    }
}

impl From<RateLimited> for Status {
    fn from(RateLimited { limit, bound, wait }: RateLimited) -> Self {
        let wait = in_ms(wait);
        let message = format!("{limit}: the limit of {bound} is reached: retry in {wait} ms");
        let facts = vec![fact("limit", limit), fact("bound", bound)];
        status_with_retry(Reason::Overloaded, message, facts, Some(Duration::from_millis(wait)))
    }
}

/// The status of a rejection. Details of the database, which callers are not shown, are logged.
pub(crate) fn rejected(rejection: Rejection) -> Status {
    let (reason, facts) = match &rejection {
        Rejection::SessionNotFound(session) => (Reason::SessionNotFound, vec![fact("session_id", session)]),
        Rejection::SessionInUse(session) => (Reason::SessionInUse, vec![fact("session_id", session)]),
        Rejection::AcquireCancelled(session) => (Reason::AcquireCancelled, vec![fact("session_id", session)]),
        Rejection::SessionEnded { session, reason } => {
            (Reason::SessionEnded, vec![fact("session_id", session), fact("end_reason", reason.as_str())])
        }
        Rejection::SessionReopened { session, opened } => {
            (Reason::SessionReopened, vec![fact("session_id", session), fact("opened_revision", opened)])
        }
        Rejection::SessionOfAnother(session) => {
            (Reason::PermissionDenied, vec![fact("rule", SESSION_OWNER), fact("session_id", session)])
        }
        Rejection::ClientEnded(_) => return not_now(&rejection.to_string()),
        Rejection::ClientSuperseded(client) => (Reason::ClientSuperseded, vec![fact("client_id", client)]),
        Rejection::ClientOfAnother(client) => {
            (Reason::PermissionDenied, vec![fact("rule", CLIENT_OWNER), fact("client_id", client)])
        }
        Rejection::NotHolder { name, session, holder } => {
            let mut facts = vec![fact("name", name), fact("session_id", session)];
            facts.extend(holder.as_ref().map(|holder| fact("holder", holder)));
            (Reason::NotHolder, facts)
        }
        Rejection::HoldEnded { name, session, token, reason } => {
            let (token, reason) = (fact("token", token), fact("end_reason", reason.as_str()));
            (Reason::HoldEnded, vec![fact("name", name), fact("session_id", session), token, reason])
        }
        Rejection::TokenMismatch { name, session, token } => {
            (Reason::TokenMismatch, vec![fact("name", name), fact("session_id", session), fact("token", token)])
        }
        Rejection::TokenFromFuture { revision, .. } => {
            let message = format!("token: at most {revision}, the namespace's revision");
            let facts = vec![fact("field", "token"), fact("bound", format_args!("at most {revision}"))];
            return status(Reason::InvalidField, message, facts);
        }
        Rejection::ClaimOverlap { name, session } => {
            (Reason::ClaimOverlap, vec![fact("name", name), fact("session_id", session)])
        }
        Rejection::LimitMismatch { name, limit, asked } => {
            (Reason::LimitMismatch, vec![fact("name", name), fact("limit", limit), fact("asked", asked)])
        }
        Rejection::LimitUnknown(name) => (Reason::LimitUnknown, vec![fact("name", name)]),
        Rejection::TransferImpossible { name, obstacle } => {
            (Reason::TransferImpossible, vec![fact("name", name), fact("obstacle", obstacle_name(obstacle))])
        }
        Rejection::TransferPending { name, token } => {
            (Reason::TransferPending, vec![fact("name", name), fact("token", token)])
        }
        Rejection::NotLeader { group, session, token, leader } => {
            let mut facts = vec![fact("group", group), fact("session_id", session), fact("token", token)];
            facts.extend(leader.as_ref().map(|leader| fact("leader", leader)));
            (Reason::NotLeader, facts)
        }
        Rejection::StaleAssignment { group, basis } => {
            let (membership, config) =
                (fact("membership_revision", basis.membership), fact("config_revision", basis.config));
            (Reason::StaleAssignment, vec![fact("group", group), membership, config])
        }
        Rejection::MemberUnassigned(_) | Rejection::AssignedToStranger(_) => {
            return invalid("assignments", &rejection);
        }
        Rejection::ConfigConflict { group, revision } => {
            (Reason::ConfigConflict, vec![fact("group", group), fact("config_revision", revision)])
        }
        Rejection::NotMember { group, session } => {
            (Reason::NotMember, vec![fact("group", group), fact("session_id", session)])
        }
        Rejection::MembershipOverlap { group, session } => {
            (Reason::MembershipOverlap, vec![fact("group", group), fact("session_id", session)])
        }
        Rejection::LimitReached { limit, bound } => {
            (Reason::LimitReached, vec![fact("limit", limit), fact("bound", bound)])
        }
        Rejection::Unavailable(why) => {
            if OUTAGE.lock().unwrap_or_else(PoisonError::into_inner).on_error(Instant::now()) {
                tracing::warn!(why, "calls are rejected: the database cannot be reached");
            }
            // Without the reason: it may contain the database's address, its user, and other output of drivers.
            return not_now("the database cannot be reached: retry later");
        }
        Rejection::OutcomeUnknown => (Reason::OutcomeUnknown, Vec::new()),
        Rejection::Overloaded => (Reason::Overloaded, Vec::new()),
        Rejection::LeaseLost => (Reason::LeaseLost, Vec::new()),
        Rejection::Draining => (Reason::Draining, Vec::new()),
    };
    status(reason, rejection.to_string(), facts)
}

fn obstacle_name(obstacle: &Obstacle) -> &'static str {
    match obstacle {
        Obstacle::NotHeld => "NOT_HELD",
        Obstacle::SeveralHolders => "SEVERAL_HOLDERS",
        Obstacle::NoWaiter => "NO_WAITER",
        Obstacle::NotWaiting(_) => "NOT_WAITING",
        Obstacle::MinHold => "MIN_HOLD",
    }
}

/// In whole milliseconds, rounded up: at least one, even if there is capacity again by the time of the response.
fn in_ms(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX).max(1)
}

/// The name of a reason without its prefix.
fn name_of(reason: Reason) -> &'static str {
    reason.as_str_name().trim_start_matches("ERROR_REASON_")
}

/// Whether a status has this reason.
pub(crate) fn has_reason(status: &Status, reason: Reason) -> bool {
    status.get_details_error_info().is_some_and(|info| info.reason == name_of(reason))
}

/// The status as part of a response.
pub fn refusal(status: &Status) -> v1::Refusal {
    let info = status.get_details_error_info().map(|info| (info.reason, info.metadata));
    let (reason, metadata) = info.unwrap_or_default();
    v1::Refusal {
        code: status.code() as i32,
        reason,
        message: status.message().to_owned(),
        metadata: metadata.into_iter().collect(),
    }
}

/// The status as part of a response. Counts that it is returned, and the limit that is reached, if that is the reason.
pub(crate) fn counted(status: &Status, refusals: &Refusals) -> v1::Refusal {
    let refusal = refusal(status);
    if !refusal.reason.is_empty() {
        let limit = refusal.metadata.get("limit").filter(|_| status.code() == Code::ResourceExhausted).cloned();
        refusals.count(refusal.reason.clone(), limit);
    }
    refusal
}

/// Counts a status that a call ends with.
pub(crate) fn count(status: &Status, refusals: &Refusals) {
    drop(counted(status, refusals));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_database_are_not_shown_to_clients() {
        let error = "connecting to db.internal:5432 as user \"tenure\", database \"locks\": connection refused";
        let status = rejected(Rejection::Unavailable(error.to_owned()));
        let refusal = refusal(&status);
        let details = String::from_utf8_lossy(status.details());
        for text in [&format!("{refusal:?}"), status.message(), &*details] {
            let secrets = ["db.internal", "5432", "\"tenure\"", "locks"];
            assert!(!secrets.iter().any(|secret| text.contains(secret)), "{text}");
        }
        assert_eq!(refusal.message, "the database cannot be reached: retry later");
    }

    #[test]
    fn reason_is_in_the_details_and_in_a_trailer() {
        let status = rejected(Rejection::Draining);
        assert!(has_reason(&status, Reason::Draining));
        assert_eq!(status.metadata().get("tenure-reason").expect("a trailer"), "DRAINING");
    }

    #[test]
    fn retry_delay_is_rounded_up_to_milliseconds() {
        assert_eq!(in_ms(Duration::ZERO), 1);
        assert_eq!(in_ms(Duration::from_micros(999)), 1);
        assert_eq!(in_ms(Duration::from_micros(1_001)), 2);
    }
}
