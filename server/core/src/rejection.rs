//! Rejections: the reasons why a request is not carried out.

use std::fmt::{self, Formatter};

use thiserror::Error;

use crate::end::EndReason;
use crate::group::Basis;
use crate::model::Revision;
use crate::names::Text;

/// The reason why a request is not carried out. The last five are not decided by the table, but by the server that has
/// it. Nothing was changed, except with [`OutcomeUnknown`](Self::OutcomeUnknown).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Rejection {
    /// No session of this id is open, and none is remembered.
    #[error("session \"{0}\" not found: it was never opened, or it ended long ago")]
    SessionNotFound(Text),
    /// The session has ended.
    #[error("session \"{session}\" has ended: {}", .reason.as_str())]
    SessionEnded {
        /// The id.
        session: Text,
        /// Why it ended.
        reason: EndReason,
    },
    /// The session was opened by another program, and has not ended yet.
    #[error(
        "session \"{0}\" is in use by another program: use another session id, or wait until that session has ended"
    )]
    SessionInUse(Text),
    /// The intended session has ended, and another of the same id is open.
    #[error("session \"{session}\" has ended: another session of this id was opened at revision {opened}")]
    SessionReopened {
        /// The id.
        session: Text,
        /// The revision that opened the session that is open.
        opened: Revision,
    },
    /// A cancel of the call was committed after a server had received the call.
    #[error("session \"{0}\" has cancelled this acquire: acquire again if still needed")]
    AcquireCancelled(Text),
    /// The session was opened by another identity.
    #[error("session \"{0}\" was opened by another identity")]
    SessionOfAnother(Text),
    /// The client has connected again since.
    #[error("client \"{0}\" has connected again since, with a later epoch: if it did not, another program uses its id")]
    ClientSuperseded(Text),
    /// The client has ended since its Hello arrived.
    #[error("client \"{0}\" has ended since: connect again")]
    ClientEnded(Text),
    /// The client connected as another identity before.
    #[error("client \"{0}\" has connected as another identity")]
    ClientOfAnother(Text),
    /// The session does not hold the lock, and did not with this token.
    #[error(fmt = not_holder)]
    NotHolder {
        /// The lock.
        name: Text,
        /// The session.
        session: Text,
        /// The session that holds it.
        holder: Option<Text>,
    },
    /// The session's hold with this token has ended.
    #[error("the hold of \"{name}\" by session \"{session}\" with token {token} has ended: {}", .reason.as_str())]
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
    #[error("session \"{session}\" holds \"{name}\", but not with token {token}")]
    TokenMismatch {
        /// The lock.
        name: Text,
        /// The session.
        session: Text,
        /// The given token.
        token: Revision,
    },
    /// No token as high as this one was ever issued.
    #[error("token {token} was never issued: the namespace is at revision {revision}")]
    TokenFromFuture {
        /// The given token.
        token: Revision,
        /// The namespace's revision.
        revision: Revision,
    },
    /// The limit that the caller expects is not the lock's, or the caller requests more permits than the lock has.
    #[error("lock \"{name}\" has a limit of {limit} permits, not {asked}")]
    LimitMismatch {
        /// The lock.
        name: Text,
        /// Its limit.
        limit: u32,
        /// The requested limit or number of permits.
        asked: u32,
    },
    /// Permits were requested without a limit, of a lock that has none.
    #[error("lock \"{0}\" has no limit: set limit, or have an operator configure one")]
    LimitUnknown(Text),
    /// The hold cannot be handed over.
    #[error("lock \"{name}\" cannot be handed over: {obstacle}")]
    TransferImpossible {
        /// The lock.
        name: Text,
        /// The obstacle.
        obstacle: Obstacle,
    },
    /// The holder has already been asked to hand over to another session.
    #[error("the holder of \"{name}\" with token {token} has already been asked to hand over to another session")]
    TransferPending {
        /// The lock.
        name: Text,
        /// The token of the hold.
        token: Revision,
    },
    /// The session has a claim to some, but not exactly these names, or in another mode.
    #[error("session \"{session}\" already has a claim to \"{name}\", with other names or in another mode")]
    ClaimOverlap {
        /// A name in both claims.
        name: Text,
        /// The session.
        session: Text,
    },
    /// The session does not lead the group, or not with this token.
    #[error(fmt = not_leader)]
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
    #[error(
        "group \"{group}\" has changed: its membership revision is {}, its config revision {}",
        .basis.membership,
        .basis.config
    )]
    StaleAssignment {
        /// The group.
        group: Text,
        /// The current revisions, which assignments must be computed from.
        basis: Basis,
    },
    /// A member of the group has no assignment.
    #[error("every member exactly once: {0} is missing")]
    MemberUnassigned(Revision),
    /// An assignment is for a number that no member of the group has.
    #[error("every member exactly once: {0} is not a member")]
    AssignedToStranger(Revision),
    /// The group's config is not the expected one.
    #[error(fmt = config_conflict)]
    ConfigConflict {
        /// The group.
        group: Text,
        /// The revision of the current config; 0 if there is none.
        revision: Revision,
    },
    /// The session is not a member of the group, and did not leave it recently.
    #[error("session \"{session}\" is not a member of group \"{group}\"")]
    NotMember {
        /// The group.
        group: Text,
        /// The session.
        session: Text,
    },
    /// The session is a member of the group already.
    #[error("session \"{session}\" is already a member of group \"{group}\"")]
    MembershipOverlap {
        /// The group.
        group: Text,
        /// The session.
        session: Text,
    },
    /// A limit on the state of a namespace is reached.
    #[error("{limit}: the limit of {bound} is reached")]
    LimitReached {
        /// The limited quantity.
        limit: &'static str,
        /// The bound.
        bound: usize,
    },
    /// It is not known whether the change was made, or may yet be.
    #[error("no reply from the database in time: it is not known whether the change was made")]
    OutcomeUnknown,
    /// The store cannot be reached. The reason is not for callers: it may show where the store is.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// The queue is full.
    #[error("server overloaded, retry later")]
    Overloaded,
    /// This server's lease has lapsed.
    #[error("this server's lease has expired: use another server")]
    LeaseLost,
    /// This server is shutting down.
    #[error("this server is shutting down")]
    Draining,
}

