//! Models the replicated table with one lock, as far as plain calls need it: `server/core/src/table`.

use super::flaw::Flaw;

/// A client, and its session.
pub type Client = u8;
/// A server.
pub type Server = u8;

/// A claim, identified by its client and its number among that client's claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub struct Id {
    pub client: Client,
    pub number: u8,
}

/// A claim, and the server whose call awaits it. `None` if its grant was acknowledged, so that only its session keeps
/// it alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Claim {
    pub id: Id,
    pub at: Option<Server>,
}

/// Reason for the end of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Released by its client, or ended with the wait of its call.
    Released,
    /// Cancelled by its server, because no call was registered for it.
    Disconnected,
    /// Ended with its session.
    Expired,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Event {
    Opened { client: Client, home: Server },
    Moved { client: Client, home: Server },
    SessionEnded { client: Client },
    Queued(Claim),
    Granted(Claim),
    Ended(Id, Reason),
    Awaited { id: Id, at: Option<Server> },
    Cancelled { client: Client },
    Adopted { dead: Server, by: Server },
}

/// A command, decided on behalf of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Command {
    /// `seen`: number of this client's cancels that the server knew when it received the call.
    Acquire {
        client: Client,
        seen: u8,
        queue: bool,
    },
    EndWait(Id),
    Abandon(Id),
    Acknowledge(Id),
    Release(Id),
    Cancel(Client),
    Move(Client),
    Expire(Client),
    Adopt(Server),
}

/// Outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Outcome {
    Held(Claim),
    Waiting(Claim),
    Busy,
    Rejected,
    Done,
}

/// State of the namespace after a batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Table {
    /// Home of each client's session while it is open.
    pub homes: Vec<Option<Server>>,
    pub holder: Option<Claim>,
    pub queue: Vec<Claim>,
    /// Number of claims that each client has made.
    pub made: Vec<u8>,
    /// Number of recorded cancels of each client.
    pub cancels: Vec<u8>,
    /// The client whose cancel is the last event.
    pub last_cancel: Option<Client>,
}

impl Table {
    /// Creates a table in which every client has a session and the first client holds the lock.
    #[must_use]
    pub fn new(clients: u8, servers: u8) -> Self {
        let clients_or_zero = vec![0; clients.into()];
        let mut table = Self {
            homes: (0..clients).map(|client| Some(client % servers)).collect(),
            holder: Some(Claim { id: Id { client: 0, number: 0 }, at: Some(0) }),
            queue: Vec::new(),
            made: clients_or_zero.clone(),
            cancels: clients_or_zero,
            last_cancel: None,
        };
        table.made[0] = 1;
        table
    }

    /// The claim of a client.
    #[must_use]
    pub fn of(&self, client: Client) -> Option<Claim> {
        self.claims().find(|claim| claim.id.client == client)
    }

    /// Returns the claim with this id.
    #[must_use]
    pub fn claim(&self, id: Id) -> Option<Claim> {
        self.of(id.client).filter(|claim| claim.id == id)
    }

    /// All claims.
    pub fn claims(&self) -> impl Iterator<Item = Claim> {
        self.holder.iter().chain(&self.queue).copied()
    }

    /// Whether a claim is held.
    #[must_use]
    pub fn holds(&self, id: Id) -> bool {
        self.holder.is_some_and(|holder| holder.id == id)
    }

    /// Whether a claim waits.
    #[must_use]
    pub fn waits(&self, id: Id) -> bool {
        self.queue.iter().any(|claim| claim.id == id)
    }

    /// Whether a server is the home of a session or has a waiting call.
    #[must_use]
    pub fn names(&self, server: Server, flaw: Option<Flaw>) -> bool {
        let awaited = self.queue.iter().any(|claim| claim.at == Some(server));
        self.homes.contains(&Some(server)) || awaited && flaw != Some(Flaw::WaitsNotAdopted)
    }

    /// Applies an event. `Table::change`, `Table::adopt`.
    pub fn apply(&mut self, event: Event, flaw: Option<Flaw>) {
        self.last_cancel = None;
        match event {
            Event::Opened { client, home } | Event::Moved { client, home } => {
                self.homes[usize::from(client)] = Some(home);
            }
            Event::SessionEnded { client } => self.homes[usize::from(client)] = None,
            Event::Queued(claim) => {
                self.made[usize::from(claim.id.client)] = claim.id.number + 1;
                self.queue.push(claim);
            }
            Event::Granted(claim) => {
                self.made[usize::from(claim.id.client)] =
                    self.made[usize::from(claim.id.client)].max(claim.id.number + 1);
                self.queue.retain(|waiter| waiter.id != claim.id);
                self.holder = Some(claim);
            }
            Event::Ended(id, _) => {
                self.queue.retain(|waiter| waiter.id != id);
                self.holder = self.holder.filter(|holder| holder.id != id);
            }
            Event::Awaited { id, at } => {
                let claims = self.holder.iter_mut().chain(&mut self.queue);
                claims.filter(|claim| claim.id == id).for_each(|claim| claim.at = at);
            }
            Event::Cancelled { client } => {
                self.cancels[usize::from(client)] += 1;
                self.last_cancel = Some(client);
            }
            Event::Adopted { dead, by } => {
                self.homes.iter_mut().filter(|home| **home == Some(dead)).for_each(|home| *home = Some(by));
                if flaw != Some(Flaw::WaitsNotAdopted) {
                    self.queue.iter_mut().filter(|claim| claim.at == Some(dead)).for_each(|claim| claim.at = Some(by));
                }
            }
        }
    }

