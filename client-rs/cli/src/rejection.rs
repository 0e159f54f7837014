//! Converts rejections by the service into failures with advice.

use tenure_client::Reason;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::exit::{self, Failure};

/// A server did not reply to the call; another endpoint may be able to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoReply {
    /// The reason, in readable form.
    pub why: String,
    /// Whether the call certainly had no effect.
    pub nothing_changed: bool,
}

/// The advice for a call whose outcome is not known.
const UNKNOWN: &str = "the call may or may not have taken effect: check with tenure get NAME before retrying";

/// Returns `Some` if the status is not a rejection, but comes from a server that cannot reply now.
pub fn no_reply(status: &Status) -> Option<NoReply> {
    let unavailable = |why: &str, nothing_changed| Some(NoReply { why: why.to_owned(), nothing_changed });
    match reason(status).as_deref() {
        Some("STORE_UNAVAILABLE") => return unavailable("its database cannot be reached", true),
        Some("LEASE_LOST") => return unavailable("its lease has lapsed", true),
        Some("DRAINING") => return unavailable("it is shutting down", true),
        Some("OVERLOADED") => return unavailable("it is overloaded", true),
        _ => {}
    }
    match status.code() {
        // A connection that breaks during a response yields the code unknown.
        Code::Unavailable | Code::Unknown => unavailable(&format!("the connection broke: {}", status.message()), false),
        Code::DeadlineExceeded | Code::Cancelled => unavailable("no reply in time", false),
        _ => None,
    }
}

/// Converts a rejection into a failure.
pub fn failure(status: &Status) -> Failure {
    let reason = reason(status);
    let known = reason.is_some();
    let failure = by_reason(reason, status.message());
    match detail(status, "obstacle").as_deref().and_then(transfer_advice) {
        Some(next) => failure.next(next),
        None if known => failure,
        None => by_code(status, failure),
    }
}

/// The advice for an obstacle to a transfer.
fn transfer_advice(obstacle: &str) -> Option<&'static str> {
    match obstacle {
        "NOT_HELD" => Some("see the holder and its token: tenure get NAME"),
        "SEVERAL_HOLDERS" => Some("select one hold with --token N: tenure get NAME shows the tokens"),
        "NO_WAITER" => Some("start the next holder, so that it waits: tenure elect NAME -- CMD"),
        "NOT_WAITING" => Some("see the waiters: tenure get NAME"),
        "MIN_HOLD" => Some("wait until the minimum hold is over, or evict the holder: tenure evict NAME"),
        _ => None,
    }
}

/// A failure for `reason`, with the service's own message.
pub fn by_reason(reason: Option<String>, message: &str) -> Failure {
    let (code, next) = match reason.as_deref() {
        Some("INVALID_FIELD") => (exit::USAGE, None),
        Some("SESSION_NOT_FOUND" | "SESSION_ENDED") => (
            exit::REFUSED,
            Some(
                "list open sessions with tenure sessions, or open this one: tenure acquire NAME --session ID --ttl 1m",
            ),
        ),
        Some("UNAUTHENTICATED") => (
            exit::REFUSED,
            Some("authenticate with --token-file, or --client-cert and --client-key: see tenure --help"),
        ),
        Some("PERMISSION_DENIED") => (exit::REFUSED, Some("ask the operator to change the server's policy")),
        Some("NOT_HOLDER") => (exit::REFUSED, Some("see the holder: tenure get NAME")),
        Some("HOLD_ENDED") => (
            exit::REFUSED,
            Some("work under that hold may have overlapped with the next holder's: check it; see tenure get NAME"),
        ),
        Some("TOKEN_MISMATCH") => (exit::REFUSED, Some("see the token of the hold: tenure get NAME")),
        Some("CLAIM_OVERLAP") => {
            (exit::REFUSED, Some("use another session, or release this one's claims: tenure sessions ID"))
        }
        Some("SESSION_IN_USE") => {
            (exit::CONFLICT, Some("use another id, or see the session: tenure sessions ID; it ends with its program"))
        }
        Some("CLAIM_ENDED") => (exit::REFUSED, Some("acquire again: the position in the queue is lost")),
        Some("LIMIT_MISMATCH") => {
            (exit::REFUSED, Some("see the limit: tenure get NAME; an operator sets it: tenure set NAME --limit N"))
        }
        Some("LIMIT_UNKNOWN") => {
            (exit::REFUSED, Some("pass --limit N, or set it for all callers: tenure set NAME --limit N"))
        }
        Some("TRANSFER_IMPOSSIBLE") => (exit::REFUSED, Some("see the holder and the waiters: tenure get NAME")),
        Some("TRANSFER_PENDING") => (
            exit::REFUSED,
            Some("see the pending transfer: tenure get NAME; retry when it has ended (tenure watch NAME)"),
        ),
        Some("TRANSFER_NOT_CONFIRMED") => (
            exit::CONFLICT,
            Some("see the holder: tenure get NAME; allow more time with --drain, or evict it: tenure evict NAME"),
        ),
        Some("NOT_LEADER" | "NOT_MEMBER" | "STALE_ASSIGNMENT") => {
            (exit::REFUSED, Some("see the current group: tenure group get NAME"))
        }
        Some("CONFIG_CONFLICT") => (exit::CONFLICT, Some("see the config and its revision: tenure group get NAME")),
        Some("LIMIT_REACHED") => (exit::UNAVAILABLE, Some("retry later, or raise the server's limit")),
        Some("DEADLINE_EXCEEDED") => (exit::UNAVAILABLE, Some(UNKNOWN)),
        Some("STORE_UNAVAILABLE" | "LEASE_LOST" | "DRAINING" | "OVERLOADED") => {
            (exit::UNAVAILABLE, Some("retry, or diagnose with tenure doctor"))
        }
        _ => (exit::REFUSED, Some("if it happens again, see the server's log")),
    };
    let message = message.trim().trim_end_matches('.');
    let message = if message.is_empty() { "the server gave no reason" } else { message };
    Failure { code, reason, message: message.to_owned(), next: next.map(str::to_owned) }
}

