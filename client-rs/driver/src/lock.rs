//! Locks, as guards and as bodies.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{Attempt, Guard, Hold, LockRequest};
use tokio::sync::{Mutex, Notify, watch};

use crate::answer::{self, Answer, Failure};
use crate::request::Acquire;
use crate::things::Things;

/// A current or former hold.
pub(crate) struct Held {
    pub(crate) hold: Hold,
    guard: Mutex<Option<Guard>>,
}

impl Held {
    /// Takes the guard, for operations that consume it.
    async fn take(&self) -> Result<Guard, Failure> {
        let guard = self.guard.lock().await.take();
        guard.ok_or_else(|| Failure::Driver("the guard is used up".to_owned()))
    }
}

/// A body that runs under a lock.
pub(crate) struct Run {
    begun: watch::Sender<Option<u64>>,
    finish: Notify,
}

fn request(acquire: &Acquire, things: &Things) -> Result<LockRequest, Failure> {
    let mut request = match (&acquire.client, &acquire.session) {
        (Some(client), None) => things.clients.get(client)?.locks(acquire.names.iter()).session(acquire.options.bare()),
        (None, Some(session)) => things.sessions.get(session)?.locks(acquire.names.iter()),
        _ => return Err(Failure::Driver("either a client or a session is asked".to_owned())),
    };
    match acquire.mode.as_deref() {
        None | Some("exclusive") => {}
        Some("shared") => request = request.shared(),
        Some(mode) => return Err(Failure::Driver(format!("there is no mode \"{mode}\""))),
    }
    if let Some(permits) = acquire.permits {
        request = request.permits(permits);
    }
    if let Some(limit) = acquire.limit {
        request = request.limit(limit);
    }
    if let Some(priority) = acquire.priority {
        request = request.priority(priority);
    }
    if let Some(min_hold) = acquire.min_hold_ms {
        request = request.min_hold(Duration::from_millis(min_hold));
    }
    if let Some(within) = acquire.options.stall_after_ms {
        request = request.stall_after(Duration::from_millis(within));
    }
    Ok(request.with_metadata(acquire.options.metadata.clone()))
}

pub(crate) async fn acquire(name: String, acquire: &Acquire, things: &Things) -> Answer {
    let request = request(acquire, things)?;
    let attempt = match acquire.wait_ms {
        None => Attempt::Acquired(request.acquire().await?),
        Some(0) => request.try_acquire().await?,
        Some(wait) => request.acquire_within(Duration::from_millis(wait)).await?,
    };
    match attempt {
        Attempt::Acquired(guard) => {
            let answer = json!({
                "acquired": true,
                "token": guard.token(),
                "names": guard.names(),
                "session_id": guard.session().id(),
            });
            things.holds.put(name, Held { hold: guard.hold(), guard: Mutex::new(Some(guard)) });
            Ok(answer)
        }
        Attempt::Busy(busy) => Ok(answer::busy(&busy)),
    }
}

pub(crate) async fn release(held: &Held) -> Answer {
    held.take().await?.release().await?;
    Ok(json!({}))
}

pub(crate) async fn drop_guard(held: &Held) -> Answer {
    drop(held.take().await?);
    Ok(json!({}))
}

pub(crate) async fn update(held: &Held, metadata: tenure_client::Metadata) -> Answer {
    let guard = held.guard.lock().await;
    let guard = guard.as_ref().ok_or_else(|| Failure::Driver("the guard is used up".to_owned()))?;
    guard.update_metadata(metadata).await?;
    Ok(json!({}))
}

pub(crate) async fn transfer_to(held: &Held, session_id: Option<&str>) -> Answer {
    let token = held.take().await?.transfer_to(session_id).await?;
    Ok(json!({"token": token}))
}

pub(crate) async fn await_transfer(held: &Held) -> Answer {
    let asked = held.hold.transfer_requested().await;
    let pending = asked.pending;
    let drain = pending.drain.and_then(|drain| Duration::try_from(drain).ok()).unwrap_or_default();
    let (operator, note) = (answer::unless_empty(&pending.operator), answer::unless_empty(&pending.note));
    Ok(json!({"drain_ms": drain.as_millis(), "operator": operator, "note": note}))
}

pub(crate) async fn run(name: String, acquire: &Acquire, things: &Things) -> Answer {
    let run = things.runs.put(name, Run { begun: watch::Sender::new(None), finish: Notify::new() });
    let request = request(acquire, things)?;
    let body = async |hold: Hold| {
        run.begun.send_replace(Some(hold.token()));
        run.finish.notified().await;
        hold.token()
    };
    match acquire.wait_ms {
        None => Ok(json!({"ran": true, "token": request.run(body).await?})),
        Some(0) => match request.try_run(body).await? {
            Attempt::Acquired(token) => Ok(json!({"ran": true, "token": token})),
            Attempt::Busy(busy) => Ok(json!({"ran": false, "holder": busy.holder.as_deref().map(answer::claim)})),
        },
        Some(_) => Err(Failure::Driver("a body runs at once, or whenever it is its turn".to_owned())),
    }
}

pub(crate) async fn await_body(run: &Run) -> Answer {
    let mut begun = run.begun.subscribe();
    let token = begun.wait_for(Option::is_some).await.ok().and_then(|token| *token);
    Ok(json!({"token": token}))
}

pub(crate) fn finish(run: &Run) -> Value {
    run.finish.notify_one();
    json!({})
}
