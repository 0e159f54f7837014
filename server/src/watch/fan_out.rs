//! The fan-out: finds out whom what happened concerns, has it encoded once, and wakes the readers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tenure_core::{Event, Group, Revision};
use tokio::time::{MissedTickBehavior, interval};

use super::Hub;
use super::filter::Filter;
use super::index::{Matches, Index};
use super::log::Position;
use super::subscription::Message;
use crate::store::Batch;

/// Who watches something that nothing happens to is told this often how far that is.
const PROGRESS: Duration = Duration::from_secs(10);

/// How often it is looked who is to be told that, and whether anybody still watches.
const LOOK: Duration = Duration::from_secs(1);

/// So many readers are woken before everybody else has a turn: what they do with it takes about a tenth of a millisecond.
const WOKEN: usize = 64;

/// Encodes what is sent to all who watch the same.
pub trait Encoder: Send + Sync {
    /// What happened in a batch. `groups` are those whose last known change is in the batch, as they are after it.
    fn events(&self, filter: &Filter, batch: &Batch, groups: &Groups) -> Encoded;

    /// That all up to a revision has been sent.
    fn progress(&self, revision: Revision) -> Bytes;
}

/// What happened in a batch, encoded.
pub enum Encoded {
    /// Nothing that is watched.
    Nothing,
    /// This.
    Messages(Bytes),
    /// More than is to be encoded at once.
    TooLarge,
}

/// Groups by name, those that are gone included.
pub type Groups = BTreeMap<String, Option<Arc<Group>>>;

/// What the readers of a namespace wait for.
pub struct FanOut {
    hub: Arc<Hub>,
    examined: Position,
    /// Readers woken since everybody else had a turn.
    woken: usize,
}

impl FanOut {
    /// The fan-out of a hub that has none.
    pub(super) fn attend(hub: &Arc<Hub>, index: &mut Index) -> Option<Self> {
        if index.is_attended {
            return None;
        }
        index.is_attended = true;
        index.examined = hub.log().position();
        Some(Self { hub: hub.clone(), examined: index.examined, woken: 0 })
    }

    /// Tells what happens, until nobody watches any more or nothing more can happen.
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

    /// Looks at what has happened; returns the subscriptions that have something new.
    fn examine(&mut self, encoder: &dyn Encoder) -> Matches {
        let (since, position) = {
            let log = self.hub.log();
            (log.news(self.examined), log.position())
        };
        let Some(since) = since.filter(|since| !since.batches.iter().any(|batch| loses_history(batch))) else {
            return self.restart(position);
        };
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

    /// What the readers were told may be void, or something is missing: each of them has to look for itself.
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

    /// Ends if nobody watches.
    fn dismiss(&self) -> bool {
        let mut index = self.hub.index();
        if index.is_empty() {
            index.is_attended = false;
        }
        !index.is_attended
    }

    async fn wake(&mut self, subscriptions: Matches) {
        for subscription in subscriptions.into_values() {
            let mut place = None;
            loop {
                let readers = subscription.readers_after(place, WOKEN - self.woken);
                let Some((last, _)) = readers.last() else { break };
                place = Some(*last);
                self.woken += readers.len();
                for (_, reader) in &readers {
                    reader.notify();
                }
                if self.woken >= WOKEN {
                    self.woken = 0;
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

/// Leaves nobody waiting for what will not come.
struct End(Option<Arc<Hub>>);

impl Drop for End {
    fn drop(&mut self) {
        let Some(hub) = &self.0 else { return };
        hub.over.store(true, Ordering::Release);
        let all = all(&hub.index());
        for (_, reader) in all.values().flat_map(|subscription| subscription.readers_after(None, usize::MAX)) {
            reader.wake();
        }
    }
}

fn all(index: &Index) -> Matches {
    index.all().map(|subscription| (subscription.id(), subscription.clone())).collect()
}

fn loses_history(batch: &Batch) -> bool {
    batch.events.iter().any(|recorded| matches!(recorded.event, Event::HistoryLost { .. }))
}

/// The groups whose last change is in each batch, by the batch's revision, as they are known to be after it.
pub fn last_changes(batches: &[Arc<Batch>], known: &Groups) -> BTreeMap<Revision, Groups> {
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut changes: BTreeMap<Revision, Groups> = BTreeMap::new();
    for batch in batches.iter().rev() {
        for recorded in &batch.events {
            if let Event::Group { group, .. } = &recorded.event
                && told.insert(group)
                && let Some(state) = known.get(&**group)
            {
                changes.entry(batch.revision()).or_default().insert(group.to_string(), state.clone());
            }
        }
    }
    changes
}
