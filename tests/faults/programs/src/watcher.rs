//! Records everything that a watch delivers.

use tenure_checker::{Entry, WatchItem};
use tenure_client::{Client, WatchEvent, WatchOptions};

use crate::Task;

/// Watches everything until the client is closed.
pub async fn run(client: Client, task: Task) {
    let mut watch = client.watch(WatchOptions::all());
    while let Some(Ok(item)) = watch.next().await {
        let item = match item {
            WatchEvent::Snapshot { locks, revision, .. } => {
                let holders = locks
                    .iter()
                    .flat_map(|lock| lock.holders.iter().map(|claim| (lock.name.clone(), claim.token.unwrap_or(0))));
                WatchItem::Snapshot { revision, holders: holders.collect() }
            }
            WatchEvent::Events { events, revision, .. } => {
                let events = events.into_iter().map(|event| (event.revision, event.name, event.kind.as_str().into()));
                WatchItem::Events { events: events.collect(), revision }
            }
            WatchEvent::Progress { revision } => WatchItem::Progress(revision),
            WatchEvent::HistoryGone { .. } => WatchItem::Gone,
            _ => continue,
        };
        task.environment.write(Entry::Watched { watch: task.name.clone(), at: task.environment.now(), item });
    }
}
