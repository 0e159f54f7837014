//! Defines the properties of the model and the bookkeeping that they are evaluated on. They have the names of the
//! design: S1 to S6, L1 and L4.

use stateright::Property;

use crate::client::{Answer, Request, Stage};
use crate::limits::Limits;
use crate::server::Instance;
use crate::store::{Batch, Store};
use crate::table::{Client, Event, Node, Revision};
use crate::world::World;

/// Promises and losses so far, which no participant knows as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    /// Time for which each client's session must not end, since its last acknowledged renewal.
    promised: Vec<u8>,
    /// Time for which the home of each session has been able to take renewals since the last one, or since it became
    /// the home.
    served: Vec<u8>,
    /// The highest token ever granted.
    top: Revision,
    /// Batches that were reported to callers as not made.
    rejected: Vec<(Node, u8)>,
    /// The tokens of grants that a failover lost.
    lost: Vec<Revision>,
    /// Whether a failover lost anything.
    has_lost_commits: bool,
    ttl: u8,
    /// Whether a session ended too early.
    ended_early: bool,
    /// Whether a token did not rise.
    token_fell: bool,
    /// Whether a renewal was acknowledged for a session that had ended.
    revived: bool,
    /// Whether a change was reported as rejected that had been made or was in progress.
    rejected_wrongly: bool,
}

impl Account {
    /// Creates the initial state.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            promised: vec![0; limits.clients.into()],
            served: vec![0; limits.clients.into()],
            top: 0,
            rejected: Vec::new(),
            lost: Vec::new(),
            has_lost_commits: false,
            ttl: limits.ttl - limits.drift,
            ended_early: false,
            token_fell: false,
            revived: false,
            rejected_wrongly: false,
        }
    }

    /// Promises that a client's session does not end within this time.
    pub fn promise(&mut self, client: Client, left: u8) {
        let promised = &mut self.promised[usize::from(client)];
        *promised = left.max(*promised);
    }

    /// Records that the home of a session took a renewal.
    pub fn taken(&mut self, client: Client, node: Node, store: &Store) {
        if store.head.session(client).is_some_and(|session| session.home == node) {
            self.served[usize::from(client)] = 0;
        }
    }

    /// Advances time by a tick.
    pub fn tick(&mut self, store: &Store, servers: &[Option<Instance>]) {
        self.promised.iter_mut().for_each(|left| *left = left.saturating_sub(1));
        for (served, session) in self.served.iter_mut().zip(&store.head.sessions) {
            let serves =
                |home: Node| servers.iter().flatten().any(|instance| instance.node == home && instance.lease > 0);
            if session.is_some_and(|session| serves(session.home)) {
                *served = (*served + 1).min(self.ttl);
            }
        }
    }

    /// Records a committed batch.
    pub fn committed(&mut self, batch: &Batch) {
        for recorded in &batch.events {
            match recorded.event {
                Event::Granted { token, .. } => {
                    self.token_fell |= token <= self.top;
                    self.top = self.top.max(token);
                }
                Event::Opened { client, .. } | Event::Moved { client, .. } => self.served[usize::from(client)] = 0,
                Event::Ended { client } => {
                    let client = usize::from(client);
                    self.ended_early |=
                        !self.has_lost_commits && (self.promised[client] > 0 || self.served[client] < self.ttl);
                }
                _ => {}
            }
        }
    }

    /// Records an acknowledged renewal.
    pub fn renewed(&mut self, client: Client, store: &Store) {
        self.revived |= !self.has_lost_commits && store.head.session(client).is_none();
    }

    /// Records a reply to a caller that a batch was not made.
    pub fn rejected(&mut self, node: Node, number: u8, store: &Store) {
        let in_progress = store.in_progress[usize::from(node)].as_ref().is_some_and(|batch| batch.number == number);
        self.rejected_wrongly |= in_progress || store.has(node, number);
        self.rejected.push((node, number));
    }

    /// Records that a failover lost the grants with these tokens, and possibly more (`has_lost_commits`).
    pub fn lost(&mut self, has_lost_commits: bool, tokens: impl Iterator<Item = Revision>) {
        self.has_lost_commits |= has_lost_commits;
        self.lost.extend(tokens);
    }
}

