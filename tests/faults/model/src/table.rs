//! Models the replicated table with one lock: `server/core/src/table`.

use crate::flaw::Flaw;

/// A namespace's counter. A token is the revision of a grant.
pub type Revision = u8;
/// A client, and its session.
pub type Client = u8;
/// One run of a server, under its own id.
pub type Node = u8;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Event {
    Opened { client: Client, home: Node },
    Moved { client: Client, home: Node },
    Ended { client: Client },
    Queued { client: Client },
    Granted { client: Client, token: Revision },
    Released { client: Client },
    Adopted { dead: Node, by: Node },
    HistoryLost,
}

/// An event and its revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Recorded {
    pub revision: Revision,
    pub event: Event,
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Command {
    /// Requests the lock, and opens the session if necessary.
    Acquire {
        client: Client,
        home: Node,
    },
    Move {
        client: Client,
        home: Node,
    },
    Release {
        client: Client,
        token: Revision,
    },
    /// The home reports that the session's TTL has elapsed.
    End {
        client: Client,
        opened: Revision,
        home: Node,
    },
    Adopt {
        dead: Node,
        by: Node,
    },
    /// Jumps to this revision, because the database may have lost history.
    Jump {
        to: Revision,
    },
}

/// An open session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Session {
    pub opened: Revision,
    pub home: Node,
}

/// The holder of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Hold {
    pub client: Client,
    pub token: Revision,
}

/// State of the namespace at a revision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Table {
    pub revision: Revision,
    pub sessions: Vec<Option<Session>>,
    pub hold: Option<Hold>,
    pub queue: Vec<Client>,
    /// Number of grants so far, which is what a sequence in the database would count.
    pub grants: u8,
}

impl Table {
    /// Creates an empty table for this many clients.
    #[must_use]
    pub fn new(clients: u8) -> Self {
        Self { revision: 0, sessions: vec![None; clients.into()], hold: None, queue: Vec::new(), grants: 0 }
    }

    /// The open session of a client.
    #[must_use]
    pub fn session(&self, client: Client) -> Option<Session> {
        self.sessions[usize::from(client)]
    }

    /// The token of a client's hold.
    #[must_use]
    pub fn token_of(&self, client: Client) -> Option<Revision> {
        self.hold.filter(|hold| hold.client == client).map(|hold| hold.token)
    }

    /// The nodes that are the home of a session.
    pub fn homes(&self) -> impl Iterator<Item = Node> {
        self.sessions.iter().flatten().map(|session| session.home)
    }

    /// Applies an event.
    pub fn apply(&mut self, recorded: &Recorded) {
        self.revision = recorded.revision;
        match recorded.event {
            Event::Opened { client, home } => {
                self.sessions[usize::from(client)] = Some(Session { opened: recorded.revision, home });
            }
            Event::Moved { client, home } => {
                if let Some(session) = &mut self.sessions[usize::from(client)] {
                    session.home = home;
                }
            }
            Event::Ended { client } => {
                self.sessions[usize::from(client)] = None;
                self.queue.retain(|waiter| *waiter != client);
                self.hold = self.hold.filter(|hold| hold.client != client);
            }
            Event::Queued { client } => self.queue.push(client),
            Event::Granted { client, token } => {
                self.queue.retain(|waiter| *waiter != client);
                self.hold = Some(Hold { client, token });
                self.grants += 1;
            }
            Event::Released { .. } => self.hold = None,
            Event::Adopted { dead, by } => {
                for session in self.sessions.iter_mut().flatten().filter(|session| session.home == dead) {
                    session.home = by;
                }
            }
            Event::HistoryLost => {}
        }
    }

    /// Decides a command. Returns no events if it is rejected or has already taken effect.
    #[must_use]
    pub fn decide(&self, command: Command, flaw: Option<Flaw>) -> Vec<Recorded> {
        let mut decision = Decision { table: self.clone(), events: Vec::new(), flaw };
        decision.decide(command);
        decision.events
    }
}

/// A decision in progress. Each event is applied at once.
struct Decision {
    table: Table,
    events: Vec<Recorded>,
    flaw: Option<Flaw>,
}

impl Decision {
    fn decide(&mut self, command: Command) {
        match command {
            Command::Acquire { client, home } => {
                match self.table.session(client) {
                    None => self.emit(Event::Opened { client, home }),
                    Some(session) if session.home != home => self.emit(Event::Moved { client, home }),
                    Some(_) => {}
                }
                if self.table.token_of(client).is_some() || self.table.queue.contains(&client) {
                    return;
                }
                if self.table.hold.is_some() {
                    self.emit(Event::Queued { client });
                } else {
                    self.grant(client);
                }
            }
            Command::Move { client, home } => {
                if self.table.session(client).is_some_and(|session| session.home != home) {
                    self.emit(Event::Moved { client, home });
                }
            }
            Command::Release { client, token } => {
                if self.table.token_of(client) == Some(token) {
                    self.emit(Event::Released { client });
                    self.serve();
                }
            }
            Command::End { client, opened, home } => {
                let found = self.table.session(client).filter(|session| session.opened == opened);
                if found.is_some_and(|session| session.home == home || self.flaw == Some(Flaw::EndWhereverItsHome)) {
                    self.emit(Event::Ended { client });
                    self.serve();
                }
            }
            Command::Adopt { dead, by } => {
                if dead != by && self.table.homes().any(|home| home == dead) {
                    self.emit(Event::Adopted { dead, by });
                }
            }
            Command::Jump { to } => {
                self.table.revision = to - 1;
                self.emit(Event::HistoryLost);
            }
        }
    }

    /// Grants a free lock to the longest-waiting client.
    fn serve(&mut self) {
        if self.table.hold.is_none()
            && self.flaw != Some(Flaw::WaiterForgotten)
            && let Some(&next) = self.table.queue.first()
        {
            self.grant(next);
        }
    }

    fn grant(&mut self, client: Client) {
        let from_sequence = self.flaw == Some(Flaw::TokenFromSequence);
        let token = if from_sequence { self.table.grants + 1 } else { self.table.revision + 1 };
        self.emit(Event::Granted { client, token });
    }

    fn emit(&mut self, event: Event) {
        let recorded = Recorded { revision: self.table.revision + 1, event };
        self.table.apply(&recorded);
        self.events.push(recorded);
    }
}
