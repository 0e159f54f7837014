//! Records everything that a watch delivers.

use tenure_checker::{Entry, WatchItem};
use tenure_client::Client;
use tenure_client::v1::{Event, Lock, WatchRequest, WatchResponse, watch_response::Kind};

use crate::Task;

/// Watches everything until the client is closed.
pub async fn run(client: Client, task: Task) {
    let mut watch = client.watch(WatchRequest::default());
    while let Some(Ok(response)) = watch.next().await {
        let item = item(&response);
        task.environment.write(Entry::Watched { watch: task.name.clone(), at: task.environment.now(), item });
    }
}

/// A response as the checker reads it: an event once for each of its locks.
fn item(response: &WatchResponse) -> WatchItem {
    let revision = response.revision;
    match &response.kind {
        Some(Kind::Snapshot(snapshot)) => {
            let holds = |lock: &Lock| lock.holders.iter().map(|claim| (lock.name.clone(), claim.token)).collect();
            WatchItem::Snapshot { revision, holders: snapshot.locks.iter().flat_map::<Vec<_>, _>(holds).collect() }
        }
        Some(Kind::Events(batch)) => {
            let of_each_lock = |event: &Event| {
                let kind = event.r#type().word();
                event.names.iter().map(|name| (event.revision, name.clone(), kind.into())).collect()
            };
            WatchItem::Events { events: batch.events.iter().flat_map::<Vec<_>, _>(of_each_lock).collect(), revision }
        }
        Some(Kind::Progress(_)) | None => WatchItem::Progress(revision),
        Some(Kind::HistoryGone(_)) => WatchItem::Gone,
    }
}
