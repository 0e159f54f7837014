//! Programs that watch: one that records all events, and others that watch only for a while.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_chaos::now;
use tenure_checker::{Entry, WatchItem};
use tenure_client::{Client, WatchEvent, WatchOptions};
use tokio::time::timeout;

use super::task::Task;

/// How long a temporary watch lasts, in ms.
const STAYS: std::ops::Range<u64> = 2_000..20_000;

/// Records all events of a watch on everything, until the client is closed.
pub async fn record_all(client: Client, task: Task) {
    let mut watch = client.watch(WatchOptions::all());
    while let Some(item) = watch.next().await {
        let Some(item) = task.counted("messages of the watch of everything", item) else { break };
        let (up_to, item) = match item {
            WatchEvent::Snapshot { locks, revision, .. } => {
                let holders = locks
                    .iter()
                    .flat_map(|lock| lock.holders.iter().map(|claim| (lock.name.clone(), claim.token.unwrap_or(0))));
                (revision, WatchItem::Snapshot { revision, holders: holders.collect() })
            }
            WatchEvent::Events { events, revision, .. } => {
                let at = now();
                for event in &events {
                    task.notes().reported.entry(event.revision).or_insert(at);
                }
                let events = events.into_iter().map(|event| (event.revision, event.name, event.kind.as_str().into()));
                (revision, WatchItem::Events { events: events.collect(), revision })
            }
            WatchEvent::Progress { revision } => (revision, WatchItem::Progress(revision)),
            _ => (0, WatchItem::Gone),
        };
        task.notes().reported_up_to = up_to;
        task.recorder.write(Entry::Watched { watch: "everything".to_owned(), at: now(), item });
    }
}

/// Watches locks by a prefix, and groups, for a while, repeatedly.
pub async fn watch_repeatedly(client: Client, prefix: &'static str, task: Task, mut rng: StdRng) {
    while task.is_running() {
        let mut watch = client.watch(WatchOptions::default().prefix(prefix).group("team-0"));
        task.count("watches by prefix");
        let stays = Duration::from_millis(rng.random_range(STAYS));
        let mut last = 0;
        let watching = async {
            while let Some(item) = watch.next().await {
                let Some(item) = task.counted("messages of watches by prefix", item) else { return };
                check(&item, prefix, &mut last, &task);
            }
        };
        // Ends by the timeout.
        let _ = timeout(stays, watching).await;
    }
}

/// Checks that revisions rise and that events match the prefix.
fn check(item: &WatchEvent, prefix: &str, last: &mut u64, task: &Task) {
    let (is_valid, revision) = match item {
        WatchEvent::Snapshot { locks, revision, .. } => {
            (locks.iter().all(|lock| lock.name.starts_with(prefix)), *revision)
        }
        WatchEvent::Events { events, revision, .. } => {
            let is_new = |event: &tenure_client::Event| event.revision > *last && event.name.starts_with(prefix);
            (events.iter().all(is_new), *revision)
        }
        WatchEvent::Progress { revision } => (true, *revision),
        _ => (false, 0),
    };
    if !is_valid || revision < *last {
        *task.notes().wrong.entry(format!("a watch of {prefix:?} after {last} reports {item:?}")).or_default() += 1;
    }
    *last = revision;
}
