//! Commands on a namespace, and their outcomes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::client::{Absence, Change, Hello};
use crate::encoding::{is_default, millis};
use crate::end::{EndReason, Eviction};
use crate::group::{GroupCommand, GroupOutcome};
use crate::model::{AskedMode, Claim, LockSettings, Metadata, Opening, Revision, ServerId, SessionSpec, no_labels};
use crate::names::{Names, Text};

/// The parameters of [`Command::Acquire`]: a plain call, which waits for the claim at the server that issues it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Acquire {
    /// The requesting session.
    pub session: Text,
    /// Opens the session with this if it is not open; otherwise sets its TTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Opening>,
    /// The session's home from now on.
    pub home: ServerId,
    /// The server's revision when it received the call. The call is rejected if its cancel was committed after that.
    pub received: Revision,
    /// The intended session, by the revision that opened it; the command then opens none. `None`: any session with
    /// this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<Revision>,
    /// The locks: at least one, sorted, without duplicates.
    pub names: Names,
    /// The mode in which to claim them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: AskedMode,
    /// Whether to queue if they are not free.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queue: bool,
    /// Waiters of higher priority are served first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// Arbitrary labels.
    #[serde(default = "no_labels", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
    /// The minimum hold; zero for none.
    #[serde(rename = "min_hold_ms", default, with = "millis", skip_serializing_if = "Duration::is_zero")]
    pub min_hold: Duration,
}

/// The initiator of a handoff.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Handoff {
    /// The holder itself, which has stopped its work: the handoff is immediate.
    ByHolder {
        /// Its session.
        session: Text,
    },
    /// An operator: the handoff takes place when the holder has confirmed.
    ByOperator {
        /// The operator and the reason.
        by: Eviction,
        /// How long the holder may keep the lock while it stops its work.
        #[serde(rename = "drain_ms", with = "millis")]
        drain: Duration,
    },
}

/// Limits on what an identity may have in a namespace at once, counted over the sessions that it opened. `None`: no
/// limit. Lowering a limit removes nothing that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Limits {
    /// The maximum number of open sessions.
    pub sessions: Option<u32>,
    /// The maximum number of claims, held or waiting; lingering ones do not count.
    pub claims: Option<u32>,
    /// The maximum number of waiting claims.
    pub waiters: Option<u32>,
    /// The maximum number of group memberships.
    pub memberships: Option<u32>,
}

