//! Watches.

use std::pin::Pin;

use futures::{Stream, StreamExt};
use serde_json::{Value, json};
use tenure_client::{Error, HistoryGoneCause, Leader, Result, Watch, WatchEvent, WatchOptions};
use tokio::sync::Mutex;

use crate::answer::{self, Answer};
use crate::request::WatchFields;
use crate::things::Things;

/// A stream of leader changes.
type Leaders = Pin<Box<dyn Stream<Item = Result<Option<Leader>>> + Send>>;

/// A watch of any kind.
pub(crate) struct Watching {
    items: Mutex<Items>,
}

enum Items {
    Watch(Watch),
    Leaders(Leaders),
}

pub(crate) fn watch(fields: WatchFields, things: &Things) -> Answer {
    let mut options = WatchOptions::names(fields.names);
    for prefix in fields.prefixes {
        options = options.prefix(prefix);
    }
    for group in fields.groups {
        options = options.group(group);
    }
    if let Some(revision) = fields.after_revision {
        options = options.after_revision(revision);
    }
    let watch = things.clients.get(&fields.client)?.watch(options);
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

fn item(item: &WatchEvent) -> Value {
    match item {
        WatchEvent::Snapshot { locks, groups, revision } => json!({
            "kind": "snapshot",
            "revision": revision,
            "locks": locks.iter().map(answer::lock).collect::<Vec<_>>(),
            "groups": groups.iter().map(answer::group).collect::<Vec<_>>(),
        }),
        WatchEvent::Events { events, group_events, groups, revision } => json!({
            "kind": "events",
            "revision": revision,
            "events": events.iter().map(answer::event).collect::<Vec<_>>(),
            "group_events": group_events.iter().map(answer::group_event).collect::<Vec<_>>(),
            "groups": groups.iter().map(answer::group).collect::<Vec<_>>(),
        }),
        WatchEvent::Progress { revision } => json!({"kind": "progress", "revision": revision}),
        WatchEvent::HistoryGone { cause } => {
            let cause = match cause {
                HistoryGoneCause::Compacted => "compacted",
                HistoryGoneCause::Lost => "lost",
                _ => "unknown",
            };
            json!({"kind": "history_gone", "cause": cause})
        }
        other => json!({"kind": format!("{other:?}")}),
    }
}
