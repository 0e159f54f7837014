//! Rejections: the reasons why a request is not carried out.

use std::fmt;

use crate::end::EndReason;
use crate::group::Basis;
use crate::model::Revision;
use crate::names::Text;

/// The reason why a request is not carried out. The last five are not decided by the table, but by the server that has
/// it. Nothing was changed, except with [`OutcomeUnknown`](Self::OutcomeUnknown).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// No session of this id is open, and none is remembered.
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
    /// The session was attached elsewhere meanwhile.
    SessionMoved {
        /// The id.
        session: Text,
    },
    /// The session was opened by another program, and has not ended yet.
    SessionInUse {
        /// The id.
        session: Text,
    },
    /// The intended session has ended, and another of the same id is open.
    SessionReopened {
        /// The id.
        session: Text,
        /// The revision that opened the session that is open.
        opened: Revision,
    },
    /// A cancel of the call was committed after a server had received the call.
    AcquireCancelled {
        /// The requesting session.
        session: Text,
    },
    /// The session was opened by another identity.
    SessionOfAnother {
        /// The id.
        session: Text,
    },
    /// Its client has reported a later attachment of the session.
    LateAttachment {
        /// The session's id.
        session: Text,
        /// The highest count that its client has reported.
        attachment: u64,
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
    /// The session holds the lock, but with another token.
    TokenMismatch {
        /// The lock.
        name: Text,
        /// The session.
        session: Text,
        /// The given token.
        token: Revision,
    },
    /// No token as high as this one was ever issued.
    TokenFromFuture {
        /// The given token.
        token: Revision,
        /// The namespace's revision.
        revision: Revision,
    },
    /// The limit that the caller expects is not the lock's, or the caller requests more permits than the lock has.
    LimitMismatch {
        /// The lock.
        name: Text,
        /// Its limit.
        limit: u32,
        /// The requested limit or number of permits.
        asked: u32,
    },
    /// Permits were requested without a limit, of a lock that has none.
    LimitUnknown {
        /// The lock.
        name: Text,
    },
    /// The hold cannot be handed over.
    TransferImpossible {
        /// The lock.
        name: Text,
        /// The obstacle.
        obstacle: Obstacle,
    },
    /// The holder has already been asked to hand over to another session.
    TransferPending {
        /// The lock.
        name: Text,
        /// The token of the hold.
        token: Revision,
    },
    /// The session has a claim to some, but not exactly these names, or in another mode.
    ClaimOverlap {
        /// A name in both claims.
        name: Text,
        /// The session.
        session: Text,
    },
    /// The session does not lead the group, or not with this token.
    NotLeader {
        /// The group.
        group: Text,
        /// The session.
        session: Text,
        /// The given token.
        token: Revision,
        /// The leader's session.
        leader: Option<Text>,
    },
    /// The group has changed since the assignments were computed.
    StaleAssignment {
        /// The group.
        group: Text,
        /// The current revisions, which assignments must be computed from.
        basis: Basis,
    },
    /// A member of the group has no assignment.
    MemberUnassigned {
        /// Its number.
        member: Revision,
    },
    /// An assignment is for a number that no member of the group has.
    AssignedToStranger {
        /// The number.
        member: Revision,
    },
    /// The group's config is not the expected one.
    ConfigConflict {
        /// The group.
        group: Text,
        /// The revision of the current config; 0 if there is none.
        revision: Revision,
    },
    /// The session is not a member of the group, and did not leave it recently.
    NotMember {
        /// The group.
        group: Text,
        /// The session.
        session: Text,
    },
    /// A limit on the state of a namespace is reached.
    LimitReached {
        /// The limited quantity.
        limit: &'static str,
        /// The bound.
        bound: usize,
    },
    /// It is not known whether the change was made, or may yet be.
    OutcomeUnknown,
    /// The store cannot be reached. The reason is not for callers: it may show where the store is.
    Unavailable(String),
    /// The queue is full.
    Overloaded,
    /// This server's lease has lapsed.
    LeaseLost,
    /// This server is shutting down.
    Draining,
}