/// S1, S6. A database that lost commits is the one necessary exception; there, fencing protects the resource.
pub const ONE_HOLDER: &str = "at most one client holds the lock by its own count";
/// S2.
pub const TOKENS_RISE: &str = "every token is greater than all earlier ones";
/// S4.
pub const IN_LOG: &str = "a grant that a client receives is in the log";
/// S5.
pub const NO_EARLY_END: &str = "no session ends before its time";
/// S3.
pub const NO_REVIVAL: &str = "an ended session is not renewed, and a lapsed session stays lapsed";
/// S4.
pub const REJECTED_IS_NOT_IN_LOG: &str = "a rejected batch is not in the log";
/// S4.
pub const REJECTED_IS_NOT_MADE: &str = "no batch is reported as rejected that was made or is in progress";
/// L1.
pub const PASSED_ON: &str = "the lock of a dead client passes to a living waiter";
/// L4.
pub const ANSWERED: &str = "every request is answered";
/// The outcome of a failover that lost grants.
pub const HOLDERS_AGREE: &str = "a client that considers its hold valid holds the lock";

/// The properties of a model. Liveness is only claimed where every participant does what it can do.
#[must_use]
pub fn of(limits: &Limits) -> Vec<Property<Limits>> {
    let mut all = vec![
        Property::always(ONE_HOLDER, |_, world: &World| {
            world.account.has_lost_commits
                || world.clients.iter().filter(|client| client.is_valid_holder()).count() <= 1
        }),
        Property::always(TOKENS_RISE, |_, world: &World| !world.account.token_fell),
        Property::always(IN_LOG, |_, world: &World| every_grant_is_in_log(world)),
        Property::always(NO_EARLY_END, |_, world: &World| !world.account.ended_early),
        Property::always(NO_REVIVAL, |_, world: &World| {
            !world.account.revived && world.clients.iter().all(|client| !client.over || client.left == 0)
        }),
        Property::always(REJECTED_IS_NOT_IN_LOG, |_, world: &World| {
            world.account.rejected.iter().all(|(node, number)| !world.store.has(*node, *number))
        }),
        Property::always(REJECTED_IS_NOT_MADE, |_, world: &World| !world.account.rejected_wrongly),
    ];
    if limits.prompt {
        all.extend([
            Property::eventually(ANSWERED, |limits: &Limits, world: &World| {
                world.now == limits.ticks && nothing_is_open(world)
            }),
            Property::eventually(PASSED_ON, |limits: &Limits, world: &World| {
                world.now == limits.ticks && a_living_client_had_it(world)
            }),
            Property::eventually(HOLDERS_AGREE, |limits: &Limits, world: &World| {
                world.now == limits.ticks && valid_holders_hold(world)
            }),
        ]);
    }
    all
}

fn every_grant_is_in_log(world: &World) -> bool {
    (0..).zip(&world.clients).all(|(id, client)| {
        let answered = match client.request {
            Some(Request { stage: Stage::Answered(Answer::Open(token, _)), .. }) => token,
            _ => None,
        };
        [client.hold, client.pending_grant, answered].into_iter().flatten().all(|received| {
            let is_it = |event: Event| event == Event::Granted { client: id, token: received };
            let mut events = world.store.log.iter().flat_map(|batch| &batch.events);
            events.any(|recorded| is_it(recorded.event)) || world.account.lost.contains(&received)
        })
    })
}

fn nothing_is_open(world: &World) -> bool {
    world.clients.iter().all(|client| !client.lives || client.request.is_none())
}

/// If a client died and others live, one of the living clients has held the lock or lost its session.
fn a_living_client_had_it(world: &World) -> bool {
    let dies = world.clients.iter().any(|client| !client.lives);
    let mut living = world.clients.iter().filter(|client| client.lives).peekable();
    !dies || living.peek().is_none() || living.any(|client| client.has_held || client.over)
}

fn valid_holders_hold(world: &World) -> bool {
    let mut holders = (0..).zip(&world.clients).filter(|(_, client)| client.is_valid_holder());
    holders.all(|(id, client)| world.store.head.token_of(id) == client.hold)
}
