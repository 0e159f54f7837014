//! Watches.

use std::pin::Pin;

use futures::{Stream, StreamExt};
use serde_json::{Value, json};
use tenure_client::v1::{Claim, WatchRequest, WatchResponse, watch_response::Kind};
use tenure_client::{Error, Result, Watch};
use tokio::sync::Mutex;

use crate::answer::{self, Answer};
use crate::request::WatchFields;
use crate::things::Things;

/// A stream of leader changes.
type Leaders = Pin<Box<dyn Stream<Item = Result<Option<Claim>>> + Send>>;

/// A watch of any kind.
pub(crate) struct Watching {
    items: Mutex<Items>,
}

enum Items {
    Watch(Watch),
    Leaders(Leaders),
}

pub(crate) fn watch(fields: WatchFields, things: &Things) -> Answer {
    let WatchFields { names, prefixes, groups, .. } = fields;
    let after_revision = fields.after_revision.unwrap_or_default();
    let request = WatchRequest { names, prefixes, groups, after_revision, ..Default::default() };
    let watch = things.clients.get(&fields.client)?.watch(request);
    things.watches.put(fields.watch, Watching { items: Mutex::new(Items::Watch(watch)) });
    Ok(json!({}))
}

pub(crate) fn observe(client: &str, watch: String, name: String, things: &Things) -> Answer {
    let leaders = Box::pin(things.clients.get(client)?.election(name).observe());
    things.watches.put(watch, Watching { items: Mutex::new(Items::Leaders(leaders)) });
    Ok(json!({}))
}

pub(crate) async fn next(watching: &Watching) -> Answer {
    match &mut *watching.items.lock().await {
        Items::Watch(watch) => Ok(item(&watch.next().await.unwrap_or(Err(Error::Closed))?)),
        Items::Leaders(leaders) => {
            let leader = leaders.next().await.unwrap_or(Err(Error::Closed))?;
            Ok(answer::leader(leader.as_ref()))
        }
    }
}

fn item(response: &WatchResponse) -> Value {
    let revision = response.revision;
    match &response.kind {
        Some(Kind::Snapshot(snapshot)) => json!({
            "kind": "snapshot",
            "revision": revision,
            "locks": snapshot.locks.iter().map(answer::lock).collect::<Vec<_>>(),
            "groups": snapshot.groups.iter().map(answer::group).collect::<Vec<_>>(),
        }),
        Some(Kind::Events(batch)) => json!({
            "kind": "events",
            "revision": revision,
            "events": batch.events.iter().flat_map(answer::events).collect::<Vec<_>>(),
            "group_events": batch.group_events.iter().map(answer::group_event).collect::<Vec<_>>(),
            "groups": batch.groups.iter().map(answer::group).collect::<Vec<_>>(),
        }),
        Some(Kind::Progress(_)) | None => json!({"kind": "progress", "revision": revision}),
        Some(Kind::HistoryGone(gone)) => json!({"kind": "history_gone", "cause": gone.cause().word()}),
    }
}
