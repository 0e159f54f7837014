//! Errors of calls.

use std::collections::BTreeMap;
use std::fmt;

use tenure_proto::v1;
use tonic::Code;
use tonic_types::StatusExt;

use crate::model::EndReason;

/// The result of a call of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. A lock held by another claim is no error: see [`Attempt::Busy`](crate::Attempt::Busy).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No server answered within the call's deadline. The request may or may not have taken effect.
    #[error("no server answered in time: {0}")]
    Unavailable(String),
    /// The server refused. Decide by [`Refusal::reason`], never by the text.
    #[error("{0}")]
    Refused(Box<Refusal>),
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
    /// Why the server refused, if it did.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Refused(refusal) => Some(&refusal.reason),
            _ => None,
        }
    }

    /// Whether the same call may succeed later, at this or another server.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::Refused(refusal) => refusal.is_transient(),
            _ => false,
        }
    }

    /// Whether this is a refusal because the session is not open (any more).
    pub(crate) fn is_session_gone(&self) -> bool {
        matches!(self.reason(), Some(Reason::SessionNotFound | Reason::SessionEnded))
    }

    /// Whether the server could not authenticate this client.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        self.reason() == Some(&Reason::Unauthenticated)
    }

    pub(crate) fn invalid(field: &'static str, problem: impl Into<String>) -> Self {
        Self::Invalid { field, problem: problem.into() }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<tonic::Status> for Error {
    fn from(status: tonic::Status) -> Self {
        let message = status.message().to_owned();
        let info = status.get_details_error_info().filter(|info| info.domain == DOMAIN);
        let (reason, metadata) = match (status.code(), info) {
            // A passed deadline is no refusal, even if the server reports it.
            (Code::DeadlineExceeded, _) => return Self::Unavailable(message),
            (_, Some(info)) => (Reason::parse(&info.reason), info.metadata.into_iter().collect()),
            // A time-out of this library surfaces as cancelled, a broken transport as unavailable or unknown.
            (Code::Unavailable | Code::Cancelled | Code::Unknown, None) => return Self::Unavailable(message),
            (code, None) => (Reason::Other(format!("{code:?}")), BTreeMap::new()),
        };
        Refusal { reason, message, metadata }.into()
    }
}

const DOMAIN: &str = "tenure";

/// The refusal of a call by a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// What is wrong, for people.
    pub message: String,
    /// The facts, by the names that the contract's `ErrorReason` gives for each reason: `"field"`, `"bound"`,
    /// `"session_id"`, `"holder"`, `"token"`, ...
    pub metadata: BTreeMap<String, String>,
}

impl Refusal {
    /// One of the facts.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.metadata.get(name).map(String::as_str)
    }

    /// Why the session or hold ended, if that is why this was refused.
    #[must_use]
    pub fn end_reason(&self) -> Option<EndReason> {
        self.fact("end_reason").map(EndReason::parse)
    }

    /// Of a claim that ended while it waited.
    pub(crate) fn of_waiter(session_id: &str, reason: EndReason) -> Self {
        let facts = [("session_id", session_id), ("end_reason", reason.as_str())];
        let metadata = facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { reason: Reason::ClaimEnded, message: format!("the claim ended while it waited: {reason}"), metadata }
    }

    /// Whether the same call may succeed later, at this or another server.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self.reason,
            Reason::StoreUnavailable
                | Reason::OutcomeUnknown
                | Reason::LeaseLost
                | Reason::Draining
                | Reason::Overloaded
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            write!(formatter, "{:?}", self.reason)
        } else {
            formatter.write_str(&self.message)
        }
    }
}

impl From<v1::Refusal> for Refusal {
    fn from(refusal: v1::Refusal) -> Self {
        Self { reason: Reason::parse(&refusal.reason), message: refusal.message, metadata: refusal.metadata }
    }
}

/// Why a server refused: the contract's `ErrorReason`.
#[derive(Clone, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Reason {
    /// A field is out of its bounds. Facts: `field`, `bound`.
    InvalidField,
    /// No session of this id is open. Facts: `session_id`.
    SessionNotFound,
    /// The session has ended. Facts: `session_id`, `end_reason`.
    SessionEnded,
    /// The session does not hold the lock. Facts: `name`, `session_id`, `holder`.
    NotHolder,
    /// The hold with this token has ended. Facts: `name`, `session_id`, `token`, `end_reason`.
    HoldEnded,
    /// The session holds the lock under another token. Facts: `name`, `session_id`, `token`.
    TokenMismatch,
    /// The session has a claim that shares some, but not all, names with the request, or is of another mode. Facts:
    /// `name`, `session_id`.
    ClaimOverlap,
    /// The claim ended while it waited. Facts: `session_id`, `end_reason`.
    ClaimEnded,
    /// The database cannot be reached, so nothing was changed.
    StoreUnavailable,
    /// The server's lease has expired.
    LeaseLost,
    /// The server is shutting down.
    Draining,
    /// A limit of the server is reached. Facts: `limit`, `bound`.
    LimitReached,
    /// The session is not attached to the client's stream. Facts: `session_id`.
    NotAttached,
    /// The database did not answer in time, so it is not known whether the change was made.
    OutcomeUnknown,
    /// The requested limit is not the lock's, or more permits were requested than the limit. Facts: `name`, `limit`,
    /// `asked`.
    LimitMismatch,
    /// Permits were requested without a limit, of a lock that has none. Facts: `name`.
    LimitUnknown,
    /// The hold cannot be handed over. Facts: `name`, `obstacle`.
    TransferImpossible,
    /// The holder has already been asked to hand over to another session. Facts: `name`, `token`.
    TransferPending,
    /// The holder did not hand over in time. Facts: `name`, `token`.
    TransferNotConfirmed,
    /// The session does not lead the group, or not with this token. Facts: `group`, `session_id`, `token`, `leader`.
    NotLeader,
    /// The group has changed since the assignments were computed. Facts: `group`, `membership_revision`, `config_revision`.
    StaleAssignment,
    /// The group's config is not the expected one. Facts: `group`, `config_revision`.
    ConfigConflict,
    /// The session is no member of the group. Facts: `group`, `session_id`.
    NotMember,
    /// The server is overloaded, so nothing was changed.
    Overloaded,
    /// The session was attached by a later request. Facts: `session_id`, `attachment`.
    LateAttachment,
    /// The server could not authenticate this client. Facts: `rule`.
    Unauthenticated,
    /// The client lacks the permission. Facts: `rule`; of the policy also `verb`, `name`, `namespace`, of another
    /// caller's session `session_id`.
    PermissionDenied,
    /// Another program has opened the session, and it has not ended yet. Facts: `session_id`.
    SessionInUse,
    /// A cancel has overtaken the call. Facts: `session_id`.
    AcquireCancelled,
    /// The session has ended, and another of its id is open. Facts: `session_id`, `opened_revision`.
    SessionReopened,
    /// Another program uses this client's id. Facts: `client_id`.
    ClientSuperseded,
    /// The session is a member of the group already. Facts: `group`, `session_id`.
    MembershipOverlap,
    /// A reason that this version does not know, or a gRPC code without a reason.
    #[strum(default)]
    Other(String),
}

