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
    pub items: Items,
}

impl Client {
    /// A client that has nothing.
    #[must_use]
    pub fn new(id: Text, epoch: u64, home: ServerId, identity: Option<Text>) -> Self {
        Self { id, epoch, home, identity, last: 0, items: Items::default() }
    }
}

/// What a client has, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Items {
    /// Apart from the others, because a client may have very many, which are to be small.
    claims: Ascending<(u64, Revision)>,
    /// Its sessions and memberships.
    others: Ascending<(u64, Item)>,
}

impl Items {
    /// What has this number.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<Item> {
        let claim = self.claims.get(&number).map(|id| Item::Claim(*id));
        claim.or_else(|| self.others.get(&number).cloned())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.others.is_empty()
    }

    /// The ids of the open sessions, in the order in which they were declared.
    pub fn sessions(&self) -> impl Iterator<Item = &Text> {
        self.others.values().filter_map(|item| match item {
            Item::Session(id) => Some(id),
            Item::Claim(_) | Item::Membership(_) => None,
        })
    }

    /// The claims, in the order in which they were declared.
    pub fn claims(&self) -> impl Iterator<Item = Revision> {
        self.claims.values().copied()
    }

    /// At most `limit` claims, after this number, in order.
    pub fn claims_after(&self, number: u64, limit: usize) -> impl Iterator<Item = (u64, Revision)> {
        self.claims.after(number).take(limit).map(|(number, id)| (number, *id))
    }

    /// At most `limit` of all, after this number, in order.
    #[must_use]
    pub fn after(&self, number: u64, limit: usize) -> Vec<(u64, Item)> {
        let claims = self.claims_after(number, limit).map(|(number, id)| (number, Item::Claim(id)));
        let others = self.others.after(number).take(limit).map(|(number, item)| (number, item.clone()));
        let mut items: Vec<_> = claims.chain(others).collect();
        items.sort_by_key(|(number, _)| *number);
        items.truncate(limit);
        items
    }

    /// The numbers of the claims, and of everything else.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (u64, Option<Revision>)> {
        let others = self.others.keys().map(|number| (number, None));
        self.claims.iter().map(|(number, id)| (number, Some(*id))).chain(others)
    }

    /// Replaces what has this number.
    pub(crate) fn set(&mut self, number: u64, item: Option<Item>) {
        self.claims.remove(&number);
        self.others.remove(&number);
        match item {
            Some(Item::Claim(id)) => self.claims.insert((number, id)),
            Some(item) => self.others.insert((number, item)),
            None => {}
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_listed_in_the_order_of_their_numbers() {
        let membership = Membership { session: "s".into(), group: "g".into() };
        let item = |number: u64| match number % 4 {
            0 => Item::Session("s".into()),
            1 => Item::Membership(Box::new(membership.clone())),
            _ => Item::Claim(Revision(number)),
        };
        let mut items = Items::default();
        (1..=20).rev().for_each(|number| items.set(number, Some(item(number))));
        let listed = |after: u64, limit: u64| (after + 1..=20.min(after + limit)).map(|number| (number, item(number)));
        for (after, limit) in (0..=20).flat_map(|after| (0..=21).map(move |limit| (after, limit))) {
            assert!(items.after(after, limit as usize).into_iter().eq(listed(after, limit)), "{limit} after {after}");
        }
        assert!(items.claims_after(3, 4).map(|(number, _)| number).eq([6, 7, 10, 11]));
        (1..=20).for_each(|number| items.set(number, None));
        assert!(items.is_empty());
    }
}
