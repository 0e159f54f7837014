//! Watches: resumed on each stream after the last revision that was delivered to the reader.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_proto::v1;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::watch_response::Kind as Received;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::{Engine, Timer, What, backoff};
use crate::backoff::Backoff;
use crate::clock::Moment;
use crate::connection::WatchKey;
use crate::error::{Refusal, Result};
use crate::model::{Event, Group, GroupEvent, Lock, WatchEvent};
use crate::options::WatchOptions;

/// One watch.
#[derive(Debug)]
pub(super) struct Watched {
    options: WatchOptions,
    items: mpsc::Sender<Result<WatchEvent>>,
    /// Shared with the reader: whether it must send a note when it has caught up.
    paused: Arc<AtomicBool>,
    is_paused: bool,
    command: Option<u64>,
    /// All up to this revision has been delivered.
    after: u64,
    /// The parts of a snapshot received so far; of a lock that changed meanwhile, the last state.
    snapshot: (BTreeMap<String, Lock>, Vec<Group>),
    backoff: Backoff,
}

impl Watched {
    pub(super) fn new(options: WatchOptions, items: mpsc::Sender<Result<WatchEvent>>, paused: Arc<AtomicBool>) -> Self {
        let after = options.after_revision;
        Self {
            options,
            items,
            paused,
            is_paused: false,
            command: None,
            after,
            snapshot: Default::default(),
            backoff: backoff(),
        }
    }

    pub(super) fn detach(&mut self) {
        self.command = None;
        self.snapshot = Default::default();
    }
}

impl Engine {
    pub(super) fn start_watch(&mut self, key: WatchKey, watched: Watched, now: Moment) {
        self.watches.insert(key, watched);
        self.send_watch(key, now);
    }

    pub(super) fn send_watch(&mut self, key: WatchKey, now: Moment) {
        let Some(watched) = self.watches.get(&key) else { return };
        if watched.is_paused || watched.command.is_some() {
            return;
        }
        let request = v1::WatchRequest {
            namespace: self.namespace.clone(),
            names: watched.options.names.clone(),
            prefixes: watched.options.prefixes.clone(),
            groups: watched.options.groups.clone(),
            after_revision: watched.after,
        };
        let command = self.send(Kind::Watch(request), What::Watch(key), now);
        if let Some(watched) = self.watches.get_mut(&key) {
            watched.command = command;
        }
    }

    pub(super) fn drop_watch(&mut self, key: WatchKey) {
        if let Some(command) = self.watches.remove(&key).and_then(|watched| watched.command) {
            self.stop_watch(command);
        }
    }

    /// Ends a watch on the stream. Further messages of it are ignored.
    fn stop_watch(&mut self, command: u64) {
        if let Some(stream) = self.stream.as_mut() {
            stream.sent.remove(&command);
        }
        self.cancel(command);
    }

    /// The reader has caught up.
    pub(super) fn resume_watch(&mut self, key: WatchKey, now: Moment) {
        if let Some(watched) = self.watches.get_mut(&key) {
            watched.is_paused = false;
            self.send_watch(key, now);
        }
    }

    pub(super) fn watch_received(&mut self, key: WatchKey, answer: v1::WatchResponse, now: Moment) {
        let Some(watched) = self.watches.get_mut(&key) else { return };
        let revision = answer.revision;
        watched.backoff.reset();
        let (item, after) = match answer.kind {
            Some(Received::Snapshot(part)) => {
                watched.snapshot.0.extend(part.locks.into_iter().map(|lock| (lock.name.clone(), Lock::from(lock))));
                watched.snapshot.1.extend(part.groups.into_iter().map(Group::from));
                if part.more {
                    return;
                }
                let (locks, groups) = std::mem::take(&mut watched.snapshot);
                let locks = locks.into_values().collect();
                (WatchEvent::Snapshot { locks, groups, revision }, revision)
            }
            Some(Received::Events(batch)) => {
                let events = batch.events.into_iter().flat_map(Event::of_each_lock).collect();
                let group_events = batch.group_events.into_iter().map(GroupEvent::from).collect();
                let groups = batch.groups.into_iter().map(Group::from).collect();
                (WatchEvent::Events { events, group_events, groups, revision }, revision)
            }
            Some(Received::Progress(_)) | None => (WatchEvent::Progress { revision }, revision),
            Some(Received::HistoryGone(gone)) => {
                watched.snapshot = Default::default();
                (WatchEvent::HistoryGone { cause: gone.cause().into() }, 0)
            }
        };
        match watched.items.try_send(Ok(item)) {
            Ok(()) => watched.after = after,
            Err(TrySendError::Full(_)) => self.pause_watch(key, now),
            Err(TrySendError::Closed(_)) => self.drop_watch(key),
        }
    }

    /// Stops a watch whose reader is behind: its messages must not accumulate, and other answers must not wait. The
    /// watch is resumed later, after the last delivered revision.
    fn pause_watch(&mut self, key: WatchKey, now: Moment) {
        let Some(watched) = self.watches.get_mut(&key) else { return };
        watched.is_paused = true;
        watched.snapshot = Default::default();
        watched.paused.store(true, Ordering::SeqCst);
        // The reader may have emptied the queue just before it could see `paused`.
        let is_drained = watched.items.capacity() == watched.items.max_capacity();
        if let Some(command) = watched.command.take() {
            self.stop_watch(command);
        }
        if is_drained {
            self.resume_watch(key, now);
        }
    }

    pub(super) fn watch_refused(&mut self, key: WatchKey, refusal: Refusal, now: Moment) {
        let for_now = self.is_for_now(&refusal);
        let Some(watched) = self.watches.get_mut(&key) else { return };
        watched.detach();
        if for_now {
            self.timers.set(now.after(watched.backoff.next_pause()), Timer::Watch(key));
            return;
        }
        // The sender is dropped with the entry, which ends the stream. A reader whose queue is full sees only the end,
        // without the reason.
        if let Some(watched) = self.watches.remove(&key) {
            let _ = watched.items.try_send(Err(refusal.into()));
        }
    }
}
