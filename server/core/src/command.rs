//! Commands: what is asked, and what comes of it.

use std::time::Duration;

use crate::end::{EndReason, Eviction};
use crate::group::{GroupCommand, GroupOutcome};
use crate::model::{Attached, Claim, LockSettings, Metadata, Mode, Opening, Revision, ServerId, SessionSpec};
use crate::names::{Names, Text};

/// By what an Acquire came to the server that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A plain call, which waits for the claim there.
    Call {
        /// The revision that the server was at when it received the call. A cancel that was committed after it refuses it.
        received: Revision,
    },
    /// A client's stream.
    Stream {
        /// If the session was attached to it: what was known of that then. The Acquire is refused if that has changed, or another
        /// server is the home by now: it is late, and its client may be elsewhere.
        attached: Option<Attached>,
    },
}

impl Default for Origin {
    /// A stream that the session is not attached to.
    fn default() -> Self {
        Self::Stream { attached: None }
    }
}

/// The mode that an Acquire asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskedMode {
    /// Shared with nobody.
    #[default]
    Exclusive,
    /// Shared with other shared claims.
    Shared,
    /// So many permits of each lock.
    Permits {
        /// How many; at least 1.
        permits: u32,
        /// The limit that the caller knows: it must be the lock's. `None`: whatever the lock's is.
        limit: Option<u32>,
    },
}

impl AskedMode {
    /// Whether a claim of this mode is what was asked for.
    pub(crate) fn is(self, mode: Mode) -> bool {
        match (self, mode) {
            (Self::Exclusive, Mode::Exclusive) | (Self::Shared, Mode::Shared) => true,
            (Self::Permits { permits, .. }, Mode::Permits { permits: claimed, .. }) => permits == claimed,
            _ => false,
        }
    }
}

/// Who tells a holder to hand over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handoff {
    /// The holder itself, which has stopped its work: at once.
    ByHolder {
        /// Its session.
        session: Text,
    },
    /// An operator: when the holder has confirmed.
    ByOperator {
        /// Who, and why.
        by: Eviction,
        /// For how long the holder may go on, to stop its work.
        drain: Duration,
    },
}

/// How much an identity may have in a namespace at once: in sessions that were opened by it. `None`: any number. What is there already
/// stays, however low its limit is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How many sessions may be open.
    pub sessions: Option<u32>,
    /// How many claims there may be, held or waiting; without those that linger.
    pub claims: Option<u32>,
    /// How many of those may wait.
    pub waiters: Option<u32>,
    /// How many memberships in groups.
    pub memberships: Option<u32>,
}

impl Limits {
    /// As much as is asked for.
    pub const NONE: Self = Self { sessions: None, claims: None, waiters: None, memberships: None };
}

/// What can be asked of a namespace. `home` is always the server that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens a session, or attaches the open one of this id to this home with this TTL and disconnect grace.
    OpenSession {
        /// The session's id.
        session: Text,
        /// What to open it with. Owner and metadata of a session that is open stay.
        opening: Opening,
        /// Its home.
        home: ServerId,
        /// Its client's count of its attachments, this one included; 0: it does not count them. One that is smaller than what the
        /// session has seen is late: its client has turned to another server since.
        attachment: u64,
        /// The program that opens it. `None`: it is not compared.
        client: Option<Text>,
    },
    /// Makes this home the home of an open session.
    AttachSession {
        /// The session's id.
        session: Text,
        /// Its home.
        home: ServerId,
        /// As of [`Command::OpenSession`].
        attachment: u64,
        /// As of [`Command::OpenSession`].
        client: Option<Text>,
    },
    /// Ends a session because its client says so. Repeating it is no error.
    CloseSession {
        /// The session's id.
        session: Text,
        /// The program that closes it: a session that another one has opened stays open. `None`: it is not compared.
        client: Option<Text>,
    },
    /// Ends a session because its home says so. Does nothing unless that is still the session's home.
    EndSession {
        /// The session's id.
        session: Text,
        /// The revision that opened it.
        opened: Revision,
        /// The home that says so.
        home: ServerId,
        /// Why: expired or disconnected.
        reason: EndReason,
    },
    /// Asks for locks.
    Acquire {
        /// The session that asks.
        session: Text,
        /// Opens the session with this if it is not open, and sets its TTL and disconnect grace if it is.
        opening: Option<Opening>,
        /// The session's home from now on.
        home: ServerId,
        /// By what it came there.
        origin: Origin,
        /// The session that is meant, by the revision that opened it: it is not opened. `None`: whichever has the id.
        opened: Option<Revision>,
        /// The locks: at least one, sorted, no name twice.
        names: Names,
        /// With whom they may be shared.
        mode: AskedMode,
        /// Whether to join the queue if they are not free.
        queue: bool,
        /// Higher goes first among waiters.
        priority: i32,
        /// Free labels.
        metadata: Metadata,
        /// The minimum hold; zero for none.
        min_hold: Duration,
    },
    /// Gives up an Acquire, whether it waits or was granted. Repeating it is no error.
    CancelAcquire {
        /// The session that asked.
        session: Text,
        /// If it came by a stream that the session was attached to: what was known of that then. It is refused if that has
        /// changed: it is late. `None`: it came by a plain call, and refuses every call for these locks that a server received before.
        attached: Option<Attached>,
        /// The locks it asked for, sorted.
        names: Names,
    },
    /// Ends a wait that has lasted long enough. Does nothing if the claim was granted meanwhile, or is awaited at another server by now.
    EndWait {
        /// The claim.
        claim: Revision,
        /// The home that says so.
        home: ServerId,
    },
    /// Ends a claim that nobody attends to any more, waiting or granted. Does nothing if it is awaited at another server by now.
    Abandon {
        /// The claim.
        claim: Revision,
        /// The server that says so.
        home: ServerId,
    },
    /// The session is about to be shown that it holds this claim, which a call to another server may have failed to return: from then
    /// on that server does not cancel the grant. Does nothing unless the claim is held.
    Acknowledge {
        /// The claim.
        claim: Revision,
    },
    /// Gives a hold back.
    Release {
        /// The session that holds it.
        session: Text,
        /// One of its names.
        name: Text,
        /// Its fencing token.
        token: Revision,
    },
    /// Ends lingering: the minimum hold has passed. Does nothing unless this server counts it.
    EndLingering {
        /// The claim.
        claim: Revision,
        /// The server that counts.
        home: ServerId,
    },
    /// Ends a hold against its holder's will, and lingering as well.
    Evict {
        /// The lock.
        name: Text,
        /// Only the hold with this token.
        token: Option<Revision>,
        /// Who evicts, and why.
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
        /// The labels from now on.
        metadata: Metadata,
    },
    /// Hands a hold to a waiter, or asks the holder to do so.
    Transfer {
        /// One of the hold's names.
        name: Text,
        /// Its fencing token. `None`: whoever holds the lock alone.
        token: Option<Revision>,
        /// The session that is to hold next, which must be waiting. `None`: whoever is first.
        to: Option<Text>,
        /// Who says so.
        by: Handoff,
    },
    /// A waiter has waited long enough to preempt. Does nothing unless the lock allows it, it is next, it has a higher priority
    /// than the holder, and this is its home.
    Preempt {
        /// The waiter's claim.
        claim: Revision,
        /// The home that says so.
        home: ServerId,
    },
    /// The holder has not confirmed in time: the transfer is off. Does nothing unless it is still that transfer, and this
    /// is the holder's home.
    EndTransfer {
        /// The holder's claim.
        claim: Revision,
        /// The transfer.
        started: Revision,
        /// The home that says so.
        home: ServerId,
    },
    /// Sets what claims to a lock have to go by, in place of what was set before. Waiters that ask for more permits than
    /// there are then, are ended.
    ConfigureLock {
        /// The lock.
        name: Text,
        /// What holds from now on.
        settings: LockSettings,
        /// Who says so, and why.
        by: Eviction,
    },
    /// Does something to a group.
    Group(GroupCommand),
    /// Takes over what a dead server was the home of. Does nothing if there is nothing.
    Adopt {
        /// The server that is dead.
        dead: ServerId,
        /// The new home.
        by: ServerId,
    },
}

