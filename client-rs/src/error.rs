//! Errors of calls.

use tenure_proto::v1;
use tonic::{Code, Status};

/// The result of a call of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. A lock held by another claim is no error: see [`Attempt::Busy`](crate::Attempt::Busy).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No server answered within the call's deadline. The request may or may not have taken effect.
    #[error("no server answered in time: {0}")]
    Unavailable(String),
    /// The server refused. Decide by [`reason`](Error::reason), never by the text. The facts in the metadata are those
    /// that [`v1::ErrorReason`] names for each reason. A refusal that does not come from the service itself, but for
    /// example from a proxy, has a code of gRPC and no reason.
    #[error("{0}")]
    Refused(Box<v1::Refusal>),
    /// The session or the hold has been lost.
    #[error("lost: {0}")]
    Lost(LostReason),
    /// An option is invalid. No request was sent.
    #[error("invalid {field}: {problem}")]
    Invalid {
        /// The option.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The client was closed.
    #[error("the client was closed")]
    Closed,
}

impl Error {
    /// Why the server refused, if it did. `Unspecified`: for a reason that this version does not know, or without one.
    pub fn reason(&self) -> Option<v1::ErrorReason> {
        if let Self::Refused(refusal) = self { Some(refusal.error_reason()) } else { None }
    }

    /// Whether the same call may succeed later, at this or another server.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::Refused(refusal) => refusal.is_transient(),
            _ => false,
        }
    }

    pub(crate) fn invalid(field: &'static str, problem: impl Into<String>) -> Self {
        Self::Invalid { field, problem: problem.into() }
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        let refusal = v1::Refusal::from(&status);
        match status.code() {
            // A passed deadline is no refusal, even if the server reports it.
            Code::DeadlineExceeded => Self::Unavailable(refusal.message),
            // A time-out of this library surfaces as cancelled, a broken transport as unavailable or unknown.
            Code::Unavailable | Code::Cancelled | Code::Unknown if refusal.reason.is_empty() => {
                Self::Unavailable(refusal.message)
            }
            _ => Self::Refused(Box::new(refusal)),
        }
    }
}

/// Why a session or a hold was lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LostReason {
    /// No renewal was answered in time: from now on the server may grant the locks to others.
    #[error("no renewal was answered in time")]
    Unrenewed,
    /// No renewal was sent, because the program made no [`Progress`](crate::Progress): from now on the server may grant
    /// the locks to others.
    #[error("not renewed, because the program made no progress")]
    Stalled,
    /// The server reported its end.
    #[error("{0}")]
    Ended(v1::EndedState),
    /// The server does not have it, or no longer.
    #[error("the server does not know of it any more")]
    Forgotten,
    /// Another program uses the client's id.
    #[error("another program uses the client's id")]
    InUse,
    /// This program released the hold.
    #[error("released by this program")]
    Released,
    /// This program closed the session or the client.
    #[error("closed by this program")]
    Closed,
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic_types::{ErrorDetails, StatusExt};

    use super::*;

    const DOMAIN: &str = "tenure";

    fn refused(code: Code, reason: &str, domain: &str) -> Error {
        let facts = HashMap::from([("session_id".to_owned(), "s".to_owned())]);
        Error::from(Status::with_error_details(code, "late", ErrorDetails::with_error_info(reason, domain, facts)))
    }

    #[test]
    fn reason_is_read_from_the_details() {
        let error = refused(Code::NotFound, "SESSION_NOT_FOUND", DOMAIN);
        assert_eq!(error.reason(), Some(v1::ErrorReason::SessionNotFound));
        let Error::Refused(refusal) = error else { panic!("not refused") };
        assert_eq!(refusal.metadata["session_id"], "s");
        assert_eq!(Code::from(refusal.code), Code::NotFound);
    }

    #[test]
    fn unknown_reason_is_kept_as_text() {
        let error = refused(Code::Aborted, "FULL_MOON", DOMAIN);
        assert_eq!(error.reason(), Some(v1::ErrorReason::Unspecified));
        assert!(matches!(&error, Error::Refused(refusal) if refusal.reason == "FULL_MOON"), "{error:?}");
    }

    #[test]
    fn deadline_that_the_server_reports_is_no_refusal() {
        let error = refused(Code::DeadlineExceeded, "DEADLINE_EXCEEDED", DOMAIN);
        assert!(matches!(&error, Error::Unavailable(problem) if problem == "late"), "{error:?}");
    }

    #[test]
    fn reason_of_another_domain_is_ignored() {
        let error = refused(Code::PermissionDenied, "DRAINING", "proxy.example");
        assert_eq!(error.reason(), Some(v1::ErrorReason::Unspecified));
        assert!(!error.is_transient());
        assert!(matches!(Error::from(Status::unavailable("down")), Error::Unavailable(_)));
    }

    #[test]
    fn database_outage_is_transient() {
        assert!(refused(Code::Unavailable, "STORE_UNAVAILABLE", DOMAIN).is_transient());
    }
}
