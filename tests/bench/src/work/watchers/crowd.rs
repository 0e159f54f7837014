//! A crowd of watchers that only count what they are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use prost::encoding::{DecodeContext, decode_key, skip_field};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::target::http2::{Connection, Output};

/// How many connections they share.
const CONNECTIONS: usize = 32;

/// How long it may take until all watch, or all have been told.
const PATIENCE: Duration = Duration::from_secs(60);

/// How to watch.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method.
    pub path: &'static str,
    /// The encoded request.
    pub request: Vec<u8>,
    /// Whether the method takes more requests than this one.
    pub takes_more: bool,
    /// The number of the field that the first answer has, from which on the watch runs.
    pub begun: u32,
    /// The number of the field that an answer has which tells of a change.
    pub change: u32,
}

/// The watchers.
#[derive(Debug)]
pub struct Crowd {
    told: mpsc::UnboundedReceiver<Instant>,
    tasks: JoinSet<anyhow::Result<()>>,
}

/// What they have heard together.
#[derive(Debug)]
struct Tally {
    size: usize,
    watching: AtomicUsize,
    changes: AtomicUsize,
    /// When all have begun, and from then on when all have been told of a change.
    all: mpsc::UnboundedSender<Instant>,
}

impl Crowd {
    /// Has so many watch.
    pub async fn gather(port: u16, size: usize, call: &Call) -> anyhow::Result<Self> {
        let (all, told) = mpsc::unbounded_channel();
        let tally = Tally { size, watching: AtomicUsize::new(0), changes: AtomicUsize::new(0), all };
        let (tally, mut tasks) = (Arc::new(tally), JoinSet::new());
        for connection in 0..CONNECTIONS.min(size) {
            let watchers = (connection..size).step_by(CONNECTIONS).count();
            let connection = Connection::open(port).await?;
            tasks.spawn(listen(connection, watchers, call.clone(), Arc::clone(&tally)));
        }
        let mut crowd = Self { told, tasks };
        if size > 0 {
            crowd.all_told().await.context("not all watch")?;
        }
        Ok(crowd)
    }

    /// Waits until the last one has been told of the next change, and says when that was.
    pub async fn all_told(&mut self) -> anyhow::Result<Instant> {
        tokio::select! {
            biased;
            Some(at) = self.told.recv() => Ok(at),
            Some(ended) = self.tasks.join_next() => {
                ended??;
                bail!("a watcher gave up")
            }
            () = tokio::time::sleep(PATIENCE) => bail!("not all were told within {PATIENCE:?}"),
        }
    }
}

async fn listen(mut connection: Connection, watchers: usize, call: Call, tally: Arc<Tally>) -> anyhow::Result<()> {
    for _ in 0..watchers {
        let stream = connection.output().begin(call.path);
        if call.takes_more {
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
                // It tells that nothing has happened.
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
        // Nobody hears of the next change before all have heard of this one.
        if more > 0 && (before + more).is_multiple_of(self.size) {
            // Nobody asks any more in the end.
            let _ = self.all.send(Instant::now());
        }
    }
}

/// The first of these fields that a message has.
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
    fn finds_a_field() {
        // 1: varint 300, 11: two bytes, 3: varint 1.
        let message = [0x08, 0xac, 0x02, 0x5a, 0x02, 9, 9, 0x18, 0x01];
        assert_eq!(first_of(&message, [3, 11]), Some(11));
        assert_eq!(first_of(&message, [3, 4]), Some(3));
        assert_eq!(first_of(&message, [5, 6]), None);
    }
}
