//! Converts the reasons why calls are rejected into statuses for callers.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tenure_core::{EndReason, Obstacle, Rejection, Revision, Text};
use tenure_proto::v1;
use tenure_proto::v1::ErrorReason;
use tokio::time::Instant;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::authorize::SESSION_OWNER;
use crate::auth::Refusals;
use crate::auth::{RateLimited, Unidentified, Verb};
use crate::sequencer::Refusal;
use crate::telemetry::log_throttle::LogThrottle;

/// The domain of `google.rpc.ErrorInfo`.
const DOMAIN: &str = "tenure";

/// Retry delay advised to callers.
const RETRY: Duration = Duration::from_millis(250);

/// Retry delay if a limit is reached, and something must be released first.
const RETRY_FULL: Duration = Duration::from_secs(1);

/// Minimum interval between log entries about calls rejected because of the database.
const LOG: Duration = Duration::from_secs(10);

/// Throttles these log entries, for all calls.
static OUTAGE: Mutex<LogThrottle> = Mutex::new(LogThrottle::every(LOG));

/// Why a call is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A field is out of its bounds.
    InvalidField { field: String, bound: String },
    /// The namespace rejected it.
    Refused(Refusal),
    /// Temporarily unavailable, for a reason other than the database.
    NotNow(&'static str),
    /// A limit is reached.
    LimitReached { limit: &'static str, bound: String },
    /// The caller exceeds a rate limit.
    RateLimited(RateLimited),
    /// The claim ended while its Acquire was waiting.
    ClaimEnded { session: Text, reason: EndReason },
    /// A deadline has passed: the call's own, or that of its message.
    Overdue(String),
    /// The caller is not identified.
    Unidentified(Unidentified),
    /// The policy does not allow it.
    NotAllowed { identity: Text, verb: Verb, name: String, namespace: String },
    /// The session is not attached to this stream.
    NotAttached { session: Text },
    /// The holder did not stop in time.
    TransferNotConfirmed { name: Text, token: Revision },
}

impl Problem {
    pub(crate) fn field(field: impl Display, bound: impl Into<String>) -> Self {
        Self::InvalidField { field: field.to_string(), bound: bound.into() }
    }

    /// The session of another identity, if that is the reason.
    pub(crate) fn session_of_another(&self) -> Option<&Text> {
        match self {
            Self::Refused(Refusal::Rejected(Rejection::SessionOfAnother { session })) => Some(session),
            _ => None,
        }
    }

    /// The status code that it is returned with.
    pub(crate) fn code(&self) -> Code {
        self.kind().0
    }

    /// Counts that it is returned to a caller. Database details that callers are not shown are logged.
    pub(crate) fn count(&self, refusals: &Refusals) {
        let (_, reason) = self.kind();
        if let Self::Refused(Refusal::Unavailable(why)) = self
            && OUTAGE.lock().unwrap_or_else(PoisonError::into_inner).on_error(Instant::now())
        {
            tracing::warn!(why, "calls are rejected: the database cannot be reached");
        }
        refusals.count(reason_name(reason), self.limit());
    }

    /// The limit that is reached, if that is the reason.
    fn limit(&self) -> Option<&'static str> {
        match self {
            Self::LimitReached { limit, .. }
            | Self::Refused(Refusal::Rejected(Rejection::LimitReached { limit, .. })) => Some(limit),
            Self::RateLimited(RateLimited { limit, .. }) => Some(limit),
            _ => None,
        }
    }

    /// The retry delay advised to callers, if a retry helps.
    fn retry_after(&self, code: Code, reason: ErrorReason) -> Option<Duration> {
        match (self, code, reason) {
            (Self::RateLimited(RateLimited { wait, .. }), ..) => Some(Duration::from_millis(in_ms(*wait))),
            (_, _, ErrorReason::LimitReached) => Some(RETRY_FULL),
            (_, Code::Unavailable, _) | (_, _, ErrorReason::Overloaded) => Some(RETRY),
            _ => None,
        }
    }

    /// The problem to return after a committed change: a temporary failure to report the change does not undo it.
    pub(crate) fn after_change(self) -> Self {
        match self {
            Self::Refused(Refusal::Draining | Refusal::Unavailable(_) | Refusal::LeaseLost) => {
                Self::Refused(Refusal::OutcomeUnknown)
            }
            problem => problem,
        }
    }

    /// The code and the reason, which callers decide by first.
    fn kind(&self) -> (Code, ErrorReason) {
        match self {
            Self::InvalidField { .. } => (Code::InvalidArgument, ErrorReason::InvalidField),
            Self::Refused(Refusal::Rejected(rejection)) => kind_of_rejection(rejection),
            Self::Refused(Refusal::Unavailable(_)) | Self::NotNow(_) => {
                (Code::Unavailable, ErrorReason::StoreUnavailable)
            }
            Self::Refused(Refusal::OutcomeUnknown) => (Code::Unavailable, ErrorReason::OutcomeUnknown),
            Self::Refused(Refusal::LeaseLost) => (Code::Unavailable, ErrorReason::LeaseLost),
            Self::Refused(Refusal::Overloaded) | Self::RateLimited(_) => {
                (Code::ResourceExhausted, ErrorReason::Overloaded)
            }
            Self::Refused(Refusal::Draining) => (Code::Unavailable, ErrorReason::Draining),
            Self::LimitReached { .. } => (Code::ResourceExhausted, ErrorReason::LimitReached),
            Self::ClaimEnded { .. } => (Code::Aborted, ErrorReason::ClaimEnded),
            Self::Overdue(_) => (Code::DeadlineExceeded, ErrorReason::DeadlineExceeded),
            Self::Unidentified(_) => (Code::Unauthenticated, ErrorReason::Unauthenticated),
            Self::NotAllowed { .. } => (Code::PermissionDenied, ErrorReason::PermissionDenied),
            Self::NotAttached { .. } => (Code::FailedPrecondition, ErrorReason::NotAttached),
            Self::TransferNotConfirmed { .. } => (Code::Aborted, ErrorReason::TransferNotConfirmed),
        }
    }

    /// Details in key-value form.
    fn facts(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::InvalidField { field, bound } => vec![("field", field.clone()), ("bound", bound.clone())],
            Self::Refused(Refusal::Rejected(rejection)) => facts_of_rejection(rejection),
            Self::Refused(_) | Self::NotNow(_) | Self::Overdue(_) => Vec::new(),
            Self::LimitReached { limit, bound } => vec![("limit", (*limit).to_owned()), ("bound", bound.clone())],
            Self::RateLimited(RateLimited { limit, bound, .. }) => {
                vec![("limit", (*limit).to_owned()), ("bound", bound.to_string())]
            }
            Self::ClaimEnded { session, reason } => {
                vec![("session_id", session.to_string()), ("end_reason", reason.as_str().to_owned())]
            }
            Self::Unidentified(why) => vec![("rule", why.rule().to_owned())],
            Self::NotAllowed { verb, name, namespace, .. } => vec![
                ("rule", "policy".to_owned()),
                ("verb", verb.to_string()),
                ("name", name.clone()),
                ("namespace", namespace.clone()),
            ],
            Self::NotAttached { session } => vec![("session_id", session.to_string())],
            Self::TransferNotConfirmed { name, token } => {
                vec![("name", name.to_string()), ("token", token.to_string())]
            }
        }
    }

    fn message(&self) -> String {
        match self {
            Self::InvalidField { field, bound } => format!("{field}: {bound}"),
            Self::Refused(Refusal::Rejected(Rejection::TokenFromFuture { revision, .. })) => {
                format!("token: at most {revision}, the namespace's revision")
            }
            Self::Refused(Refusal::Rejected(
                rejection @ (Rejection::MemberUnassigned { .. } | Rejection::AssignedToStranger { .. }),
            )) => format!("assignments: {rejection}"),
            // Without the reason: it may contain the database's address, its user, and other output of drivers.
            Self::Refused(Refusal::Unavailable(_)) => "the database cannot be reached: retry later".to_owned(),
            Self::Refused(refusal) => refusal.to_string(),
            Self::NotNow(why) => (*why).to_owned(),
            Self::LimitReached { limit, bound } => format!("{limit}: the limit of {bound} is reached"),
            Self::RateLimited(RateLimited { limit, bound, wait }) => {
                format!("{limit}: the limit of {bound} is reached: retry in {} ms", in_ms(*wait))
            }
            Self::ClaimEnded { session, reason } => {
                format!("the claim of session \"{session}\" ended while it was waiting: {}", reason.as_str())
            }
            Self::TransferNotConfirmed { name, token } => {
                format!("the holder of \"{name}\" with token {token} did not hand over in time")
            }
            Self::Overdue(what) => what.clone(),
            Self::Unidentified(why) => why.to_string(),
            Self::NotAllowed { identity, namespace, .. } if namespace.is_empty() => {
                format!("no role of \"{identity}\" allows anything")
            }
            Self::NotAllowed { identity, verb, name, namespace } if name.is_empty() => {
                format!("no role of \"{identity}\" allows to {verb} anything in namespace \"{namespace}\"")
            }
            Self::NotAllowed { identity, verb, name, namespace } => {
                format!("no role of \"{identity}\" allows to {verb} \"{name}\" in namespace \"{namespace}\"")
            }
            Self::NotAttached { session } => format!("session \"{session}\" is not attached to this stream"),
        }
    }

    /// The problem as part of a response.
    pub(crate) fn to_refusal(&self) -> v1::Refusal {
        let ((code, reason), facts) = (self.kind(), self.facts());
        v1::Refusal {
            code: code as i32,
            reason: reason_name(reason).to_owned(),
            message: self.message(),
            metadata: facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<BTreeMap<_, _>>(),
        }
    }
}

