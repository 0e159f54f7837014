//! Models a client as seen by its library: its request, its hold, and how long it regards its session as valid.

use crate::table::{Node, Revision};

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    /// Whether its process is alive.
    pub lives: bool,
    /// Whether it has not requested the lock yet.
    pub is_new: bool,
    /// Remaining validity of its session by its own count. `client-rs/src/validity.rs`.
    pub left: u8,
    /// Whether its session was valid and no longer is. Permanent.
    pub over: bool,
    /// The server that it is connected to.
    pub stream: Option<Node>,
    /// Its unanswered request.
    pub request: Option<Request>,
    /// Whether it has sent a request in this tick.
    pub has_sent_request: bool,
    /// Whether it waits for the lock.
    pub waits: bool,
    /// A grant on its way on the stream.
    pub pending_grant: Option<Revision>,
    /// Token of the lock that it believes to hold. It acts as the holder while its session is valid.
    pub hold: Option<Revision>,
    /// Whether it has ever held the lock.
    pub has_held: bool,
}

/// A request to a server, or its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Request {
    pub kind: Kind,
    pub to: Node,
    /// Time since it was sent, by the client's clock.
    pub age: u8,
    pub stage: Stage,
}

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Acquire,
    Move,
    Renew,
    Release(Revision),
}

/// Progress of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// On its way to the server.
    Sent,
    /// The server is deciding.
    Taken,
    /// A renewal call was noted in the home's memory, with this result. The head must be read before the reply.
    Noted(Note),
    /// The reply is on its way.
    Answered(Answer),
}

/// State of a session in its home's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Note {
    Renewed,
    Over,
    NotHome,
}

/// Reply of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The session is open and this server is its home. It holds the lock with this token, or waits for it.
    Open(Option<Revision>, bool),
    /// The session is renewed.
    Renewed,
    /// The lock is released.
    Released,
    /// The session has ended.
    Over,
    /// The request cannot be served now. Nothing was changed.
    Rejected,
    /// The outcome is unknown.
    Unknown,
}

impl Client {
    /// Creates a client that has not started yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            lives: true,
            is_new: true,
            left: 0,
            over: false,
            stream: None,
            request: None,
            has_sent_request: false,
            waits: false,
            pending_grant: None,
            hold: None,
            has_held: false,
        }
    }

    /// Whether it acts as the holder.
    #[must_use]
    pub fn is_valid_holder(&self) -> bool {
        self.lives && self.hold.is_some() && self.left > 0
    }

    /// Drops the stream, and with it the replies to earlier requests.
    pub fn disconnect(&mut self) {
        (self.stream, self.request, self.pending_grant) = (None, None, None);
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}
