//! The fan-out: finds the subscriptions that committed events match, has the events encoded once, and wakes the
//! readers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tenure_core::{Event, Group, Revision};
use tokio::time::{MissedTickBehavior, interval};

use super::Hub;
use super::filter::Filter;
use super::index::{Index, Matches};
use super::log::Position;
use super::subscription::Message;
use crate::store::Batch;

/// How often watchers without events are sent their progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// How often to check for due progress messages and for remaining watchers.
const LOOK: Duration = Duration::from_secs(1);

/// Number of readers woken before the task yields, up to twice as many: they then work for about a tenth of a
/// millisecond.
const WOKEN: usize = 64;

/// Encodes the messages that all watchers of the same filter share.
pub trait Encoder: Send + Sync {
    /// Encodes the events of a batch. `groups` are those whose last known change is in the batch, as they are after it.
    fn events(&self, filter: &Filter, batch: &Batch, groups: &Groups) -> Encoded;

    /// Encodes that everything up to a revision has been sent.
    fn progress(&self, revision: Revision) -> Bytes;
}

/// The encoded events of a batch.
pub enum Encoded {
    /// No event is watched.
    Nothing,
    /// The messages.
    Messages(Bytes),
    /// The messages exceed what may be encoded at once.
    TooLarge,
}

/// Groups by name; `None` for those that no longer exist.
pub type Groups = BTreeMap<String, Option<Arc<Group>>>;

/// The task that feeds the readers of a namespace.
pub struct FanOut {
    hub: Arc<Hub>,
    examined: Position,
    /// Readers woken since the task last yielded.
    woken: usize,
}

impl FanOut {
    /// Creates the fan-out of a hub that has none.
    pub(super) fn attend(hub: &Arc<Hub>, index: &mut Index) -> Option<Self> {
        if index.is_attended {
            return None;
        }
        index.is_attended = true;
        index.examined = hub.log().position();
        Some(Self { hub: hub.clone(), examined: index.examined, woken: 0 })
    }

    /// Delivers events until there are no more watchers or the namespace has ended.
    pub async fn run(
        mut self,
        encoder: &dyn Encoder,
        draining: impl Future<Output = ()> + Send,
        ended: impl Future<Output = ()> + Send,
    ) {
        let mut end = End(Some(self.hub.clone()));
        let (mut draining, mut ended) = (std::pin::pin!(draining), std::pin::pin!(ended));
        let mut head = self.hub.head();
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            head.mark_unchanged();
            let concerned = self.examine(encoder);
            self.wake(concerned).await;
            tokio::select! {
                changed = head.changed() => if changed.is_err() { return },
                () = &mut draining, if !self.hub.is_draining() => {
                    self.hub.draining.store(true, Ordering::Release);
                    let all = all(&self.hub.index());
                    self.wake(all).await;
                }
                () = &mut ended => return,
                _ = look.tick() => {
                    if self.dismiss() {
                        end.0 = None;
                        return;
                    }
                    let quiet = self.mark_progress(encoder);
                    self.wake(quiet).await;
                }
            }
        }
    }

    /// Examines new batches. Returns the subscriptions that have new messages.
    fn examine(&mut self, encoder: &dyn Encoder) -> Matches {
        let (since, position) = {
            let log = self.hub.log();
            (log.news(self.examined), log.position())
        };
        let Some(since) = since else { return self.restart(position) };
        let mut last = last_changes(&since.batches, &since.groups);
        let mut concerned = Matches::new();
        for batch in since.batches {
            self.examined.revision = batch.revision();
            let found = {
                let mut index = self.hub.index();
                index.examined = self.examined;
                index.concerned(&batch)
            };
            let groups = last.remove(&batch.revision()).unwrap_or_default();
            for (id, subscription) in found {
                let revision = batch.revision();
                match encoder.events(subscription.filter(), &batch, &groups) {
                    Encoded::Nothing => continue,
                    Encoded::Messages(bytes) => subscription.push(Message { revision, is_mark: false, bytes }),
                    Encoded::TooLarge => subscription.restart(revision),
                }
                concerned.insert(id, subscription);
            }
        }
        concerned
    }

    /// Restarts every subscription: sent messages may be void, or batches are missing, so each reader must check for
    /// itself.
    fn restart(&mut self, position: Position) -> Matches {
        self.examined = position;
        let mut index = self.hub.index();
        index.examined = position;
        let all = all(&index);
        for subscription in all.values() {
            subscription.restart(position.revision);
        }
        all
    }

    fn mark_progress(&self, encoder: &dyn Encoder) -> Matches {
        let revision = self.examined.revision;
        let mut quiet = all(&self.hub.index());
        quiet.retain(|_, subscription| subscription.is_quiet_for(PROGRESS));
        if !quiet.is_empty() {
            let bytes = encoder.progress(revision);
            for subscription in quiet.values() {
                subscription.push(Message { revision, is_mark: true, bytes: bytes.clone() });
            }
        }
        quiet
    }

    /// Ends the fan-out if there are no watchers. Returns whether it has ended.
    fn dismiss(&self) -> bool {
        let mut index = self.hub.index();
        if index.is_empty() {
            index.is_attended = false;
        }
        !index.is_attended
    }

    async fn wake(&mut self, subscriptions: Matches) {
        for subscription in subscriptions.into_values() {
            for readers in subscription.reader_pages(WOKEN) {
                self.woken += readers.len();
                readers.iter().for_each(|reader| reader.notify());
                if self.woken >= WOKEN {
                    self.woken = 0;
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

/// Ends the hub on drop, so that no reader waits for messages that will not come.
struct End(Option<Arc<Hub>>);

impl Drop for End {
    fn drop(&mut self) {
        let Some(hub) = &self.0 else { return };
        hub.over.store(true, Ordering::Release);
        let all = all(&hub.index());
        for reader in all.values().flat_map(|subscription| subscription.reader_pages(WOKEN)).flatten() {
            reader.wake();
        }
    }
}

fn all(index: &Index) -> Matches {
    index.all().map(|subscription| (subscription.id(), subscription.clone())).collect()
}

/// The groups whose last change is in each batch, by the batch's revision, in the state known after it.
pub fn last_changes(batches: &[Arc<Batch>], known: &Groups) -> BTreeMap<Revision, Groups> {
    let mut noted: BTreeSet<&str> = BTreeSet::new();
    let mut changes: BTreeMap<Revision, Groups> = BTreeMap::new();
    for batch in batches.iter().rev() {
        for recorded in &batch.events {
            if let Event::Group { group, .. } = &recorded.event
                && noted.insert(group)
                && let Some(state) = known.get(&**group)
            {
                changes.entry(batch.revision()).or_default().insert(group.to_string(), state.clone());
            }
        }
    }
    changes
}
