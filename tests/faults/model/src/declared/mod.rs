//! A separate model of the declared stream: one client, which declares and withdraws numbers and connects to one server
//! after the other, while messages of its earlier streams may still arrive.
//!
//! The model has no clocks, locks or sessions: a number exists or does not. Anything that takes time may happen at any
//! moment. Servers decide at the head of the log, so that a decision whose reply is lost needs no action of its own: it
//! is a stream that breaks after it. Messages of one stream arrive in order; those of different streams do not.
//!
//! The database may lose the last commits. Streams from before that are of no further use to the servers.

mod client;
mod server;
mod world;

use stateright::{Model, Property};

pub use self::world::{Action, World};

/// The servers have what the client wants.
pub const AGREED: &str = "client and servers agree when nothing is in flight";
/// What has ended is never there again.
pub const NO_REVIVAL: &str = "nothing that has ended is made again";
/// An end that the client has learned of has been committed.
pub const ENDED: &str = "nothing exists that the client knows to have ended";

/// The bounds of the model.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The number of servers.
    pub servers: u8,
    /// What the client may do, and what may happen to it.
    pub budget: Budget,
    /// A deliberate flaw of the protocol.
    pub flaw: Option<Flaw>,
}

/// Maximum number of each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// The client declares something, under the next number.
    pub declares: u8,
    /// The client withdraws something.
    pub withdraws: u8,
    /// The client connects.
    pub connects: u8,
    /// A server ends something: it expires, or is evicted.
    pub ends: u8,
    /// The database loses its last commits: two at most.
    pub losses: u8,
}

/// A deliberate flaw, which the checker must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// A Hello of an earlier stream is accepted.
    LateHello,
    /// A change of an earlier stream is accepted.
    LateChange,
    /// A number that was used is made again.
    NumberReused,
    /// What a Hello states as known is made again if it has ended.
    HelloRevives,
    /// What a Hello does not state is kept.
    HelloKeepsUnstated,
    /// What a Hello declares is not made.
    HelloDropsDeclared,
    /// What a Hello states as known is not kept.
    HelloDropsKnown,
    /// The client does not withdraw again what it has withdrawn on an earlier stream.
    WithdrawalForgotten,
    /// The client counts something as withdrawn without a confirmation.
    WithdrawnUnconfirmed,
}

impl Flaw {
    /// Every flaw.
    pub const ALL: [Self; 9] = [
        Self::LateHello,
        Self::LateChange,
        Self::NumberReused,
        Self::HelloRevives,
        Self::HelloKeepsUnstated,
        Self::HelloDropsDeclared,
        Self::HelloDropsKnown,
        Self::WithdrawalForgotten,
        Self::WithdrawnUnconfirmed,
    ];
}

impl Limits {
    pub(crate) fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}

impl Model for Limits {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.budget)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.actions(self, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.step(action, self);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(AGREED, |_, world: &World| world.agrees()),
            Property::always(NO_REVIVAL, |_, world: &World| !world.is_revived),
            Property::always(ENDED, |_, world: &World| !world.ended_early),
        ]
    }
}
