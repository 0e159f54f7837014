//! Clients: connected programs that declare which sessions, claims and memberships they want. The table reconciles what
//! exists with that.
//!
//! A client chooses a *number* for everything that it declares. Its sessions, claims and memberships share one counter:
//! a declaration has a greater number than every one before, and what it declares is known by that number from then on.
//! A change that arrives late, twice or by way of another server is harmless for that reason: its number has been used,
//! or its client has connected with a later epoch since.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ascending::Ascending;
use crate::encoding::{is_default, millis, optional_millis};
use crate::end::EndReason;
use crate::model::{AskedMode, Claim, Metadata, Opening, Revision, ServerId, no_labels};
use crate::names::{Names, Text};
use crate::rejection::Rejection;

/// A connected program, or one that may reconnect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its id, drawn at random by the program.
    pub id: Text,
    /// Increases with every stream that the program opens.
    pub epoch: u64,
    /// The server that it is connected to, or was last. It is the home of all its sessions.
    pub home: ServerId,
    /// The authenticated identity; `None`: no authentication was required.
    pub identity: Option<Text>,
    /// The highest number that it has used.
    pub last: u64,
    /// What it has, by number.
    pub items: Ascending<u64, Item>,
}

impl Client {
    /// A client that has nothing.
    #[must_use]
    pub fn new(id: Text, epoch: u64, home: ServerId, identity: Option<Text>) -> Self {
        Self { id, epoch, home, identity, last: 0, items: Ascending::default() }
    }

    /// The ids of its open sessions, in the order in which they were declared.
    pub fn sessions(&self) -> impl Iterator<Item = &Text> {
        self.items.values().filter_map(|item| match item {
            Item::Session(id) => Some(id),
            Item::Claim(_) | Item::Membership(_) => None,
        })
    }

    /// Its claims, in the order in which they were declared.
    pub fn claims(&self) -> impl Iterator<Item = Revision> {
        self.items.values().filter_map(|item| match item {
            Item::Claim(id) => Some(*id),
            Item::Session(_) | Item::Membership(_) => None,
        })
    }
}

/// Something that a client has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The open session of this id.
    Session(Text),
    /// A claim, waiting or held. A lingering one does not belong to its client any more.
    Claim(Revision),
    /// A membership.
    Membership(Box<Membership>),
}

/// A membership of a client's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The session.
    pub session: Text,
    /// The group.
    pub group: Text,
}

/// The start of a client's stream: everything that the client has and wants.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Hello {
    /// The client's id.
    pub client: Text,
    /// Greater than in every Hello of this client before.
    pub epoch: u64,
    /// The server that issues the command: the client's home from now on.
    pub home: ServerId,
    /// The server's revision when the Hello arrived: it is rejected if the client has ended after that.
    pub received: Revision,
    /// The authenticated identity; set by [`Command::by`](crate::Command::by).
    pub identity: Option<Text>,
    /// The numbers of what the client knows that it has. What it has besides, and does not declare, is withdrawn.
    pub known: Vec<u64>,
    /// What it has declared, and does not know the result of, in the order of the numbers.
    pub declared: Vec<Declaration>,
}

/// A session with claims and memberships that a client wants to have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Declaration {
    /// The number of the session.
    pub session: u64,
    /// Opens the session, unless its number has been used. `None`: the session must be open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<DeclaredSession>,
    /// Claims of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<DeclaredClaim>,
    /// Memberships of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memberships: Vec<DeclaredMembership>,
}

impl Declaration {
    /// The numbers of everything that it declares, and of its session.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        let memberships = self.memberships.iter().map(|membership| membership.number);
        [self.session].into_iter().chain(self.claims.iter().map(|claim| claim.number)).chain(memberships)
    }
}

/// The parameters of a session that a client wants to have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct DeclaredSession {
    /// Its id, which no open session may have.
    pub id: Text,
    /// How long it outlives the stream of its client; `None`: until its TTL has passed.
    #[serde(rename = "disconnect_grace_ms", with = "optional_millis")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disconnect_grace: Option<Duration>,
    /// The other parameters.
    pub opening: Opening,
}

/// A claim that a client wants to have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct DeclaredClaim {
    /// Its number.
    pub number: u64,
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

/// A membership that a client wants to have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct DeclaredMembership {
    /// Its number.
    pub number: u64,
    /// The group.
    pub group: Text,
    /// Arbitrary labels.
    #[serde(default = "no_labels", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
}

/// A change of what a client wants to have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It wants more.
    Declare(Declaration),
    /// It no longer wants what has this number: a session is closed, with everything in it; a claim leaves the queue or
    /// is released; a membership ends. Idempotent.
    Withdraw(u64),
}

/// The reason why the client does not have what it has declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It has ended, for this reason if that is remembered, or its number was used before.
    Ended(Option<EndReason>),
    /// The locks are not free, and the claim was not to queue. A session that was declared together with such a claim
    /// is not opened.
    Busy {
        /// The claim that blocks it.
        blocker: Box<Claim>,
    },
    /// It was rejected.
    Rejected(Rejection),
}
