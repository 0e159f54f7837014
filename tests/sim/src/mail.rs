//! What hosts send. The world takes it out when the host has run, and decides what becomes of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::host::HostId;
use crate::network::{Cable, Side};
use crate::world::World;

/// What is done when something arrives. It is done by the world, at that moment.
pub type Deed = Box<dyn FnOnce(&mut World) + Send>;

/// Something that was sent.
pub struct Sent {
    /// When, in the world's time.
    pub at: Duration,
    /// By whom.
    pub from: HostId,
    /// Which way it goes.
    pub way: Way,
    /// What is done when it arrives.
    pub deed: Deed,
}

/// Which way something goes.
#[derive(Clone)]
pub enum Way {
    /// Over a connection, from this side of it.
    Cable(Arc<Cable>, Side),
    /// To a host, without a connection.
    Host(HostId),
    /// To the database.
    Database,
}

/// What was sent and not taken out yet.
#[derive(Clone, Default)]
pub struct Mail(Arc<Mutex<Vec<Sent>>>);

impl Mail {
    /// Sends.
    pub fn send(&self, sent: Sent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
    }

    /// All that was sent.
    pub fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