/// A rejection that did not come from the service itself: from an intermediary, or another program.
fn by_code(status: &Status, failure: Failure) -> Failure {
    let (code, next) = match status.code() {
        Code::Unimplemented => {
            (exit::REFUSED, "is this Tenure's gRPC port (7420 by default), and is the server new enough?")
        }
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown => (exit::UNAVAILABLE, UNKNOWN),
        Code::InvalidArgument => (exit::USAGE, "see tenure help"),
        Code::Unauthenticated | Code::PermissionDenied => (exit::REFUSED, "ask the operator for access"),
        _ => return failure,
    };
    Failure { code, next: Some(next.to_owned()), ..failure }
}

/// The name of the service's error reason, without its prefix.
pub fn reason(status: &Status) -> Option<String> {
    let info = status.get_details_error_info()?;
    (info.domain == "tenure").then_some(info.reason)
}

/// A detail from the metadata of the service's error reason.
pub fn detail(status: &Status, name: &str) -> Option<String> {
    let info = status.get_details_error_info()?;
    info.metadata.get(name).filter(|_| info.domain == "tenure").cloned()
}

/// The name of a reason in the API.
pub fn reason_name(reason: &Reason) -> Option<String> {
    let name = match reason {
        Reason::InvalidField => "INVALID_FIELD",
        Reason::SessionNotFound => "SESSION_NOT_FOUND",
        Reason::SessionEnded => "SESSION_ENDED",
        Reason::NotHolder => "NOT_HOLDER",
        Reason::HoldEnded => "HOLD_ENDED",
        Reason::TokenMismatch => "TOKEN_MISMATCH",
        Reason::ClaimOverlap => "CLAIM_OVERLAP",
        Reason::ClaimEnded => "CLAIM_ENDED",
        Reason::StoreUnavailable => "STORE_UNAVAILABLE",
        Reason::LeaseLost => "LEASE_LOST",
        Reason::Draining => "DRAINING",
        Reason::LimitReached => "LIMIT_REACHED",
        Reason::NotAttached => "NOT_ATTACHED",
        Reason::OutcomeUnknown => "OUTCOME_UNKNOWN",
        Reason::LimitMismatch => "LIMIT_MISMATCH",
        Reason::LimitUnknown => "LIMIT_UNKNOWN",
        Reason::TransferImpossible => "TRANSFER_IMPOSSIBLE",
        Reason::TransferPending => "TRANSFER_PENDING",
        Reason::TransferNotConfirmed => "TRANSFER_NOT_CONFIRMED",
        Reason::NotLeader => "NOT_LEADER",
        Reason::StaleAssignment => "STALE_ASSIGNMENT",
        Reason::ConfigConflict => "CONFIG_CONFLICT",
        Reason::NotMember => "NOT_MEMBER",
        Reason::Overloaded => "OVERLOADED",
        Reason::LateAttachment => "LATE_ATTACHMENT",
        Reason::Unauthenticated => "UNAUTHENTICATED",
        Reason::PermissionDenied => "PERMISSION_DENIED",
        Reason::SessionInUse => "SESSION_IN_USE",
        Reason::Other(name) => name,
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic_types::ErrorDetails;

    use super::*;

    fn rejected(code: Code, reason: &str) -> Status {
        let details = ErrorDetails::with_error_info(reason, "tenure", HashMap::new());
        Status::with_error_details(code, "no.", details)
    }

    #[test]
    fn every_reason_has_its_exit_code() {
        let codes = [
            (Code::InvalidArgument, "INVALID_FIELD", exit::USAGE),
            (Code::NotFound, "SESSION_NOT_FOUND", exit::REFUSED),
            (Code::FailedPrecondition, "SESSION_ENDED", exit::REFUSED),
            (Code::FailedPrecondition, "NOT_HOLDER", exit::REFUSED),
            (Code::FailedPrecondition, "HOLD_ENDED", exit::REFUSED),
            (Code::FailedPrecondition, "TOKEN_MISMATCH", exit::REFUSED),
            (Code::FailedPrecondition, "CLAIM_OVERLAP", exit::REFUSED),
            (Code::FailedPrecondition, "SESSION_IN_USE", exit::CONFLICT),
            (Code::Aborted, "CLAIM_ENDED", exit::REFUSED),
            (Code::FailedPrecondition, "NOT_LEADER", exit::REFUSED),
            (Code::Aborted, "CONFIG_CONFLICT", exit::CONFLICT),
            (Code::ResourceExhausted, "LIMIT_REACHED", exit::UNAVAILABLE),
            (Code::FailedPrecondition, "LIMIT_MISMATCH", exit::REFUSED),
            (Code::FailedPrecondition, "LIMIT_UNKNOWN", exit::REFUSED),
            (Code::FailedPrecondition, "TRANSFER_IMPOSSIBLE", exit::REFUSED),
            (Code::FailedPrecondition, "TRANSFER_PENDING", exit::REFUSED),
            (Code::Aborted, "TRANSFER_NOT_CONFIRMED", exit::CONFLICT),
            (Code::Internal, "INTERNAL", exit::REFUSED),
        ];
        for (code, reason, expected) in codes {
            let failure = failure(&rejected(code, reason));
            assert_eq!(failure.code, expected, "{reason}");
            assert_eq!(failure.reason.as_deref(), Some(reason));
            assert_eq!(failure.message, "no");
        }
    }

    #[test]
    fn each_obstacle_to_a_transfer_has_its_advice() {
        let mut advice = std::collections::BTreeSet::new();
        for obstacle in ["NOT_HELD", "SEVERAL_HOLDERS", "NO_WAITER", "NOT_WAITING", "MIN_HOLD"] {
            let metadata = HashMap::from([("obstacle".to_owned(), obstacle.to_owned())]);
            let details = ErrorDetails::with_error_info("TRANSFER_IMPOSSIBLE", "tenure", metadata);
            let failure = failure(&Status::with_error_details(Code::FailedPrecondition, "no", details));
            assert_eq!(failure.code, exit::REFUSED);
            assert!(advice.insert(failure.next.unwrap()), "{obstacle} has the advice of another");
        }
    }

    #[test]
    fn servers_that_cannot_answer_now_are_passed_over() {
        for reason in ["STORE_UNAVAILABLE", "LEASE_LOST", "DRAINING", "OVERLOADED"] {
            assert!(no_reply(&rejected(Code::Unavailable, reason)).unwrap().nothing_changed, "{reason}");
        }
        assert!(!no_reply(&Status::unavailable("reset")).unwrap().nothing_changed);
        assert_eq!(no_reply(&rejected(Code::FailedPrecondition, "NOT_HOLDER")), None);
    }

    #[test]
    fn a_status_without_words_still_says_something() {
        assert!(!failure(&Status::new(Code::Internal, "")).message.is_empty());
    }
}
