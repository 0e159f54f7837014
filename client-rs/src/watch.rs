//! Watches of locks and groups.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt};

use crate::connection::{Connection, Note, WatchKey};
use crate::error::Result;
use crate::model::WatchEvent;
use crate::options::WatchOptions;

/// How many items of a watch may be queued for its reader before the watch is stopped and resumed later.
const ITEMS_IN_QUEUE: usize = 64;

/// A stream of events: each revision once and in order, across reconnects. It ends when the client is closed, and after
/// an error that a retry cannot fix, which is its last item.
///
/// A slow reader misses nothing: the watch is resumed after the last revision that the reader has received.
#[derive(Debug)]
pub struct Watch {
    key: WatchKey,
    items: mpsc::Receiver<Result<WatchEvent>>,
    /// Set by the connection when it stopped the watch because this reader was behind.
    paused: Arc<AtomicBool>,
    connection: Connection,
}

impl Watch {
    /// Starts a watch in the background, without waiting.
    pub(crate) fn start(connection: &Connection, options: WatchOptions) -> Self {
        let (sender, items) = mpsc::channel(ITEMS_IN_QUEUE);
        let watch =
            Self { key: WatchKey(connection.key()), items, paused: Arc::default(), connection: connection.clone() };
        let paused = Arc::clone(&watch.paused);
        connection.note(Note::WatchStarted { watch: watch.key, options, items: sender, paused });
        watch
    }

    /// The next item; `None` after the watch has ended.
    pub async fn next(&mut self) -> Option<Result<WatchEvent>> {
        StreamExt::next(self).await
    }
}

impl Stream for Watch {
    type Item = Result<WatchEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = self.items.poll_recv(context);
        if item.is_ready() && self.items.is_empty() && self.paused.swap(false, Ordering::SeqCst) {
            self.connection.note(Note::WatchDrained { watch: self.key });
        }
        item
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.connection.note(Note::WatchDropped { watch: self.key });
    }
}
