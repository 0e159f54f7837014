//! Converts rejections by the service into failures with advice.

use tenure_proto::v1::Refusal;
use tonic::{Code, Status};

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
/// The advice for an unexpected rejection.
const UNEXPECTED: &str = "if it happens again, see the server's log";

/// Returns `Some` if the status is not a rejection, but comes from a server that cannot reply now.
pub fn no_reply(status: &Status) -> Option<NoReply> {
    let (why, nothing_changed) = match (Refusal::from(status).reason.as_str(), status.code()) {
        ("STORE_UNAVAILABLE", _) => ("its database cannot be reached".to_owned(), true),
        ("LEASE_LOST", _) => ("its lease has lapsed".to_owned(), true),
        ("DRAINING", _) => ("it is shutting down".to_owned(), true),
        ("OVERLOADED", _) => ("it is overloaded".to_owned(), true),
        // A connection that breaks during a response yields the code unknown.
        (_, Code::Unavailable | Code::Unknown) => (format!("the connection broke: {}", status.message()), false),
        (_, Code::DeadlineExceeded | Code::Cancelled) => ("no reply in time".to_owned(), false),
        _ => return None,
    };
    Some(NoReply { why, nothing_changed })
}

/// Converts a rejection into a failure.
pub fn failure(status: &Status) -> Failure {
    refused(&Refusal::from(status))
}

/// Converts a rejection that the client library returned into a failure.
pub fn refused(refusal: &Refusal) -> Failure {
    if refusal.reason.is_empty() {
        return by_code(Code::from(refusal.code), &refusal.message);
    }
    let failure = by_reason(refusal.reason.clone(), &refusal.message);
    match refusal.metadata.get("obstacle").and_then(|obstacle| transfer_advice(obstacle)) {
        Some(next) => failure.next(next),
        None => failure,
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
fn by_reason(reason: String, message: &str) -> Failure {
    let code = match reason.as_str() {
        "INVALID_FIELD" => exit::USAGE,
        "SESSION_IN_USE" | "TRANSFER_NOT_CONFIRMED" | "CONFIG_CONFLICT" => exit::CONFLICT,
        "STORE_UNAVAILABLE" | "LEASE_LOST" | "DRAINING" | "OVERLOADED" | "LIMIT_REACHED" | "DEADLINE_EXCEEDED" => {
            exit::UNAVAILABLE
        }
        _ => exit::REFUSED,
    };
    Failure { code, next: advice(&reason).map(str::to_owned), reason: Some(reason), message: sentence(message) }
}

/// The advice for a reason. An invalid field needs none: the message has its bounds.
fn advice(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "INVALID_FIELD" => return None,
        "SESSION_NOT_FOUND" | "SESSION_ENDED" => {
            "list open sessions with tenure sessions, or open this one: tenure acquire NAME --session ID --ttl 1m"
        }
        "UNAUTHENTICATED" => "authenticate with --token-file, or --client-cert and --client-key: see tenure --help",
        "PERMISSION_DENIED" => "ask the operator to change the server's policy",
        "NOT_HOLDER" => "see the holder: tenure get NAME",
        "HOLD_ENDED" => {
            "work under that hold may have overlapped with the next holder's: check it; see tenure get NAME"
        }
        "TOKEN_MISMATCH" => "see the token of the hold: tenure get NAME",
        "CLAIM_OVERLAP" => "use another session, or release this one's claims: tenure sessions ID",
        "SESSION_IN_USE" => "use another id, or see the session: tenure sessions ID; it ends with its program",
        "CLAIM_ENDED" => "acquire again: the position in the queue is lost",
        "LIMIT_MISMATCH" => "see the limit: tenure get NAME; an operator sets it: tenure set NAME --limit N",
        "LIMIT_UNKNOWN" => "pass --limit N, or set it for all callers: tenure set NAME --limit N",
        "TRANSFER_IMPOSSIBLE" => "see the holder and the waiters: tenure get NAME",
        "TRANSFER_PENDING" => "see the pending transfer: tenure get NAME; retry when it has ended (tenure watch NAME)",
        "TRANSFER_NOT_CONFIRMED" => {
            "see the holder: tenure get NAME; allow more time with --drain, or evict it: tenure evict NAME"
        }
        "NOT_LEADER" | "NOT_MEMBER" | "STALE_ASSIGNMENT" => "see the current group: tenure group get NAME",
        "CONFIG_CONFLICT" => "see the config and its revision: tenure group get NAME",
        "LIMIT_REACHED" => "retry later, or raise the server's limit",
        "DEADLINE_EXCEEDED" => UNKNOWN,
        "STORE_UNAVAILABLE" | "LEASE_LOST" | "DRAINING" | "OVERLOADED" => "retry, or diagnose with tenure doctor",
        _ => UNEXPECTED,
    })
}

/// A rejection that did not come from the service itself: from an intermediary, or another program.
fn by_code(code: Code, message: &str) -> Failure {
    let (code, next) = match code {
        Code::Unimplemented => {
            (exit::REFUSED, "is this Tenure's gRPC port (7420 by default), and is the server new enough?")
        }
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown => (exit::UNAVAILABLE, UNKNOWN),
        Code::InvalidArgument => (exit::USAGE, "see tenure help"),
        Code::Unauthenticated | Code::PermissionDenied => (exit::REFUSED, "ask the operator for access"),
        _ => (exit::REFUSED, UNEXPECTED),
    };
    Failure::new(code, sentence(message)).next(next)
}

/// A server's message without a full stop.
fn sentence(message: &str) -> String {
    match message.trim().trim_end_matches('.') {
        "" => "the server gave no reason".to_owned(),
        message => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tenure_client::Error;
    use tonic_types::{ErrorDetails, StatusExt};

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
    fn status_without_an_error_reason_is_the_same_failure_with_and_without_the_library() {
        for code in (0_i32..=16).map(Code::from) {
            let status = Status::new(code, "no.");
            if let Error::Refused(refusal) = Error::from(status.clone()) {
                assert_eq!(refused(&refusal), failure(&status), "{code:?}");
            }
        }
        let Error::Refused(refusal) = Error::from(Status::unimplemented("")) else { panic!("not refused") };
        assert_eq!(refused(&refusal).reason, None);
    }

    #[test]
    fn a_status_without_words_still_says_something() {
        assert!(!failure(&Status::new(Code::Internal, "")).message.is_empty());
    }
}
