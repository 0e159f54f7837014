//! Queues the messages that hosts send. The world drains the queue after a host has run, and decides the fate of each
//! message.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::host::HostId;
use crate::network::{Connection, Side};
use crate::world::World;

/// Action that the world runs when a message arrives.
pub type Action = Box<dyn FnOnce(&mut World) + Send>;

/// A sent message.
pub struct Sent {
    /// Send time, in world time.
    pub at: Duration,
    /// Sending host.
    pub from: HostId,
    /// Route of the message.
    pub route: Route,
    /// Action to run on arrival.
    pub action: Action,
}

/// Route of a message.
#[derive(Clone)]
pub enum Route {
    /// Over a connection, from this side.
    Connection(Arc<Connection>, Side),
    /// To a host, without a connection.
    Host(HostId),
    /// To the database.
    Database,
}

/// Messages that were sent and not yet taken.
#[derive(Clone, Default)]
pub struct Outbox(Arc<Mutex<Vec<Sent>>>);

impl Outbox {
    /// Sends a message.
    pub fn send(&self, sent: Sent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
    }

    /// Takes all queued messages.
    pub fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
