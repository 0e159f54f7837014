//! A reader: one watcher's position in a shared subscription.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tenure_core::Revision;

use super::filter::Filter;
use super::subscription::{ReaderId, Subscription};
use super::watchers::Notifier;
use super::{FanOut, Hub};

/// A reader of messages that are encoded once for all watchers of the same filter.
pub struct Reader {
    hub: Arc<Hub>,
    subscription: Arc<Subscription>,
    id: ReaderId,
    notifier: Arc<Notifier>,
    /// The number of the next message to take, if the reader has joined.
    next: Option<u64>,
}

/// An item that a reader receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Messages, as they were encoded.
    Messages {
        /// Everything up to this revision has been sent.
        revision: Revision,
        /// The encoded messages.
        bytes: Bytes,
    },
    /// The next message is no longer kept, or its predecessors were void: the reader must find out by other means what
    /// has happened since, and then [join](Reader::join) again.
    Missed,
    /// No more messages follow.
    Over,
}

impl Reader {
    /// A reader that has not joined yet. Readers with the same connection number are woken together. If the hub had no
    /// fan-out, the caller must run the one returned.
    #[must_use]
    pub fn new(hub: &Arc<Hub>, filter: Filter, connection: u64) -> (Self, Option<FanOut>) {
        let notifier = Notifier::new();
        let mut index = hub.index();
        let fan_out = FanOut::attend(hub, &mut index);
        let subscription = index.select(filter, &hub.budget);
        let id = (connection, index.next_number());
        subscription.enter(id, notifier.clone());
        drop(index);
        (Self { hub: hub.clone(), subscription, id, notifier, next: None }, fan_out)
    }

    /// Starts to receive what happens after a revision. `false` if part of that is no longer or not yet available here:
    /// then the log has it.
    pub fn join(&mut self, after: Revision) -> bool {
        if self.next.is_none() {
            self.next = self.subscription.join(after);
        }
        self.next.is_some()
    }

    /// The next item for a reader that knows everything up to a revision. [`Received::Missed`] if the reader has not
    /// joined.
    pub fn poll_receive(&mut self, known: Revision, context: &mut Context<'_>) -> Poll<Received> {
        if let Some(received) = self.take(known) {
            return Poll::Ready(received);
        }
        self.register(context);
        // Messages that arrived before the registration did not wake the task.
        self.take(known).map_or(Poll::Pending, Poll::Ready)
    }

    /// Registers a task to be woken when there is a new message, or the server begins to drain.
    pub fn register(&self, context: &Context<'_>) {
        self.notifier.register(context.waker());
    }

    /// Whether the server is draining.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.hub.is_draining()
    }

    fn take(&mut self, known: Revision) -> Option<Received> {
        if self.hub.is_over() {
            return Some(Received::Over);
        }
        let Some(next) = &mut self.next else { return Some(Received::Missed) };
        // Reset before the check, so that a message that arrives after it marks the reader again.
        self.notifier.caught_up();
        if !self.subscription.has(*next) {
            return None;
        }
        self.notifier.lags();
        let received = self.subscription.take(next, known);
        if received == Some(Received::Missed) {
            self.next = None;
        }
        received
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(next) = self.next {
            self.subscription.leave(next);
        }
        let mut index = self.hub.index();
        if self.subscription.exit(self.id) {
            index.forget(&self.subscription);
        }
    }
}
