//! Watchers that only count notifications.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use prost::encoding::{DecodeContext, decode_key, skip_field};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::target::http2::{Connection, Output};

/// The number of connections that they share.
const CONNECTIONS: usize = 32;

/// The limit of the wait until all watches run, or all watchers are notified.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The call that starts a watch.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method.
    pub path: &'static str,
    /// The encoded request.
    pub request: Vec<u8>,
    /// Whether the method has a request stream.
    pub has_request_stream: bool,
    /// The field number that marks the answer after which the watch runs.
    pub begun: u32,
    /// The field number that marks a notification of a change.
    pub change: u32,
}

/// The watchers.
#[derive(Debug)]
pub struct Watchers {
    notified: mpsc::UnboundedReceiver<Instant>,
    tasks: JoinSet<anyhow::Result<()>>,
}

/// The counts of all watchers.
#[derive(Debug)]
struct Tally {
    size: usize,
    watching: AtomicUsize,
    changes: AtomicUsize,
    /// Sent when all watches have begun, and after that when all watchers were notified of a change.
    all: mpsc::UnboundedSender<Instant>,
}

impl Watchers {
    /// Starts this number of watches.
    pub async fn start(port: u16, size: usize, call: &Call) -> anyhow::Result<Self> {
        let (all, notified) = mpsc::unbounded_channel();
        let tally = Tally { size, watching: AtomicUsize::new(0), changes: AtomicUsize::new(0), all };
        let (tally, mut tasks) = (Arc::new(tally), JoinSet::new());
        for connection in 0..CONNECTIONS.min(size) {
            let watchers = (connection..size).step_by(CONNECTIONS).count();
            let connection = Connection::open(port).await?;
            tasks.spawn(listen(connection, watchers, call.clone(), Arc::clone(&tally)));
        }
        let mut all_watchers = Self { notified, tasks };
        if size > 0 {
            all_watchers.all_notified().await.context("not all watches started")?;
        }
        Ok(all_watchers)
    }

    /// Waits until the last watcher is notified of the next change, and returns when that was.
    pub async fn all_notified(&mut self) -> anyhow::Result<Instant> {
        tokio::select! {
            biased;
            Some(at) = self.notified.recv() => Ok(at),
            Some(ended) = self.tasks.join_next() => {
                ended??;
                bail!("a watcher ended")
            }
            () = tokio::time::sleep(TIMEOUT) => bail!("not all watchers were notified within {TIMEOUT:?}"),
        }
    }
}

async fn listen(mut connection: Connection, watchers: usize, call: Call, tally: Arc<Tally>) -> anyhow::Result<()> {
    for _ in 0..watchers {
        let stream = connection.output().begin(call.path);
        if call.has_request_stream {
            connection.output().message(stream, &call.request);
        } else {
            connection.output().only_message(stream, &call.request);
        }
    }
    loop {
        let (mut begun, mut changes) = (0, 0);
        let mut take = |_, message: &[u8], _: &mut Output| {
            match first_of(message, [call.begun, call.change]) {
                Some(field) if field == call.change => changes += 1,
                Some(_) => begun += 1,
                // A progress message without changes.
                None => {}
            }
            Ok(())
        };
        connection.receive(&mut take).await?;
        tally.count(&tally.watching, begun);
        tally.count(&tally.changes, changes);
    }
}

impl Tally {
    fn count(&self, counter: &AtomicUsize, more: usize) {
        let before = counter.fetch_add(more, Ordering::AcqRel);
        // The next change is made only after all were notified of this one.
        if more > 0 && (before + more).is_multiple_of(self.size) {
            // The receiver is dropped at the end.
            let _ = self.all.send(Instant::now());
        }
    }
}

/// The first of these fields that occurs in a message.
fn first_of(mut message: &[u8], fields: [u32; 2]) -> Option<u32> {
    while let Ok((field, kind)) = decode_key(&mut message) {
        if fields.contains(&field) {
            return Some(field);
        }
        skip_field(kind, field, &mut message, DecodeContext::default()).ok()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_of_the_fields_is_found() {
        // 1: varint 300, 11: two bytes, 3: varint 1.
        let message = [0x08, 0xac, 0x02, 0x5a, 0x02, 9, 9, 0x18, 0x01];
        assert_eq!(first_of(&message, [3, 11]), Some(11));
        assert_eq!(first_of(&message, [3, 4]), Some(3));
        assert_eq!(first_of(&message, [5, 6]), None);
    }
}