/// A command on a namespace. `home` is always the server that issues it.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr, Deserialize, Serialize)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Opens a session, or moves the open one with this id to this home, with this TTL.
    OpenSession {
        /// The session's id.
        session: Text,
        /// The parameters for opening it. A session that is open keeps its owner and metadata.
        opening: Opening,
        /// Its home.
        home: ServerId,
    },
    /// Makes this home the home of an open session.
    MoveSession {
        /// The session's id.
        session: Text,
        /// Its home.
        home: ServerId,
    },
    /// Ends a session at a caller's request. Idempotent.
    CloseSession {
        /// The session's id.
        session: Text,
    },
    /// Ends a session at its home's request. Has no effect unless that is still the session's home.
    EndSession {
        /// The session's id.
        session: Text,
        /// The revision that opened it.
        opened: Revision,
        /// The server that issues the command.
        home: ServerId,
        /// The reason: expired or disconnected.
        reason: EndReason,
    },
    /// Requests locks.
    Acquire(Acquire),
    /// Cancels an Acquire, whether waiting or granted, and causes the rejection of every Acquire of these locks that a
    /// server received before. Idempotent.
    CancelAcquire {
        /// The session that requested the locks.
        session: Text,
        /// The requested locks, sorted.
        names: Names,
    },
    /// Ends a wait that has timed out. Has no effect if the claim was granted meanwhile, or is awaited at another
    /// server by now.
    EndWait {
        /// The claim.
        claim: Revision,
        /// The server that issues the command.
        home: ServerId,
    },
    /// Ends a claim, waiting or granted, that no caller attends to any more. Has no effect if it is awaited at another
    /// server by now.
    Abandon {
        /// The claim.
        claim: Revision,
        /// The server that issues the command.
        home: ServerId,
    },
    /// Records that the session is about to learn that it holds this claim, which a call to another server may have
    /// failed to return: from then on that server does not cancel the grant. Has no effect unless the claim is held.
    Acknowledge {
        /// The claim.
        claim: Revision,
    },
    /// Releases a hold.
    Release {
        /// The session that holds it.
        session: Text,
        /// One of its names.
        name: Text,
        /// Its fencing token.
        token: Revision,
    },
    /// Ends a lingering claim whose minimum hold has passed. Has no effect unless this server counts it.
    EndLingering {
        /// The claim.
        claim: Revision,
        /// The server that counts the minimum hold.
        home: ServerId,
    },
    /// Ends the holds of a lock, lingering ones included, without the holders' consent.
    Evict {
        /// The lock.
        name: Text,
        /// Restricts the eviction to the hold with this token.
        token: Option<Revision>,
        /// The operator and the reason.
        eviction: Eviction,
    },
    /// Replaces the labels of a hold.
    UpdateClaim {
        /// The session that holds it.
        session: Text,
        /// One of its names.
        name: Text,
        /// Its fencing token.
        token: Revision,
        /// The new labels.
        metadata: Metadata,
    },
    /// Hands a hold over to a waiter, or asks the holder to do so.
    Transfer {
        /// One of the hold's names.
        name: Text,
        /// Its fencing token. `None`: the only hold of the lock.
        token: Option<Revision>,
        /// The session that is to hold next, which must be waiting. `None`: the first waiter.
        to: Option<Text>,
        /// The initiator.
        by: Handoff,
    },
    /// Preempts the holder for a waiter that has settled. Has no effect unless the lock allows it, the waiter is next
    /// and has a higher priority than the holder, and this is its home.
    Preempt {
        /// The waiter's claim.
        claim: Revision,
        /// The server that issues the command.
        home: ServerId,
    },
    /// Cancels a transfer that the holder has not confirmed in time. Has no effect unless it is still pending, and this
    /// is the holder's home.
    EndTransfer {
        /// The holder's claim.
        claim: Revision,
        /// The transfer.
        started: Revision,
        /// The server that issues the command.
        home: ServerId,
    },
    /// Replaces the settings of a lock. Ends waiters that request more permits than the new limit.
    ConfigureLock {
        /// The lock.
        name: Text,
        /// The new settings.
        settings: LockSettings,
        /// The operator and the reason.
        by: Eviction,
    },
    /// A command on a group.
    Group(GroupCommand),
    /// Connects a client, and reconciles what it has with what it wants.
    Connect(Hello),
    /// Changes what a client has, in this order. Rejected if its client has connected with a later epoch since, or to
    /// another server, and if the database has lost history since: then the client must connect again.
    Change {
        /// The client.
        client: Text,
        /// The epoch of its stream.
        epoch: u64,
        /// The server that issues the command.
        home: ServerId,
        /// The revision at which its stream was connected.
        connected: Revision,
        /// The changes.
        changes: Vec<Change>,
    },
    /// Ends what a disconnected client does not know that it has: its waits, and the claims that were granted since it
    /// disconnected. Has no effect if it has connected again.
    AbandonClient {
        /// The client.
        client: Text,
        /// The epoch of the stream that broke.
        epoch: u64,
        /// The server that issues the command.
        home: ServerId,
        /// The revision at which it disconnected.
        since: Revision,
    },
    /// Ends a client that is disconnected and has nothing. Has no effect if it has connected again.
    EndClient {
        /// The client.
        client: Text,
        /// The epoch of the stream that broke.
        epoch: u64,
        /// The server that issues the command.
        home: ServerId,
    },
    /// Takes over everything of which a dead server was the home. Has no effect if there is nothing to adopt.
    Adopt {
        /// The dead server.
        dead: ServerId,
        /// The new home.
        by: ServerId,
    },
}

impl Command {
    /// Makes this a request of `identity`, if there is one, subject to `limits`.
    #[must_use]
    pub fn by(mut self, identity: Option<&Text>, limits: Limits) -> Request {
        let actor = identity.map(|identity| Actor { identity: identity.clone(), limits });
        if let Some(identity) = identity {
            self.set_identity(identity);
        }
        Request { actor, command: self }
    }

