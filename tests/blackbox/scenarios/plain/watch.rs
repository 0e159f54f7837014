//! A watch that resumes where its stream broke.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};
use tenure_proto::v1::watch_response::Kind;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{HistoryGoneCause, WatchRequest, WatchResponse};
use tokio::sync::Mutex;
use tokio::time::sleep;
use tonic::Streaming;

use crate::reply::{self, Reply};
use crate::servers::{CALL_TIMEOUT, Servers, is_final};

/// A watch.
pub(crate) struct Watch {
    servers: Rc<Servers>,
    progress: Mutex<Progress>,
}

/// The progress of a watch.
struct Progress {
    /// The request, updated to resume after the last received response.
    request: WatchRequest,
    stream: Option<Streaming<WatchResponse>>,
    /// The parts of a snapshot so far: for a lock that changed meanwhile, the last state.
    locks: BTreeMap<String, Value>,
}

impl Watch {
    pub(crate) fn new(servers: Rc<Servers>, request: WatchRequest) -> Self {
        Self { servers, progress: Mutex::new(Progress { request, stream: None, locks: BTreeMap::new() }) }
    }

    /// The next item.
    pub(crate) async fn next(&self) -> Reply {
        let progress = &mut *self.progress.lock().await;
        loop {
            let request = &progress.request;
            let call = async |_, channel| WatchServiceClient::new(channel).watch(request.clone()).await;
            let stream = match &mut progress.stream {
                Some(stream) => stream,
                none => none.insert(self.servers.send(None, CALL_TIMEOUT, call).await?),
            };
            match stream.message().await {
                Ok(Some(response)) => {
                    if let Some(item) = progress.take(response) {
                        return Ok(item);
                    }
                }
                Err(status) if is_final(&status) => return Err(status.into()),
                Ok(None) | Err(_) => {
                    (progress.stream, progress.locks) = (None, BTreeMap::new());
                    sleep(CALL_TIMEOUT / 10).await;
                }
            }
        }
    }
}

impl Progress {
    /// The item in a response; None if more parts follow.
    fn take(&mut self, WatchResponse { revision, kind }: WatchResponse) -> Option<Value> {
        let item = match kind? {
            Kind::Snapshot(snapshot) => {
                self.locks.extend(snapshot.locks.iter().map(|lock| (lock.name.clone(), reply::lock(lock))));
                if snapshot.more {
                    return None;
                }
                let locks: Vec<Value> = std::mem::take(&mut self.locks).into_values().collect();
                json!({"kind": "snapshot", "revision": revision, "locks": locks})
            }
            Kind::Events(events) => {
                let events: Vec<Value> = events.events.iter().flat_map(reply::events).collect();
                json!({"kind": "events", "revision": revision, "events": events})
            }
            Kind::Progress(_) => json!({"kind": "progress", "revision": revision}),
            // A snapshot follows.
            Kind::HistoryGone(gone) => {
                self.locks.clear();
                let cause = reply::name(gone.cause().as_str_name(), HistoryGoneCause::Unspecified.as_str_name());
                return Some(json!({"kind": "history_gone", "cause": cause}));
            }
        };
        self.request.after_revision = revision;
        Some(item)
    }
}
