//! Programs that watch: one that records all events, and others that watch only for a while.

use std::borrow::Cow;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_chaos::now;
use tenure_checker::{Entry, WatchItem};
use tenure_client::Client;
use tenure_client::v1::{Event, WatchRequest, WatchResponse, watch_response::Kind};
use tokio::time::timeout;

use super::task::Task;

/// How long a temporary watch lasts, in ms.
const STAYS: std::ops::Range<u64> = 2_000..20_000;

/// Records all events of a watch on everything, until the client is closed.
pub async fn record_all(client: Client, task: Task) {
    let mut watch = client.watch(WatchRequest::default());
    while let Some(response) = watch.next().await {
        let Some(response) = task.counted("messages of the watch of everything", response) else { break };
        let revision = response.revision;
        let item = match response.kind {
            Some(Kind::Snapshot(snapshot)) => {
                let locks = snapshot.locks.into_iter();
                let holds =
                    locks.flat_map(|lock| lock.holders.into_iter().map(move |hold| (lock.name.clone(), hold.token)));
                WatchItem::Snapshot { revision, holders: holds.collect() }
            }
            Some(Kind::Events(batch)) => {
                let at = now();
                for event in &batch.events {
                    task.notes().reported.entry(event.revision).or_insert(at);
                }
                let events = batch.events.iter().flat_map(of_each_lock).collect();
                WatchItem::Events { events, revision }
            }
            Some(Kind::Progress(_)) | None => WatchItem::Progress(revision),
            Some(Kind::HistoryGone(_)) => WatchItem::Gone,
        };
        task.notes().reported_up_to = if matches!(item, WatchItem::Gone) { 0 } else { revision };
        task.recorder.write(Entry::Watched { watch: "everything".to_owned(), at: now(), item });
    }
}

/// An event as the checker reads it: once for each of its locks.
fn of_each_lock(event: &Event) -> impl Iterator<Item = (u64, String, Cow<'static, str>)> {
    event.names.iter().map(|name| (event.revision, name.clone(), event.r#type().word().into()))
}

/// Watches locks by a prefix, and groups, for a while, repeatedly.
pub async fn watch_repeatedly(client: Client, prefix: &'static str, task: Task, mut rng: StdRng) {
    while task.is_running() {
        let mut watch = client.watch(WatchRequest {
            prefixes: vec![prefix.to_owned()],
            groups: vec!["team-0".to_owned()],
            ..WatchRequest::default()
        });
        task.count("watches by prefix");
        let stays = Duration::from_millis(rng.random_range(STAYS));
        let mut last = 0;
        let watching = async {
            while let Some(response) = watch.next().await {
                let Some(response) = task.counted("messages of watches by prefix", response) else { return };
                check(&response, prefix, &mut last, &task);
            }
        };
        // Ends by the timeout.
        let _ = timeout(stays, watching).await;
    }
}

/// Checks that revisions rise and that events match the prefix.
fn check(response: &WatchResponse, prefix: &str, last: &mut u64, task: &Task) {
    let is_valid = match &response.kind {
        Some(Kind::Snapshot(snapshot)) => snapshot.locks.iter().all(|lock| lock.name.starts_with(prefix)),
        Some(Kind::Events(batch)) => batch
            .events
            .iter()
            .all(|event| event.revision > *last && event.names.iter().all(|name| name.starts_with(prefix))),
        Some(Kind::Progress(_)) => true,
        Some(Kind::HistoryGone(_)) | None => false,
    };
    if !is_valid || response.revision < *last {
        let report = format!("a watch of {prefix:?} after {last} reports {response:?}");
        *task.notes().wrong.entry(report).or_default() += 1;
    }
    *last = response.revision;
}