/// The code and reason of each rejection of the core.
fn kind_of_rejection(rejection: &Rejection) -> (Code, ErrorReason) {
    match rejection {
        Rejection::SessionNotFound { .. } => (Code::NotFound, ErrorReason::SessionNotFound),
        Rejection::SessionEnded { .. } => (Code::FailedPrecondition, ErrorReason::SessionEnded),
        Rejection::LateAttachment { .. } => (Code::FailedPrecondition, ErrorReason::LateAttachment),
        Rejection::SessionMoved { .. } => (Code::FailedPrecondition, ErrorReason::NotAttached),
        Rejection::SessionOfAnother { .. } => (Code::PermissionDenied, ErrorReason::PermissionDenied),
        Rejection::SessionInUse { .. } => (Code::FailedPrecondition, ErrorReason::SessionInUse),
        Rejection::SessionReopened { .. } => (Code::FailedPrecondition, ErrorReason::SessionReopened),
        Rejection::AcquireCancelled { .. } => (Code::Aborted, ErrorReason::AcquireCancelled),
        Rejection::NotHolder { .. } => (Code::FailedPrecondition, ErrorReason::NotHolder),
        Rejection::HoldEnded { .. } => (Code::FailedPrecondition, ErrorReason::HoldEnded),
        Rejection::TokenMismatch { .. } => (Code::FailedPrecondition, ErrorReason::TokenMismatch),
        Rejection::TokenFromFuture { .. } => (Code::InvalidArgument, ErrorReason::InvalidField),
        Rejection::ClaimOverlap { .. } => (Code::FailedPrecondition, ErrorReason::ClaimOverlap),
        Rejection::LimitMismatch { .. } => (Code::FailedPrecondition, ErrorReason::LimitMismatch),
        Rejection::LimitUnknown { .. } => (Code::FailedPrecondition, ErrorReason::LimitUnknown),
        Rejection::TransferImpossible { .. } => (Code::FailedPrecondition, ErrorReason::TransferImpossible),
        Rejection::TransferPending { .. } => (Code::FailedPrecondition, ErrorReason::TransferPending),
        Rejection::NotLeader { .. } => (Code::FailedPrecondition, ErrorReason::NotLeader),
        Rejection::StaleAssignment { .. } => (Code::Aborted, ErrorReason::StaleAssignment),
        Rejection::MemberUnassigned { .. } | Rejection::AssignedToStranger { .. } => {
            (Code::InvalidArgument, ErrorReason::InvalidField)
        }
        Rejection::ConfigConflict { .. } => (Code::Aborted, ErrorReason::ConfigConflict),
        Rejection::NotMember { .. } => (Code::FailedPrecondition, ErrorReason::NotMember),
        Rejection::LimitReached { .. } => (Code::ResourceExhausted, ErrorReason::LimitReached),
    }
}

