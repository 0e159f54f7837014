//! A watch that does not share what the others are told: it has just begun, or its reader is slow.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use tenure_core::{Event, Revision};
use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind;

use super::groups;
use super::snapshot::Turns;
use super::wording::{encode, events_after, told};
use crate::hub::{Filter, Groups, Since, last_changes};
use crate::sequencer::{Namespace, Refusal};
use crate::service::convert;
use crate::store::StoreError;

/// How many events are taken from history at a time.
const HISTORY: usize = 1_000;

/// A read that failed is tried again after this.
const RETRY: Duration = Duration::from_millis(200);

/// How far one watch has come by itself.
pub(super) struct Behind {
    pub(super) namespace: Namespace,
    pub(super) filter: Filter,
    /// All up to here has been told.
    pub(super) cursor: Revision,
    pub(super) snapshot_first: bool,
    pub(super) turns: Turns,
    /// Groups that have changed since the reader was told how they are.
    pub(super) owed: BTreeSet<String>,
    /// Whether there was nothing left to tell.
    pub(super) is_level: bool,
}

/// Nothing more happens here.
pub(super) struct Over;

impl Behind {
    /// Goes on to the next messages. There may be none: then it waits until there is a reason to look again.
    pub(super) async fn go_on(mut self) -> (Self, Result<Vec<Bytes>, Over>) {
        let namespace = self.namespace.clone();
        let told = tokio::select! {
            told = self.tell() => told,
            () = namespace.ended() => Err(Over),
        };
        (self, told)
    }

    async fn tell(&mut self) -> Result<Vec<Bytes>, Over> {
        if self.snapshot_first {
            self.snapshot_first = false;
            return self.tell_snapshot().await;
        }
        let mut head = self.namespace.hub().head();
        head.mark_unchanged();
        let told_up_to = self.cursor;
        let told = self.tell_events().await?;
        let was_level = std::mem::replace(&mut self.is_level, told.is_empty() && self.cursor == told_up_to);
        if self.is_level && was_level {
            // The fan-out may be as little as a moment behind.
            let _ = tokio::time::timeout(RETRY, head.changed()).await;
        }
        Ok(told)
    }

    /// Tells what is there after the cursor, from memory or else from history.
    async fn tell_events(&mut self) -> Result<Vec<Bytes>, Over> {
        let since = match self.namespace.hub().after(self.cursor, &self.filter.groups, HISTORY) {
            Some(since) => since,
            None => match self.namespace.store().read(self.namespace.name(), self.cursor, HISTORY).await {
                // How the groups were after these is not known here: that is told when the reader has caught up.
                Ok(tail) => Since { batches: tail.batches, ..Since::default() },
                Err(StoreError::Compacted(_)) => return self.tell_gone(v1::HistoryGoneCause::Compacted).await,
                Err(error) => {
                    tracing::debug!(%error, "a watch cannot read history");
                    tokio::time::sleep(RETRY).await;
                    return Ok(Vec::new());
                }
            },
        };
        let mut messages = Vec::new();
        let mut last = last_changes(&since.batches, &since.groups);
        for batch in since.batches {
            if batch.events.iter().any(|recorded| matches!(recorded.event, Event::HistoryLost { .. })) {
                messages.extend(self.tell_gone(v1::HistoryGoneCause::Lost).await?);
                return Ok(messages);
            }
            let group_events = groups::events(&batch, self.cursor, &self.filter.groups);
            self.owed.extend(group_events.into_iter().map(|event| event.group));
            let known = last.remove(&batch.revision()).unwrap_or_default();
            let states = self.take_owed(&known);
            messages.extend(events_after(self.cursor, &self.filter, &batch, states));
            self.cursor = batch.revision();
        }
        let groups = self.take_owed(&since.groups);
        if !groups.is_empty() {
            messages.push(told(self.cursor, v1::Events { groups, ..v1::Events::default() }));
        }
        Ok(messages)
    }

    /// Those of the groups that the reader has yet to be told of, if it is known how they are.
    fn take_owed(&mut self, known: &Groups) -> Vec<v1::Group> {
        let mut groups = Vec::new();
        self.owed.retain(|name| match known.get(name) {
            Some(group) => {
                groups.push(convert::group(name, group.as_deref()));
                false
            }
            None => true,
        });
        groups
    }

    async fn tell_gone(&mut self, cause: v1::HistoryGoneCause) -> Result<Vec<Bytes>, Over> {
        let gone = encode(self.cursor, Kind::HistoryGone(v1::HistoryGone { cause: cause.into() }));
        let mut messages = vec![gone];
        messages.extend(self.tell_snapshot().await?);
        Ok(messages)
    }

    async fn tell_snapshot(&mut self) -> Result<Vec<Bytes>, Over> {
        loop {
            match self.turns.make(self.namespace.clone(), self.filter.clone()).await {
                Ok(Ok((revision, messages))) => {
                    self.cursor = revision;
                    self.owed.clear();
                    return Ok(messages);
                }
                Ok(Err(Refusal::Draining)) | Err(_) => return Err(Over),
                Ok(Err(error)) => tracing::debug!(%error, "a watch cannot read a snapshot"),
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}
