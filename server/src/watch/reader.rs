//! One who watches, as the hub sees it.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tenure_core::Revision;

use super::filter::Filter;
use super::subscription::{Place, Subscription};
use super::watchers::Notifier;
use super::{FanOut, Hub};

/// A reader of what is encoded once for all who watch the same.
pub struct Reader {
    hub: Arc<Hub>,
    subscription: Arc<Subscription>,
    place: Place,
    notifier: Arc<Notifier>,
    /// The number of the message to take next, if it takes any.
    next: Option<u64>,
}

/// What a reader hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Messages, as they were encoded.
    Told {
        /// All up to this revision has been told.
        revision: Revision,
        /// The message.
        bytes: Bytes,
    },
    /// The next message is no longer kept, or what it would follow was void: the reader has to find out for itself what
    /// happened since, and then [joins](Reader::join) again.
    Missed,
    /// Nothing more happens here.
    Over,
}

impl Reader {
    /// A reader that has yet to join. Readers with the same number for their connection are woken together. If nobody
    /// watched before, there is a fan-out, which the caller must run.
    #[must_use]
    pub fn new(hub: &Arc<Hub>, filter: Filter, connection: u64) -> (Self, Option<FanOut>) {
        let notifier = Notifier::new();
        let mut index = hub.index();
        let fan_out = FanOut::attend(hub, &mut index);
        let subscription = index.select(filter);
        let place = (connection, index.next_number());
        subscription.enter(place, notifier.clone());
        drop(index);
        (Self { hub: hub.clone(), subscription, place, notifier, next: None }, fan_out)
    }

    /// Begins to take what happens after a revision. `false` if some of that cannot be had here any more, or not yet: then
    /// the log has it.
    pub fn join(&mut self, after: Revision) -> bool {
        if self.next.is_none() {
            self.next = self.subscription.join(after);
        }
        self.next.is_some()
    }

    /// What comes next for a reader who knows all up to a revision. One that has not joined has missed it.
    pub fn poll_heard(&mut self, known: Revision, context: &mut Context<'_>) -> Poll<Heard> {
        if let Some(heard) = self.take(known) {
            return Poll::Ready(heard);
        }
        self.register(context);
        // What came in between did not wake anybody.
        self.take(known).map_or(Poll::Pending, Poll::Ready)
    }

    /// Has a task woken when there is something new, or the server is about to stop.
    pub fn register(&self, context: &Context<'_>) {
        self.notifier.register(context.waker());
    }

    /// Whether the server is about to stop.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.hub.is_draining()
    }

    fn take(&mut self, known: Revision) -> Option<Heard> {
        if self.hub.is_over() {
            return Some(Heard::Over);
        }
        let Some(next) = &mut self.next else { return Some(Heard::Missed) };
        // Before it is looked: what comes after that is noted anew.
        self.notifier.caught_up();
        if !self.subscription.has(*next) {
            return None;
        }
        self.notifier.lags();
        let heard = self.subscription.take(next, known);
        if heard == Some(Heard::Missed) {
            self.next = None;
        }
        heard
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(next) = self.next {
            self.subscription.leave(next);
        }
        let mut index = self.hub.index();
        if self.subscription.exit(self.place) {
            index.forget(&self.subscription);
        }
    }
}
