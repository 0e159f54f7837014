//! The network: connections, which keep the order of what goes over them, and links between hosts, which may be slow or cut.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio_util::sync::CancellationToken;

use crate::host::HostId;
use crate::mail::Deed;

/// Nothing arrives earlier than this after it was sent: so far the world can let each host run by itself.
pub const LEAST: Duration = Duration::from_millis(10);

/// A connection that hears nothing for so long is given up by both sides.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// That has made it.
    Caller,
    /// That was called.
    Called,
}

/// A connection, as both sides know it.
#[derive(Debug)]
pub struct Cable {
    /// Its number.
    pub id: u64,
    /// Who has made it.
    pub caller: HostId,
    /// Who was called.
    pub called: HostId,
    /// Cancelled when the side knows that it broke: the caller's and the called one's.
    pub broken: [CancellationToken; 2],
}

impl Cable {
    /// What is cancelled when this side knows that it broke.
    #[must_use]
    pub fn broken(&self, side: Side) -> &CancellationToken {
        &self.broken[side as usize]
    }

    /// Who is at the other side.
    #[must_use]
    pub fn across(&self, side: Side) -> HostId {
        match side {
            Side::Caller => self.called,
            Side::Called => self.caller,
        }
    }
}

/// How the network is at the moment.
#[derive(Debug, Default)]
pub struct Network {
    /// Which hosts nothing reaches from which.
    cuts: BTreeSet<(HostId, HostId)>,
    /// By how much everything takes longer.
    pub slow: Duration,
    open: BTreeMap<u64, Open>,
    next: u64,
}

/// A connection that is there.
struct Open {
    cable: Arc<Cable>,
    /// When the last thing arrives, by who sends.
    last: [Duration; 2],
    /// What waits for a link to be whole again, in order, by who sends.
    stuck: [Vec<Deed>; 2],
}

impl std::fmt::Debug for Open {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.cable.fmt(formatter)
    }
}

/// What becomes of something that was sent.
pub enum Fate {
    /// It arrives then.
    Arrives(Duration, Deed),
    /// It waits, or is lost.
    Not,
}

impl Network {
    /// A new connection.
    pub fn connect(&mut self, caller: HostId, called: HostId) -> Arc<Cable> {
        self.next += 1;
        let cable = Arc::new(Cable { id: self.next, caller, called, broken: Default::default() });
        let open = Open { cable: cable.clone(), last: Default::default(), stuck: Default::default() };
        self.open.insert(self.next, open);
        cable
    }

    /// Whether nothing goes from one host to another.
    #[must_use]
    pub fn is_cut(&self, from: HostId, to: HostId) -> bool {
        self.cuts.contains(&(from, to))
    }

    /// Cuts a link in one direction.
    pub fn cut(&mut self, from: HostId, to: HostId) {
        self.cuts.insert((from, to));
    }

    /// Makes all links whole, and gives out what was stuck, with the connection and the side that it comes from.
    pub fn heal(&mut self) -> Vec<(Arc<Cable>, Side, Deed)> {
        self.cuts.clear();
        let mut stuck = Vec::new();
        for open in self.open.values_mut() {
            for side in [Side::Caller, Side::Called] {
                let deeds = std::mem::take(&mut open.stuck[side as usize]);
                stuck.extend(deeds.into_iter().map(|deed| (open.cable.clone(), side, deed)));
            }
        }
        stuck
    }

    /// How long something takes.
    pub fn delay(&self, rng: &mut StdRng) -> Duration {
        let usual = LEAST + Duration::from_millis(rng.random_range(0..10));
        match rng.random_range(0..100) {
            0 => usual + Duration::from_millis(rng.random_range(0..1_000)),
            _ => usual + self.slow.mul_f64(rng.random()),
        }
    }

    /// What becomes of what is sent over a connection.
    pub fn send(&mut self, cable: &Cable, side: Side, at: Duration, deed: Deed, rng: &mut StdRng) -> Fate {
        let delay = self.delay(rng);
        let is_cut = match side {
            Side::Caller => self.is_cut(cable.caller, cable.called),
            Side::Called => self.is_cut(cable.called, cable.caller),
        };
        let Some(open) = self.open.get_mut(&cable.id) else { return Fate::Not };
        if is_cut || !open.stuck[side as usize].is_empty() {
            open.stuck[side as usize].push(deed);
            return Fate::Not;
        }
        let last = &mut open.last[side as usize];
        *last = (at + delay).max(*last);
        Fate::Arrives(*last, deed)
    }

    /// The connections of a host, or of all.
    #[must_use]
    pub fn of(&self, host: Option<HostId>) -> Vec<Arc<Cable>> {
        let has = |cable: &Cable| host.is_none_or(|host| cable.caller == host || cable.called == host);
        self.open.values().map(|open| &open.cable).filter(|cable| has(cable)).cloned().collect()
    }

    /// The connections on which something is stuck.
    #[must_use]
    pub fn stuck(&self) -> Vec<Arc<Cable>> {
        let is_stuck = |open: &&Open| open.stuck.iter().any(|stuck| !stuck.is_empty());
        self.open.values().filter(is_stuck).map(|open| open.cable.clone()).collect()
    }

    /// Forgets a connection: nothing more arrives over it.
    pub fn forget(&mut self, cable: &Cable) {
        self.open.remove(&cable.id);
    }

    /// Whether a connection is there.
    #[must_use]
    pub fn is_open(&self, cable: &Cable) -> bool {
        self.open.contains_key(&cable.id)
    }
}
