//! The messages that are sent: within the contract's bounds, and few.

use std::collections::VecDeque;

use prost::Message;
use tenure_proto::v1;
use tenure_proto::v1::connect_request::Kind;

use super::item::{Item, Part};

/// The most changes in one message: the contract's bound.
const CHANGES_PER_MESSAGE: usize = 1_000;
/// With this many bytes a message is complete. With what is added last it is below the contract's 4 MiB.
const BYTES_PER_MESSAGE: usize = 3 << 20;
/// The most bytes of a number in a message, and of the tag and the length before a declaration.
const BYTES_PER_NUMBER: usize = 10;

/// What is queued for sending. In this order, because a keep-alive acknowledges the changes before it.
#[derive(Debug)]
pub(super) enum Outgoing {
    Hello(v1::Hello),
    Change(v1::Change),
    KeepAlive(u64),
}

/// Takes the next message: successive changes go together.
pub(super) fn next(outgoing: &mut VecDeque<Outgoing>) -> Option<v1::ConnectRequest> {
    let kind = match outgoing.pop_front()? {
        Outgoing::Hello(hello) => Kind::Hello(hello),
        Outgoing::KeepAlive(number) => Kind::KeepAlive(v1::KeepAlive { number }),
        Outgoing::Change(first) => {
            let mut bytes = first.encoded_len();
            let mut changes = vec![first];
            while changes.len() < CHANGES_PER_MESSAGE && bytes < BYTES_PER_MESSAGE {
                let Some(Outgoing::Change(change)) = outgoing.front_mut() else { break };
                bytes += change.encoded_len() + BYTES_PER_NUMBER;
                changes.push(std::mem::take(change));
                outgoing.pop_front();
            }
            Kind::Changes(v1::Changes { changes })
        }
    };
    Some(v1::ConnectRequest { kind: Some(kind) })
}

/// A Hello in parts.
#[derive(Debug)]
pub(super) struct Hellos {
    empty: v1::Hello,
    complete: Vec<v1::Hello>,
    current: v1::Hello,
    bytes: usize,
    /// The first number of the last declaration.
    declaration: u64,
}

impl Hellos {
    /// Parts that begin like this one.
    pub(super) fn new(empty: v1::Hello) -> Self {
        Self { current: empty.clone(), empty, complete: Vec::new(), bytes: 0, declaration: 0 }
    }

    /// Adds what has this number, which is greater than those before.
    pub(super) fn state(&mut self, number: u64, item: &Item) {
        if self.bytes >= BYTES_PER_MESSAGE {
            let complete = std::mem::replace(&mut self.current, self.empty.clone());
            self.complete.push(v1::Hello { more: true, ..complete });
            (self.bytes, self.declaration) = (0, 0);
        }
        self.bytes += BYTES_PER_NUMBER;
        match &item.declared {
            Some(part) => self.declare(number, item, part.clone()),
            None => {
                self.current.known.push(number);
                if item.session.as_ref().is_some_and(|session| session.paused.is_some()) {
                    self.current.paused.push(number);
                    self.bytes += BYTES_PER_NUMBER;
                }
            }
        }
    }

    pub(super) fn finish(mut self) -> impl Iterator<Item = v1::Hello> + use<> {
        self.complete.push(self.current);
        self.complete.into_iter()
    }

    fn declare(&mut self, number: u64, item: &Item, part: Part) {
        if self.declaration != item.declaration {
            self.declaration = item.declaration;
            let session = item.session_number;
            self.current.declared.push(v1::Declaration { session, ..v1::Declaration::default() });
        }
        let Some(last) = self.current.declared.last_mut() else { return };
        self.bytes += match part {
            Part::Session(session) => last.open.insert(session).encoded_len(),
            Part::Claim(claim) => {
                last.claims.push(v1::DeclaredClaim { number, ..claim });
                last.claims.last().map_or(0, Message::encoded_len)
            }
            Part::Membership(membership) => {
                last.memberships.push(v1::DeclaredMembership { number, ..membership });
                last.memberships.last().map_or(0, Message::encoded_len)
            }
        };
    }
}
