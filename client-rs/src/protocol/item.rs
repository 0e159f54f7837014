//! One session, claim or membership.

use std::collections::BTreeSet;

use tenure_proto::v1;

use super::{Declared, Validity};
use crate::clock::Moment;

/// One session, claim or membership, from its declaration to its end.
#[derive(Debug)]
pub(super) struct Item {
    /// The number of its session: its own, if it is one.
    pub(super) session_number: u64,
    /// The first number of its declaration.
    pub(super) declaration: u64,
    /// What is declared, until its state is received. Then it is known to exist.
    pub(super) declared: Option<Part>,
    /// When the last message that declares it was queued.
    pub(super) sent: Moment,
    /// Whether a server may know it.
    pub(super) was_sent: bool,
    /// The epoch in which it was withdrawn.
    pub(super) withdrawn: Option<u64>,
    /// Whether its end has been reported, though the server has not confirmed it.
    pub(super) is_reported: bool,
    /// The fencing token of a held claim.
    pub(super) token: Option<u64>,
    pub(super) session: Option<Session>,
}

/// What is declared under one number.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Session(v1::DeclaredSession),
    Claim(v1::DeclaredClaim),
    Membership(v1::DeclaredMembership),
}

/// What only a session has.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The numbers of its claims and memberships.
    pub(super) parts: BTreeSet<u64>,
    /// Keep-alives from this one on renew it.
    pub(super) renewed_from: u64,
    /// Keep-alives from this one on do not renew it.
    pub(super) paused: Option<u64>,
    /// Once it is open.
    pub(super) open: Option<Open>,
}

/// An open session.
#[derive(Debug)]
pub(super) struct Open {
    /// The epoch of the last stream that reported it.
    pub(super) epoch: u64,
    pub(super) validity: Validity,
    pub(super) is_at_risk: bool,
}

impl Item {
    pub(super) fn new(session_number: u64, declaration: u64, declared: Part, now: Moment) -> Self {
        Self {
            session_number,
            declaration,
            session: matches!(declared, Part::Session(_)).then(Session::default),
            declared: Some(declared),
            sent: now,
            was_sent: false,
            withdrawn: None,
            is_reported: false,
            token: None,
        }
    }
}

impl Item {
    /// Whether a Hello states it.
    pub(super) fn is_stated(&self) -> bool {
        self.withdrawn.is_none() || self.declared.is_none()
    }
}

impl Session {
    /// Whether the keep-alive of this number renews it.
    pub(super) fn is_renewed_by(&self, number: u64) -> bool {
        number >= self.renewed_from && self.paused.is_none_or(|paused| number < paused)
    }
}

impl From<Declared> for Part {
    fn from(declared: Declared) -> Self {
        match declared {
            Declared::Claim(claim) => Self::Claim(claim),
            Declared::Membership(membership) => Self::Membership(membership),
        }
    }
}
