//! Watches of locks and groups.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll};

use tenure_proto::v1;
use tenure_proto::v1::watch_response::Kind;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_stream::{Stream, StreamExt};

use crate::backoff::Backoff;
use crate::connection::{Connection, LARGEST_ANSWER};
use crate::error::{Error, Result};
use crate::model::{Event, Group, GroupEvent, Lock, WatchEvent};
use crate::options::WatchOptions;

/// How many items of a watch may be queued for its reader. Beyond that, the flow control of HTTP/2 stops the server.
const ITEMS_IN_QUEUE: usize = 64;

/// A stream of events: each revision once and in order, across reconnects. It ends when the client is closed, and after
/// an error that a retry cannot fix, which is its last item.
///
/// A slow reader misses nothing: the watch is resumed after the last revision that the reader has received.
#[derive(Debug)]
pub struct Watch {
    items: mpsc::Receiver<Result<WatchEvent>>,
}

impl Watch {
    /// Starts a watch in the background, without waiting.
    pub(crate) fn start(connection: &Connection, options: WatchOptions) -> Self {
        let (sender, items) = mpsc::channel(ITEMS_IN_QUEUE);
        let after = options.after_revision;
        let follower =
            Follower { connection: connection.clone(), options, items: sender, after, snapshot: Default::default() };
        connection.runtime().spawn(follower.run());
        Self { items }
    }

    /// The next item; `None` after the watch has ended.
    pub async fn next(&mut self) -> Option<Result<WatchEvent>> {
        StreamExt::next(self).await
    }
}

impl Stream for Watch {
    type Item = Result<WatchEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.poll_recv(context)
    }
}

/// Follows the service on behalf of a reader.
struct Follower {
    connection: Connection,
    options: WatchOptions,
    items: mpsc::Sender<Result<WatchEvent>>,
    /// All up to this revision has been delivered.
    after: u64,
    /// The parts of a snapshot received so far; of a lock that changed meanwhile, the last state.
    snapshot: (BTreeMap<String, Lock>, Vec<Group>),
}

impl Follower {
    /// Runs until the reader is dropped, the client is closed, or an error occurs that a retry cannot fix.
    async fn run(mut self) {
        let mut backoff = Backoff::of_commands();
        let items = self.items.clone();
        loop {
            let error = tokio::select! {
                () = items.closed() => return,
                error = self.follow(&mut backoff) => error,
            };
            if !error.is_transient() {
                if !matches!(error, Error::Closed) {
                    let _ = items.send(Err(error)).await;
                }
                return;
            }
            tracing::debug!(%error, "the watch is resumed");
            tokio::select! {
                () = items.closed() => return,
                () = sleep(backoff.next_pause()) => {}
            }
        }
    }

    /// Watches at one server, until that ends or the connection leaves the server.
    async fn follow(&mut self, backoff: &mut Backoff) -> Error {
        self.snapshot = Default::default();
        let (wire, mut changes) = match self.connection.wire(Instant::now() + self.connection.call_timeout()).await {
            Ok(wire) => wire,
            Err(error) => return error,
        };
        let request = v1::WatchRequest {
            namespace: self.connection.namespace().to_owned(),
            names: self.options.names.clone(),
            prefixes: self.options.prefixes.clone(),
            groups: self.options.groups.clone(),
            after_revision: self.after,
        };
        let mut service = WatchServiceClient::new(wire).max_decoding_message_size(LARGEST_ANSWER);
        let watching = async {
            let mut responses = service.watch(request).await?.into_inner();
            while let Some(response) = responses.message().await? {
                backoff.reset();
                self.received(response).await;
            }
            Err::<(), _>(tonic::Status::unavailable("the server ended the watch"))
        };
        tokio::select! {
            ended = watching => ended.map_or_else(Error::from, |()| Error::Closed),
            // A silent server would not end it.
            changed = changes.changed() => match changed {
                Ok(()) => Error::Unavailable("the connection has left the server".to_owned()),
                Err(_) => Error::Closed,
            },
        }
    }

    async fn received(&mut self, response: v1::WatchResponse) {
        let revision = response.revision;
        let (item, after) = match response.kind {
            Some(Kind::Snapshot(part)) => {
                self.snapshot.0.extend(part.locks.into_iter().map(|lock| (lock.name.clone(), Lock::from(lock))));
                self.snapshot.1.extend(part.groups);
                if part.more {
                    return;
                }
                let (locks, groups) = std::mem::take(&mut self.snapshot);
                (WatchEvent::Snapshot { locks: locks.into_values().collect(), groups, revision }, revision)
            }
            Some(Kind::Events(batch)) => {
                let events = batch.events.into_iter().flat_map(Event::of_each_lock).collect();
                let group_events = batch.group_events.into_iter().map(GroupEvent::from).collect();
                (WatchEvent::Events { events, group_events, groups: batch.groups, revision }, revision)
            }
            Some(Kind::Progress(_)) | None => (WatchEvent::Progress { revision }, revision),
            Some(Kind::HistoryGone(gone)) => {
                self.snapshot = Default::default();
                (WatchEvent::HistoryGone { cause: gone.cause().into() }, 0)
            }
        };
        // Without a reader, the watch ends.
        if self.items.send(Ok(item)).await.is_ok() {
            self.after = after;
        }
    }
}
