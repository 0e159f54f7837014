//! Runs scenarios without a client library: plain calls with generated code, each to a random server, as behind a
//! balancer.
//!
//! It is an example of using Tenure from generated code: [`servers`] spreads calls and repeats those without a reply,
//! [`session`] manages a session and its locks, [`watch`] resumes where a broken stream ended. This file and [`reply`]
//! only translate between them and the requests that `tests/blackbox/scenarios/README.md` describes.

mod reply;
mod servers;
mod session;
mod watch;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::{AcquireRequest, GetLockRequest, OpenSessionRequest, WatchRequest};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

use crate::reply::{Failure, Reply};
use crate::servers::{CALL_TIMEOUT, Servers};
use crate::session::{Guard, Session};
use crate::watch::Watch;

/// The reply to `hello`: the supported requests, and their fields.
const KNOWN: [(&str, &str); 12] = [
    ("hello", ""),
    ("connect", "client endpoints namespace"),
    ("session", "client session session_id ttl_ms owner metadata"),
    ("close_session", "session"),
    ("acquire", "client session guard names wait_ms priority metadata session_id ttl_ms owner"),
    ("cancel", "request"),
    ("release", "guard"),
    ("update", "guard metadata"),
    ("get_lock", "client name"),
    ("watch", "client watch names prefixes after_revision"),
    ("next", "watch"),
    ("unwatch", "watch"),
];

/// A request: its kind, and the fields of all requests.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Request {
    id: u64,
    r#do: String,
    client: String,
    session: String,
    guard: String,
    watch: String,
    request: u64,
    endpoints: Vec<String>,
    namespace: String,
    session_id: String,
    ttl_ms: Option<u64>,
    owner: String,
    metadata: BTreeMap<String, String>,
    name: String,
    names: Vec<String>,
    prefixes: Vec<String>,
    wait_ms: Option<u64>,
    priority: i32,
    after_revision: u64,
}

/// Objects that requests have named.
#[derive(Default)]
struct Objects {
    clients: Named<Servers>,
    sessions: Named<Session>,
    guards: Named<Guard>,
    watches: Named<Watch>,
    /// The requests in progress, by id; a send cancels one.
    running: RefCell<HashMap<u64, oneshot::Sender<()>>>,
}

/// Objects of one kind, by name.
struct Named<T>(RefCell<HashMap<String, Rc<T>>>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T> Named<T> {
    fn put(&self, name: String, thing: Rc<T>) {
        self.0.borrow_mut().insert(name, thing);
    }

    fn get(&self, name: &str) -> Result<Rc<T>, Failure> {
        self.0.borrow().get(name).cloned().ok_or_else(|| Failure::Driver(format!("no object is named \"{name}\"")))
    }
}

// A single thread starts requests in the order in which they were read.
#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    LocalSet::new().run_until(serve()).await
}

