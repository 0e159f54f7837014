//! Simulates the network: connections, which keep messages in order, and links between hosts, which may be slow or cut.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio_util::sync::CancellationToken;

use crate::host::HostId;
use crate::outbox::Action;

/// Minimum network delay. Within this span the world can run each host independently of the others.
pub const MIN_DELAY: Duration = Duration::from_millis(10);

/// Both sides close a connection after this long without traffic.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(3);

/// One side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that opened the connection.
    Caller,
    /// The side that accepted the connection.
    Called,
}

/// A connection, shared by both sides.
#[derive(Debug)]
pub struct Connection {
    /// Connection number.
    pub id: u64,
    /// Host that opened the connection.
    pub caller: HostId,
    /// Host that accepted the connection.
    pub called: HostId,
    /// Cancelled when a side learns that the connection broke, indexed by [`Side`].
    pub broken: [CancellationToken; 2],
}

impl Connection {
    /// The token that is cancelled when this side learns that the connection broke.
    #[must_use]
    pub fn broken(&self, side: Side) -> &CancellationToken {
        &self.broken[side as usize]
    }

    /// The host at the other side.
    #[must_use]
    pub fn across(&self, side: Side) -> HostId {
        match side {
            Side::Caller => self.called,
            Side::Called => self.caller,
        }
    }
}

/// Current state of the network.
#[derive(Debug, Default)]
pub struct Network {
    /// Cut links, as (sender, receiver).
    cuts: BTreeSet<(HostId, HostId)>,
    /// Upper bound of the extra delay of each message.
    pub slow: Duration,
    open: BTreeMap<u64, Open>,
    next: u64,
}

/// An open connection.
struct Open {
    connection: Arc<Connection>,
    /// Arrival time of the last message, by sending side.
    last: [Duration; 2],
    /// Messages held back until the link heals, in order, by sending side.
    stuck: [Vec<Action>; 2],
}

impl std::fmt::Debug for Open {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.connection.fmt(formatter)
    }
}

/// Fate of a sent message.
pub enum Fate {
    /// The message arrives at this time.
    Arrives(Duration, Action),
    /// The message is held back or lost.
    Withheld,
}

impl Network {
    /// Opens a connection.
    pub fn connect(&mut self, caller: HostId, called: HostId) -> Arc<Connection> {
        self.next += 1;
        let connection = Arc::new(Connection { id: self.next, caller, called, broken: Default::default() });
        let open = Open { connection: connection.clone(), last: Default::default(), stuck: Default::default() };
        self.open.insert(self.next, open);
        connection
    }

    /// Whether the link from one host to another is cut.
    #[must_use]
    pub fn is_cut(&self, from: HostId, to: HostId) -> bool {
        self.cuts.contains(&(from, to))
    }

    /// Cuts a link in one direction.
    pub fn cut(&mut self, from: HostId, to: HostId) {
        self.cuts.insert((from, to));
    }

    /// Heals all links and returns the messages that were held back, with the connection and the sending side.
    pub fn heal(&mut self) -> Vec<(Arc<Connection>, Side, Action)> {
        self.cuts.clear();
        let mut stuck = Vec::new();
        for open in self.open.values_mut() {
            for side in [Side::Caller, Side::Called] {
                let actions = std::mem::take(&mut open.stuck[side as usize]);
                stuck.extend(actions.into_iter().map(|action| (open.connection.clone(), side, action)));
            }
        }
        stuck
    }

    /// Draws the delay of one message.
    pub fn delay(&self, rng: &mut StdRng) -> Duration {
        let usual = MIN_DELAY + Duration::from_millis(rng.random_range(0..10));
        match rng.random_range(0..100) {
            0 => usual + Duration::from_millis(rng.random_range(0..1_000)),
            _ => usual + self.slow.mul_f64(rng.random()),
        }
    }

    /// Sends a message over a connection and returns its fate.
    pub fn send(
        &mut self,
        connection: &Connection,
        side: Side,
        at: Duration,
        action: Action,
        rng: &mut StdRng,
    ) -> Fate {
        let delay = self.delay(rng);
        let is_cut = match side {
            Side::Caller => self.is_cut(connection.caller, connection.called),
            Side::Called => self.is_cut(connection.called, connection.caller),
        };
        let Some(open) = self.open.get_mut(&connection.id) else { return Fate::Withheld };
        if is_cut || !open.stuck[side as usize].is_empty() {
            open.stuck[side as usize].push(action);
            return Fate::Withheld;
        }
        let last = &mut open.last[side as usize];
        *last = (at + delay).max(*last);
        Fate::Arrives(*last, action)
    }

    /// The connections of a host, or all connections.
    #[must_use]
    pub fn of(&self, host: Option<HostId>) -> Vec<Arc<Connection>> {
        let has =
            |connection: &Connection| host.is_none_or(|host| connection.caller == host || connection.called == host);
        self.open.values().map(|open| &open.connection).filter(|connection| has(connection)).cloned().collect()
    }

    /// The connections with messages held back by a cut link.
    #[must_use]
    pub fn stuck(&self) -> Vec<Arc<Connection>> {
        let is_stuck = |open: &&Open| open.stuck.iter().any(|stuck| !stuck.is_empty());
        self.open.values().filter(is_stuck).map(|open| open.connection.clone()).collect()
    }

    /// Removes a connection. Messages in flight on it are dropped.
    pub fn forget(&mut self, connection: &Connection) {
        self.open.remove(&connection.id);
    }

    /// Whether a connection is open.
    #[must_use]
    pub fn is_open(&self, connection: &Connection) -> bool {
        self.open.contains_key(&connection.id)
    }
}