/// The reason why a hold cannot be handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The lock is not held, or not with that token.
    NotHeld,
    /// The lock has several holders, and no token selects one.
    SeveralHolders,
    /// No waiter could hold it next.
    NoWaiter,
    /// This session does not wait for it, or also waits for other locks that are not free.
    NotWaiting(Text),
    /// The hold has a minimum.
    MinHold,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHeld => formatter.write_str("it is not held, or not with that token"),
            Self::SeveralHolders => formatter.write_str("it has several holders: set the token of one of them"),
            Self::NoWaiter => formatter.write_str("no waiter could hold it next"),
            Self::NotWaiting(session) => write!(
                formatter,
                "session \"{session}\" does not wait for it, or also waits for other locks that are not free"
            ),
            Self::MinHold => formatter.write_str("the hold has a min_hold"),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SessionNotFound { session } => {
                write!(formatter, "session \"{session}\" not found: it was never opened, or it ended long ago")
            }
            Self::SessionMoved { session } => {
                write!(formatter, "session \"{session}\" has been attached to another server")
            }
            Self::SessionInUse { session } => write!(
                formatter,
                "session \"{session}\" is in use by another program: use another session id, or wait until that session has ended"
            ),
            Self::SessionReopened { session, opened } => write!(
                formatter,
                "session \"{session}\" has ended: another session of this id was opened at revision {opened}"
            ),
            Self::AcquireCancelled { session } => {
                write!(formatter, "session \"{session}\" has cancelled this acquire: acquire again if still needed")
            }
            Self::SessionOfAnother { session } => {
                write!(formatter, "session \"{session}\" was opened by another identity")
            }
            Self::LateAttachment { session, attachment } => {
                write!(formatter, "session \"{session}\" has a later attachment: {attachment}")
            }
            Self::SessionEnded { session, reason } => {
                write!(formatter, "session \"{session}\" has ended: {}", reason.as_str())
            }
            Self::NotHolder { name, session, holder: Some(holder) } => {
                write!(formatter, "session \"{session}\" does not hold \"{name}\"; session \"{holder}\" does")
            }
            Self::NotHolder { name, session, holder: None } => {
                write!(formatter, "session \"{session}\" does not hold \"{name}\"; it has no holder")
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
                write!(formatter, "token {token} was never issued: the namespace is at revision {revision}")
            }
            Self::LimitMismatch { name, limit, asked } => {
                write!(formatter, "lock \"{name}\" has a limit of {limit} permits, not {asked}")
            }
            Self::LimitUnknown { name } => {
                write!(formatter, "lock \"{name}\" has no limit: set limit, or have an operator configure one")
            }
            Self::TransferImpossible { name, obstacle } => {
                write!(formatter, "lock \"{name}\" cannot be handed over: {obstacle}")
            }
            Self::TransferPending { name, token } => {
                write!(
                    formatter,
                    "the holder of \"{name}\" with token {token} has already been asked to hand over to another session"
                )
            }
            Self::ClaimOverlap { name, session } => {
                write!(
                    formatter,
                    "session \"{session}\" already has a claim to \"{name}\", with other names or in another mode"
                )
            }
            Self::NotLeader { group, session, token, leader } => {
                write!(formatter, "session \"{session}\" does not lead group \"{group}\" with token {token}; ")?;
                match leader {
                    Some(leader) if leader == session => formatter.write_str("it leads with a later token"),
                    Some(leader) => write!(formatter, "session \"{leader}\" leads it"),
                    None => formatter.write_str("it has no leader"),
                }
            }
            Self::StaleAssignment { group, basis: Basis { membership, config } } => write!(
                formatter,
                "group \"{group}\" has changed: its membership revision is {membership}, its config revision {config}"
            ),
            Self::MemberUnassigned { member } => write!(formatter, "every member exactly once: {member} is missing"),
            Self::AssignedToStranger { member } => {
                write!(formatter, "every member exactly once: {member} is not a member")
            }
            Self::ConfigConflict { group, revision: Revision(0) } => {
                write!(formatter, "group \"{group}\" has no config")
            }
            Self::ConfigConflict { group, revision } => {
                write!(formatter, "the config of group \"{group}\" is at revision {revision}")
            }
            Self::NotMember { group, session } => {
                write!(formatter, "session \"{session}\" is not a member of group \"{group}\"")
            }
            Self::LimitReached { limit, bound } => write!(formatter, "{limit}: the limit of {bound} is reached"),
            Self::OutcomeUnknown => {
                formatter.write_str("no reply from the database in time: it is not known whether the change was made")
            }
            Self::Unavailable(why) => write!(formatter, "the database cannot be reached: {why}"),
            Self::Overloaded => formatter.write_str("server overloaded, retry later"),
            Self::LeaseLost => formatter.write_str("this server's lease has expired: use another server"),
            Self::Draining => formatter.write_str("this server is shutting down"),
        }
    }
}