async fn serve() -> io::Result<()> {
    let objects = Rc::new(Objects::default());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let request: Request = serde_json::from_str(&line)?;
        let (id, objects) = (request.id, Rc::clone(&objects));
        let (cancel, cancelled) = oneshot::channel();
        objects.running.borrow_mut().insert(id, cancel);
        spawn_local(async move {
            let reply = perform(request, cancelled, &objects).await;
            objects.running.borrow_mut().remove(&id);
            let line = match reply {
                Ok(ok) => json!({"id": id, "ok": ok}),
                Err(failure) => json!({"id": id, "error": failure.to_json()}),
            };
            let mut out = io::stdout().lock();
            // The runner may have exited.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        });
    }
    // Exits without closing anything.
    std::process::exit(0)
}

async fn perform(request: Request, cancelled: oneshot::Receiver<()>, objects: &Objects) -> Reply {
    match request.r#do.as_str() {
        "hello" => {
            let fields = KNOWN.map(|(name, fields)| (name.to_owned(), fields.split_whitespace().collect::<Value>()));
            return Ok(
                json!({"client": "plain", "does": KNOWN.map(|(name, _)| name), "fields": Map::from_iter(fields)}),
            );
        }
        "connect" => {
            let servers = Servers::connect(&request.endpoints, request.namespace)?;
            objects.clients.put(request.client, Rc::new(servers));
        }
        "session" => {
            let session = open(&request, request.metadata.clone(), objects).await?;
            objects.sessions.put(request.session, Rc::clone(&session));
            return Ok(json!({"session_id": session.id, "ttl_ms": session.ttl.as_millis()}));
        }
        "close_session" => objects.sessions.get(&request.session)?.close().await?,
        "acquire" => return acquire(request, cancelled, objects).await,
        "cancel" => {
            if let Some(cancel) = objects.running.borrow_mut().remove(&request.request) {
                // It may have been replied to in the meantime.
                let _ = cancel.send(());
            }
        }
        "release" => {
            let guard = objects.guards.get(&request.guard)?;
            guard.session.release(&guard.name, guard.token).await?;
            if guard.owns_session {
                guard.session.close().await?;
            }
        }
        "update" => {
            let guard = objects.guards.get(&request.guard)?;
            guard.session.update(&guard.name, guard.token, request.metadata).await?;
        }
        "get_lock" => {
            let servers = objects.clients.get(&request.client)?;
            let request = GetLockRequest { namespace: servers.namespace.clone(), name: request.name };
            let call = async |_, channel| LockServiceClient::new(channel).get_lock(request.clone()).await;
            let response = servers.send(None, CALL_TIMEOUT, call).await?;
            return Ok(reply::lock(&response.lock.unwrap_or_default()));
        }
        "watch" => {
            let servers = objects.clients.get(&request.client)?;
            let watched = WatchRequest {
                namespace: servers.namespace.clone(),
                names: request.names,
                prefixes: request.prefixes,
                after_revision: request.after_revision,
                ..WatchRequest::default()
            };
            objects.watches.put(request.watch, Rc::new(Watch::new(servers, watched)));
        }
        "next" => return objects.watches.get(&request.watch)?.next().await,
        "unwatch" => drop(objects.watches.0.borrow_mut().remove(&request.watch)),
        unknown => return Err(Failure::Driver(format!("there is no request \"{unknown}\""))),
    }
    Ok(json!({}))
}

async fn open(
    request: &Request,
    metadata: BTreeMap<String, String>,
    objects: &Objects,
) -> Result<Rc<Session>, Failure> {
    let ttl = Duration::from_millis(request.ttl_ms.unwrap_or(10_000));
    let opened = OpenSessionRequest {
        session_id: request.session_id.clone(),
        ttl: ttl.try_into().ok(),
        owner: request.owner.clone(),
        metadata,
        ..OpenSessionRequest::default()
    };
    Session::open(objects.clients.get(&request.client)?, opened).await.map(Rc::new)
}

/// Acquires in the named session, or in one of its own, which ends with the hold.
async fn acquire(request: Request, cancelled: oneshot::Receiver<()>, objects: &Objects) -> Reply {
    let owns_session = request.session.is_empty();
    let session = match owns_session {
        true => open(&request, BTreeMap::new(), objects).await?,
        false => objects.sessions.get(&request.session)?,
    };
    let Request { guard, names, priority, metadata, .. } = request;
    let wanted = AcquireRequest { names, priority, metadata, ..AcquireRequest::default() };
    let response = session.acquire(wanted, request.wait_ms.map(Duration::from_millis), cancelled).await;
    if owns_session && !response.as_ref().is_ok_and(|response| response.acquired) {
        session.close().await?;
    }
    let response = response?;
    if !response.acquired {
        return Ok(json!({"acquired": false, "holder": response.holder.as_ref().map(reply::claim)}));
    }
    let names = response.claim.unwrap_or_default().names;
    let acquired = json!({"acquired": true, "token": response.token, "names": names, "session_id": session.id});
    let name = names.into_iter().next().unwrap_or_default();
    objects.guards.put(guard, Rc::new(Guard { session, name, token: response.token, owns_session }));
    Ok(acquired)
}