impl Reason {
    /// Parses a name without the prefix of the contract's enum.
    fn parse(reason: &str) -> Self {
        reason.parse().unwrap_or_else(|_| Self::Other(reason.to_owned()))
    }
}

/// Why a session or a hold was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostReason {
    /// No renewal was answered in time: from now on the server may grant the locks to others.
    Unrenewed,
    /// No renewal was sent, because the program made no [`Progress`](crate::Progress): from now on the server may grant
    /// the locks to others.
    Stalled,
    /// The server reported its end.
    Ended {
        /// Why.
        reason: EndReason,
        /// The operator who ended it, if one did.
        operator: Option<String>,
        /// The operator's note.
        note: Option<String>,
    },
    /// The server does not have it, or no longer.
    Forgotten,
    /// Another program uses the client's id.
    InUse,
    /// This program released the hold.
    Released,
    /// This program closed the session or the client.
    Closed,
}

impl fmt::Display for LostReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unrenewed => formatter.write_str("no renewal was answered in time"),
            Self::Stalled => formatter.write_str("not renewed, because the program made no progress"),
            Self::Ended { reason, operator: Some(operator), note } => {
                write!(formatter, "{reason} by {operator}")?;
                note.as_ref().map_or(Ok(()), |note| write!(formatter, " ({note})"))
            }
            Self::Ended { reason, operator: None, .. } => write!(formatter, "{reason}"),
            Self::Forgotten => formatter.write_str("the server does not know of it any more"),
            Self::InUse => formatter.write_str("another program uses the client's id"),
            Self::Released => formatter.write_str("released by this program"),
            Self::Closed => formatter.write_str("closed by this program"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic::Status;
    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn reason_is_read_from_the_details() {
        let facts = HashMap::from([("session_id".to_owned(), "s".to_owned())]);
        let details = ErrorDetails::with_error_info("SESSION_NOT_FOUND", "tenure", facts);
        let error = Error::from(Status::with_error_details(Code::NotFound, "whatever", details));
        assert_eq!(error.reason(), Some(&Reason::SessionNotFound));
        let Error::Refused(refusal) = error else { panic!("not refused") };
        assert_eq!(refusal.fact("session_id"), Some("s"));
    }

    #[test]
    fn unknown_reason_is_kept_as_text() {
        let details = ErrorDetails::with_error_info("FULL_MOON", "tenure", HashMap::new());
        let error = Error::from(Status::with_error_details(Code::Aborted, "", details));
        assert_eq!(error.reason(), Some(&Reason::Other("FULL_MOON".to_owned())));
    }

    #[test]
    fn reasons_of_the_contract_are_known() {
        for reason in (1..1_000).filter_map(|number| v1::ErrorReason::try_from(number).ok()) {
            let name = reason.as_str_name().trim_start_matches("ERROR_REASON_");
            let is_known = !matches!(Reason::parse(name), Reason::Other(_));
            assert_eq!(is_known, reason != v1::ErrorReason::DeadlineExceeded, "{name}");
        }
    }

    #[test]
    fn deadline_that_the_server_reports_is_no_refusal() {
        let details = ErrorDetails::with_error_info("DEADLINE_EXCEEDED", "tenure", HashMap::new());
        let error = Error::from(Status::with_error_details(Code::DeadlineExceeded, "late", details));
        assert!(matches!(&error, Error::Unavailable(problem) if problem == "late"), "{error:?}");
    }

    #[test]
    fn reason_of_another_domain_is_ignored() {
        let details = ErrorDetails::with_error_info("DRAINING", "proxy.example", HashMap::new());
        let error = Error::from(Status::with_error_details(Code::PermissionDenied, "no", details));
        assert_eq!(error.reason(), Some(&Reason::Other("PermissionDenied".to_owned())));
        assert!(matches!(Error::from(Status::unavailable("down")), Error::Unavailable(_)));
    }

    #[test]
    fn database_outage_is_transient() {
        let refusal = Refusal::from(v1::Refusal { reason: "STORE_UNAVAILABLE".into(), ..Default::default() });
        assert!(Error::from(refusal).is_transient());
    }
}