    /// The session that issues the command, if any.
    #[must_use]
    pub fn session(&self) -> Option<&Text> {
        match self {
            Self::OpenSession { session, .. }
            | Self::MoveSession { session, .. }
            | Self::CloseSession { session, .. }
            | Self::Acquire(Acquire { session, .. })
            | Self::CancelAcquire { session, .. }
            | Self::Release { session, .. }
            | Self::UpdateClaim { session, .. }
            | Self::Transfer { by: Handoff::ByHolder { session }, .. } => Some(session),
            Self::Group(command) => command.session(),
            Self::Transfer { by: Handoff::ByOperator { .. }, .. }
            | Self::EndSession { .. }
            | Self::EndWait { .. }
            | Self::Abandon { .. }
            | Self::Acknowledge { .. }
            | Self::EndLingering { .. }
            | Self::Evict { .. }
            | Self::Preempt { .. }
            | Self::EndTransfer { .. }
            | Self::ConfigureLock { .. }
            | Self::Connect(_)
            | Self::Change { .. }
            | Self::AbandonClient { .. }
            | Self::EndClient { .. }
            | Self::Adopt { .. } => None,
        }
    }

    fn set_identity(&mut self, identity: &Text) {
        let set = |opening: &mut Opening| opening.identity = Some(identity.clone());
        match self {
            Self::OpenSession { opening, .. }
            | Self::Acquire(Acquire { opening: Some(opening), .. })
            | Self::Group(GroupCommand::Join { opening: Some(opening), .. }) => set(opening),
            Self::Connect(hello) => hello.identity = Some(identity.clone()),
            _ => {}
        }
    }
}

/// A command and its actor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Request {
    /// The caller; `None`: the service itself, or a caller that need not authenticate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// The command.
    pub command: Command,
}

/// An authenticated caller. A command is rejected if it concerns the session of another identity, or would exceed the
/// actor's limits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Actor {
    /// Its identity.
    pub identity: Text,
    /// Its limits.
    pub limits: Limits,
}

impl From<Command> for Request {
    fn from(command: Command) -> Self {
        Self { actor: None, command }
    }
}

/// The maximum size of the claims that are copied into the outcome of opening a session, in bytes by
/// [`message_bytes`](crate::ClaimSpec::message_bytes).
pub const FEW_CLAIM_BYTES: usize = 4 * 1024;

/// The outcome of a command that was not rejected.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// The session is open.
    Open {
        /// The parameters that it was opened with, with later changes.
        spec: SessionSpec,
        /// The revision of the event that opened it.
        opened: Revision,
        /// Its claims, held and waiting, in the order of the requests. `None` if they exceed [`FEW_CLAIM_BYTES`]: many
        /// outcomes may exist at a time, so each must be small. The claims are in the table.
        claims: Option<Vec<Claim>>,
    },
    /// The claim is held.
    Held {
        /// The claim.
        claim: Claim,
        /// The session's TTL.
        ttl: Duration,
    },
    /// The claim waits.
    Waiting {
        /// The claim.
        claim: Claim,
        /// The claim that blocks it.
        blocker: Claim,
        /// The session's TTL.
        ttl: Duration,
    },
    /// The locks are not free, and the session has no claim to them.
    Busy {
        /// The claim that blocks the request.
        blocker: Claim,
        /// The session's TTL, if it is open.
        ttl: Option<Duration>,
        /// The revision that opened the session, if it is open.
        opened: Option<Revision>,
    },
    /// The outcome of a group command.
    Group(GroupOutcome),
    /// The evicted holds, as they were before.
    Evicted(Vec<Claim>),
    /// The holder has been asked to hand over.
    Transferring {
        /// The holder's claim, with the transfer.
        claim: Claim,
    },
    /// The hold has been handed over.
    Transferred {
        /// The hold that ended, as it was before.
        from: Claim,
        /// The hold that began.
        to: Claim,
    },
    /// The claim, with any update applied.
    Updated(Claim),
    /// The client has what it wants, except for this.
    Reconciled {
        /// The numbers of what it does not have, and why.
        absent: Vec<(u64, Absence)>,
        /// The revision from which the namespace goes on after the last loss of history, or 0.
        lost: Revision,
    },
    /// The command was carried out, and has no further result.
    Done,
}