fn facts_of_rejection(rejection: &Rejection) -> Vec<(&'static str, String)> {
    match rejection {
        Rejection::SessionNotFound { session }
        | Rejection::SessionMoved { session }
        | Rejection::SessionInUse { session }
        | Rejection::AcquireCancelled { session } => vec![("session_id", session.to_string())],
        Rejection::SessionReopened { session, opened } => {
            vec![("session_id", session.to_string()), ("opened_revision", opened.to_string())]
        }
        Rejection::SessionOfAnother { session } => {
            vec![("rule", SESSION_OWNER.to_owned()), ("session_id", session.to_string())]
        }
        Rejection::LateAttachment { session, attachment } => {
            vec![("session_id", session.to_string()), ("attachment", attachment.to_string())]
        }
        Rejection::SessionEnded { session, reason } => {
            vec![("session_id", session.to_string()), ("end_reason", reason.as_str().to_owned())]
        }
        Rejection::NotHolder { name, session, holder } => {
            let mut facts = vec![("name", name.to_string()), ("session_id", session.to_string())];
            facts.extend(holder.as_ref().map(|holder| ("holder", holder.to_string())));
            facts
        }
        Rejection::HoldEnded { name, session, token, reason } => vec![
            ("name", name.to_string()),
            ("session_id", session.to_string()),
            ("token", token.to_string()),
            ("end_reason", reason.as_str().to_owned()),
        ],
        Rejection::TokenMismatch { name, session, token } => {
            vec![("name", name.to_string()), ("session_id", session.to_string()), ("token", token.to_string())]
        }
        Rejection::TokenFromFuture { revision, .. } => {
            vec![("field", "token".to_owned()), ("bound", format!("at most {revision}"))]
        }
        Rejection::ClaimOverlap { name, session } => {
            vec![("name", name.to_string()), ("session_id", session.to_string())]
        }
        Rejection::LimitMismatch { name, limit, asked } => {
            vec![("name", name.to_string()), ("limit", limit.to_string()), ("asked", asked.to_string())]
        }
        Rejection::LimitUnknown { name } => vec![("name", name.to_string())],
        Rejection::TransferImpossible { name, obstacle } => {
            vec![("name", name.to_string()), ("obstacle", obstacle_name(obstacle).to_owned())]
        }
        Rejection::TransferPending { name, token } => {
            vec![("name", name.to_string()), ("token", token.to_string())]
        }
        Rejection::NotLeader { group, session, token, leader } => {
            let mut facts =
                vec![("group", group.to_string()), ("session_id", session.to_string()), ("token", token.to_string())];
            facts.extend(leader.as_ref().map(|leader| ("leader", leader.to_string())));
            facts
        }
        Rejection::StaleAssignment { group, basis } => vec![
            ("group", group.to_string()),
            ("membership_revision", basis.membership.to_string()),
            ("config_revision", basis.config.to_string()),
        ],
        Rejection::MemberUnassigned { .. } | Rejection::AssignedToStranger { .. } => {
            vec![("field", "assignments".to_owned()), ("bound", rejection.to_string())]
        }
        Rejection::ConfigConflict { group, revision } => {
            vec![("group", group.to_string()), ("config_revision", revision.to_string())]
        }
        Rejection::NotMember { group, session } => {
            vec![("group", group.to_string()), ("session_id", session.to_string())]
        }
        Rejection::LimitReached { limit, bound } => vec![("limit", (*limit).to_owned()), ("bound", bound.to_string())],
    }
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
fn reason_name(reason: ErrorReason) -> &'static str {
    reason.as_str_name().trim_start_matches("ERROR_REASON_")
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Problem> for Status {
    fn from(problem: Problem) -> Self {
        let ((code, reason), facts) = (problem.kind(), problem.facts());
        let mut details = ErrorDetails::new();
        let metadata: std::collections::HashMap<String, String> =
            facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        if code == Code::InvalidArgument {
            let field = metadata.get("field").cloned().unwrap_or_default();
            let bound = metadata.get("bound").cloned().unwrap_or_default();
            details.add_bad_request_violation(field, bound);
        }
        if let Some(wait) = problem.retry_after(code, reason) {
            details.set_retry_info(Some(wait));
        }
        details.set_error_info(reason_name(reason), DOMAIN, metadata);
        Self::with_error_details(code, problem.message(), details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_database_says_stays_in_the_log() {
        let why = "connecting to db.internal:5432 as user \"tenure\", database \"locks\": connection refused";
        let problem = Problem::Refused(Refusal::Unavailable(why.to_owned()));
        let (refusal, status) = (problem.to_refusal(), Status::from(problem));
        let details = String::from_utf8_lossy(status.details());
        for text in [&format!("{refusal:?}"), status.message(), &*details] {
            let secrets = ["db.internal", "5432", "\"tenure\"", "locks"];
            assert!(!secrets.iter().any(|secret| text.contains(secret)), "{text}");
        }
        assert_eq!(refusal.message, "the database cannot be reached: retry later");
    }

    #[test]
    fn draining_is_not_reported_for_a_possible_change() {
        let unknown = Problem::Refused(Refusal::OutcomeUnknown);
        assert_eq!(Problem::Refused(Refusal::Draining).after_change(), unknown);
        assert_eq!(Problem::NotNow("later").after_change(), Problem::NotNow("later"));
    }

    #[test]
    fn retryable_errors_have_a_retry_delay() {
        assert_eq!(in_ms(Duration::ZERO), 1);
        assert_eq!(in_ms(Duration::from_micros(999)), 1);
        assert_eq!(in_ms(Duration::from_micros(1_001)), 2);
    }
}
