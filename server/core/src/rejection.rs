//! Rejections: why a command changes nothing.

use std::fmt;

use crate::event::EndReason;
use crate::model::{Revision, Text};

/// Why a command changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// No session of this id is open, and nobody remembers one.
    SessionNotFound {
        /// The id.
        session: Text,
    },
    /// The session has ended.
    SessionEnded {
        /// The id.
        session: Text,
        /// Why it ended.
        reason: EndReason,
    },
    /// The session does not hold the lock, and did not with this token.
    NotHolder {
        /// The lock.
        name: Text,
        /// The session.
        session: Text,
        /// The session that holds it.
        holder: Option<Text>,
    },
    /// The session's hold with this token has ended.
    HoldEnded {
        /// The lock.
        name: Text,
        /// The session.
        session: Text,
        /// The token.
        token: Revision,
        /// Why it ended.
        reason: EndReason,
    },
    /// The session holds the lock, under another token.
    TokenMismatch {
        /// The lock.
        name: Text,
        /// The session.
        session: Text,
        /// The token that was given.
        token: Revision,
    },
    /// No token as high as this one was ever handed out.
    TokenFromFuture {
        /// The token that was given.
        token: Revision,
        /// The namespace's revision.
        revision: Revision,
    },
    /// The session has a claim to some, but not exactly these names.
    ClaimOverlap {
        /// A name that is in both.
        name: Text,
        /// The session.
        session: Text,
    },
}

impl fmt::Display for Rejection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SessionNotFound { session } => {
                write!(formatter, "no session \"{session}\" is open: it never was, or it ended long ago")
            }
            Self::SessionEnded { session, reason } => {
                write!(formatter, "session \"{session}\" has ended: {}", reason.as_str())
            }
            Self::NotHolder { name, session, holder: Some(holder) } => {
                write!(formatter, "session \"{session}\" does not hold \"{name}\"; session \"{holder}\" does")
            }
            Self::NotHolder { name, session, holder: None } => {
                write!(formatter, "session \"{session}\" does not hold \"{name}\"; nobody does")
            }
            Self::HoldEnded { name, session, token, reason } => {
                let reason = reason.as_str();
                write!(
                    formatter,
                    "the hold of \"{name}\" by session \"{session}\" with token {token} has ended: {reason}"
                )
            }
            Self::TokenMismatch { name, session, token } => {
                write!(formatter, "session \"{session}\" holds \"{name}\", but not with token {token}")
            }
            Self::TokenFromFuture { token, revision } => {
                write!(formatter, "token {token} was never handed out: the namespace is at revision {revision}")
            }
            Self::ClaimOverlap { name, session } => {
                write!(formatter, "session \"{session}\" already has a claim to \"{name}\" with other names than these")
            }
        }
    }
}