impl Command {
    /// The same as a request of this identity, if there is one, which may have so much.
    #[must_use]
    pub fn by(mut self, identity: Option<&Text>, limits: Limits) -> Request {
        let actor = identity.map(|identity| Actor { identity: identity.clone(), limits });
        if let (Some(opening), Some(identity)) = (self.opening_mut(), identity) {
            opening.identity = Some(identity.clone());
        }
        Request { actor, command: self }
    }

    /// The session that asks, if it is one.
    #[must_use]
    pub fn session(&self) -> Option<&Text> {
        match self {
            Self::OpenSession { session, .. }
            | Self::AttachSession { session, .. }
            | Self::CloseSession { session, .. }
            | Self::Acquire { session, .. }
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
            | Self::Adopt { .. } => None,
        }
    }

    fn opening_mut(&mut self) -> Option<&mut Opening> {
        match self {
            Self::OpenSession { opening, .. } => Some(opening),
            Self::Acquire { opening, .. } | Self::Group(GroupCommand::Join { opening, .. }) => opening.as_mut(),
            _ => None,
        }
    }
}

/// A command, and who asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asks; `None`: the service itself, or somebody who has to prove nothing.
    pub actor: Option<Actor>,
    /// What is asked for.
    pub command: Command,
}

/// Somebody who has proved who it is: a command is rejected that is about a session of somebody else, or gives the actor more than it
/// may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Who it is.
    pub identity: Text,
    /// What it may have.
    pub limits: Limits,
}

impl From<Command> for Request {
    fn from(command: Command) -> Self {
        Self { actor: None, command }
    }
}

/// The most claims that are copied for each who opens or attaches their session, in bytes by [`message_bytes`](crate::ClaimSpec::message_bytes).
pub const FEW_CLAIM_BYTES: usize = 4 * 1024;

/// What came of a command that was not rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The session is open.
    Open {
        /// What it was opened with, and what of that has changed since.
        spec: SessionSpec,
        /// The revision of the event that opened it.
        opened: Revision,
        /// What it holds and waits for, in the order in which it was asked for. `None` if that is more than [`FEW_CLAIM_BYTES`]: there may
        /// be many outcomes at a time, and so each takes little. It is in the table.
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
        /// Who is in its way.
        blocker: Claim,
        /// The session's TTL.
        ttl: Duration,
    },
    /// The locks are not free, and there is no claim.
    Busy {
        /// Who is in the way.
        blocker: Claim,
        /// The session's TTL, if it is open.
        ttl: Option<Duration>,
        /// The revision that opened the session, if it is open.
        opened: Option<Revision>,
    },
    /// What came of a command about a group.
    Group(GroupOutcome),
    /// These holds were evicted, as they were.
    Evicted(Vec<Claim>),
    /// The holder has been asked to hand over.
    Transferring {
        /// Its claim, with the transfer.
        claim: Claim,
    },
    /// The hold has been handed over.
    Transferred {
        /// The hold that ended, as it was.
        from: Claim,
        /// The hold that began.
        to: Claim,
    },
    /// The claim is like this now.
    Updated(Claim),
    /// It is so now.
    Done,
}