    /// Decides a command of this server: its events and its outcome. `Table::decide`.
    #[must_use]
    pub fn decide(&self, command: Command, by: Server, flaw: Option<Flaw>) -> (Vec<Event>, Outcome) {
        let mut decision = Decision { table: self.clone(), events: Vec::new(), by, flaw };
        let outcome = decision.decide(command);
        (decision.events, outcome)
    }
}

/// A decision in progress. Each event is applied at once.
struct Decision {
    table: Table,
    events: Vec<Event>,
    by: Server,
    flaw: Option<Flaw>,
}

impl Decision {
    fn decide(&mut self, command: Command) -> Outcome {
        let by = self.by;
        match command {
            Command::Acquire { client, seen, queue } => return self.acquire(client, seen, queue),
            Command::EndWait(id) => return self.end_wait(id),
            Command::Abandon(id) => {
                if self.table.claim(id).is_some_and(|claim| self.waits_here(claim, Flaw::CancelledAtHome)) {
                    self.end(id, Reason::Disconnected);
                }
            }
            Command::Acknowledge(id) => {
                if self.table.holds(id) {
                    self.await_at(id, None);
                    return Outcome::Held(Claim { id, at: None });
                }
            }
            Command::Release(id) => {
                if self.table.holds(id) {
                    self.end(id, Reason::Released);
                }
            }
            Command::Cancel(client) => {
                if let Some(claim) = self.table.of(client) {
                    self.end(claim.id, Reason::Released);
                }
                let is_repeated = self.table.last_cancel == Some(client);
                if !is_repeated || self.flaw != Some(Flaw::RepeatedCancelSkipped) {
                    self.emit(Event::Cancelled { client });
                }
            }
            Command::Move(client) => {
                if self.table.homes[usize::from(client)].is_some_and(|home| home != by) {
                    self.emit(Event::Moved { client, home: by });
                }
            }
            Command::Expire(client) => {
                if self.table.homes[usize::from(client)] == Some(by) {
                    if let Some(claim) = self.table.of(client) {
                        self.emit(Event::Ended(claim.id, Reason::Expired));
                    }
                    self.emit(Event::SessionEnded { client });
                    self.serve();
                }
            }
            Command::Adopt(dead) => {
                if self.table.names(dead, self.flaw) {
                    self.emit(Event::Adopted { dead, by });
                }
            }
        }
        Outcome::Done
    }

    /// `Table::acquire`.
    fn acquire(&mut self, client: Client, seen: u8, queue: bool) -> Outcome {
        if self.table.cancels[usize::from(client)] > seen && self.flaw != Some(Flaw::CancelForgotten) {
            return Outcome::Rejected;
        }
        let is_free = self.table.holder.is_none() && self.table.queue.is_empty();
        match self.table.homes[usize::from(client)] {
            None if !queue && !is_free => return Outcome::Busy,
            None => self.emit(Event::Opened { client, home: self.by }),
            Some(home) if home != self.by => self.emit(Event::Moved { client, home: self.by }),
            Some(_) => {}
        }
        if let Some(own) = self.table.of(client) {
            if self.table.holds(own.id) {
                return Outcome::Held(own);
            }
            self.await_at(own.id, Some(self.by));
            return Outcome::Waiting(Claim { at: Some(self.by), ..own });
        }
        let id = Id { client, number: self.table.made[usize::from(client)] };
        let claim = Claim { id, at: Some(self.by) };
        if is_free {
            self.emit(Event::Granted(claim));
            Outcome::Held(claim)
        } else if queue {
            self.emit(Event::Queued(claim));
            Outcome::Waiting(claim)
        } else {
            Outcome::Busy
        }
    }

    /// `Table::end_wait`.
    fn end_wait(&mut self, id: Id) -> Outcome {
        let Some(claim) = self.table.claim(id) else { return Outcome::Done };
        if self.table.holds(id) {
            return Outcome::Held(claim);
        }
        if !self.waits_here(claim, Flaw::WaitEndsAtHome) {
            return Outcome::Waiting(claim);
        }
        self.end(id, Reason::Released);
        Outcome::Busy
    }

    /// `Table::waits_at`.
    fn waits_here(&self, claim: Claim, flaw: Flaw) -> bool {
        match claim.at.filter(|_| self.flaw != Some(flaw)) {
            Some(at) => at == self.by,
            None => self.table.homes[usize::from(claim.id.client)] == Some(self.by),
        }
    }

    fn await_at(&mut self, id: Id, at: Option<Server>) {
        if self.table.claim(id).is_some_and(|claim| claim.at != at) {
            self.emit(Event::Awaited { id, at });
        }
    }

    /// Ends a claim, and grants the lock to the first waiter if it is free then.
    fn end(&mut self, id: Id, reason: Reason) {
        self.emit(Event::Ended(id, reason));
        self.serve();
    }

    fn serve(&mut self) {
        if self.table.holder.is_none()
            && let Some(&next) = self.table.queue.first()
        {
            self.emit(Event::Granted(next));
        }
    }

    fn emit(&mut self, event: Event) {
        self.table.apply(event, self.flaw);
        self.events.push(event);
    }
}
