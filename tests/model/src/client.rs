//! A client as its library knows it: what it has asked, what it holds, and for how long it counts that as valid.

use crate::table::{Node, Revision};

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    /// Whether its process lives.
    pub lives: bool,
    /// Whether it has yet to ask for the lock.
    pub is_new: bool,
    /// For how long its session is valid by its own count. `client-rs/src/validity.rs`.
    pub left: u8,
    /// Whether its session has been valid, and is not any more. For good.
    pub over: bool,
    /// The server that it is attached to.
    pub stream: Option<Node>,
    /// What it has asked and not heard of.
    pub ask: Option<Ask>,
    /// Whether it has asked in this tick.
    pub has_asked: bool,
    /// Whether it waits for the lock.
    pub waits: bool,
    /// A grant that is on its way on the stream.
    pub told: Option<Revision>,
    /// The token that it believes to hold the lock with, and acts under while its session is valid.
    pub hold: Option<Revision>,
    /// Whether it has ever held the lock.
    pub has_held: bool,
}

/// A request to a server, or the answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Ask {
    pub kind: Kind,
    pub to: Node,
    /// How long ago it was sent, by the client's clock.
    pub age: u8,
    pub stage: Stage,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Acquire,
    Attach,
    Renew,
    Release(Revision),
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// On its way to the server.
    Sent,
    /// The server decides.
    Taken,
    /// A call to renew was noted in the home's memory, as this says; the head is to be looked at before it is answered.
    Noted(Note),
    /// On its way back.
    Answered(Answer),
}

/// What a home's memory says of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Note {
    Renewed,
    Over,
    Elsewhere,
}

/// What a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The session is open and at home there; it holds the lock with this token, or waits for it.
    Open(Option<Revision>, bool),
    /// The session is renewed.
    Renewed,
    /// The lock is given back.
    Released,
    /// The session is no more.
    Over,
    /// For now this cannot be done. Nothing was changed.
    Refused,
    /// It is not known whether this was done.
    Unknown,
}

impl Client {
    /// One that has yet to begin.
    #[must_use]
    pub fn new() -> Self {
        Self {
            lives: true,
            is_new: true,
            left: 0,
            over: false,
            stream: None,
            ask: None,
            has_asked: false,
            waits: false,
            told: None,
            hold: None,
            has_held: false,
        }
    }

    /// Whether it acts as the holder.
    #[must_use]
    pub fn is_valid_holder(&self) -> bool {
        self.lives && self.hold.is_some() && self.left > 0
    }

    /// It has no stream any more, and nothing that it asked for is answered.
    pub fn disconnect(&mut self) {
        (self.stream, self.ask, self.told) = (None, None, None);
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}