/// The reason why a hold cannot be handed over.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// The lock is not held, or not with that token.
    #[error("it is not held, or not with that token")]
    NotHeld,
    /// The lock has several holders, and no token selects one.
    #[error("it has several holders: set the token of one of them")]
    SeveralHolders,
    /// No waiter could hold it next.
    #[error("no waiter could hold it next")]
    NoWaiter,
    /// This session does not wait for it, or also waits for other locks that are not free.
    #[error("session \"{0}\" does not wait for it, or also waits for other locks that are not free")]
    NotWaiting(Text),
    /// The hold has a minimum.
    #[error("the hold has a min_hold")]
    MinHold,
}

fn not_holder(name: &Text, session: &Text, holder: &Option<Text>, formatter: &mut Formatter<'_>) -> fmt::Result {
    write!(formatter, "session \"{session}\" does not hold \"{name}\"; ")?;
    match holder {
        Some(holder) => write!(formatter, "session \"{holder}\" does"),
        None => formatter.write_str("it has no holder"),
    }
}

fn not_leader(
    group: &Text,
    session: &Text,
    token: &Revision,
    leader: &Option<Text>,
    formatter: &mut Formatter<'_>,
) -> fmt::Result {
    write!(formatter, "session \"{session}\" does not lead group \"{group}\" with token {token}; ")?;
    match leader {
        Some(leader) if leader == session => formatter.write_str("it leads with a later token"),
        Some(leader) => write!(formatter, "session \"{leader}\" leads it"),
        None => formatter.write_str("it has no leader"),
    }
}

fn config_conflict(group: &Text, revision: &Revision, formatter: &mut Formatter<'_>) -> fmt::Result {
    match revision {
        Revision(0) => write!(formatter, "group \"{group}\" has no config"),
        _ => write!(formatter, "the config of group \"{group}\" is at revision {revision}"),
    }
}
