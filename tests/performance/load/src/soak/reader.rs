//! Programs that read the state by plain calls, and programs that connect only briefly.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tenure_client::{Client, Result, Session, SessionOptions};
use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::{Stream, StreamExt};

use super::task::Task;

/// The interval between reads, and between visits.
const READ: Duration = Duration::from_millis(100);
const VISIT: Duration = Duration::from_secs(1);

/// The maximum number of list items read.
const ITEMS: usize = 250;

/// Reads parts of the state, until the task is over.
pub async fn read(client: Client, task: Task, mut rng: StdRng) {
    let Some(session) = task.counted("sessions opened", client.session(SessionOptions::new()).await) else { return };
    let mut pace = interval(READ);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while task.is_running() {
        pace.tick().await;
        read_something(&client, &session, &task, &mut rng).await;
    }
    task.counted("sessions closed", session.close().await);
}

async fn read_something(client: &Client, session: &Session, task: &Task, rng: &mut StdRng) {
    let name = format!("lock/{}", rng.random_range(0..32_u32));
    match rng.random_range(0..7) {
        0 | 1 => drop(task.counted("plain GetLock", client.get_lock(&name).await)),
        2 => drop(task.counted("plain ListLocks", all(client.list_locks("lock/")).await)),
        3 => drop(task.counted("plain ListSessions", all(client.list_sessions()).await)),
        4 => drop(task.counted("plain ListGroups", all(client.list_groups("")).await)),
        5 => drop(task.counted("plain GetSession", client.get_session(session.id()).await)),
        _ => drop(task.counted("plain ListHistory", all(client.history(name).take(ITEMS)).await)),
    }
}

async fn all<T>(items: impl Stream<Item = Result<T>>) -> Result<Vec<T>> {
    items.collect().await
}

/// Connects, acquires a lock in its own session, and disconnects, until the task is over.
pub async fn visit(task: Task, mut rng: StdRng) {
    let mut pace = interval(VISIT);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while task.is_running() {
        pace.tick().await;
        let url = task.urls[rng.random_range(0..task.urls.len())].clone();
        let Some(client) = task.counted("visits", Client::connect(url)) else { return };
        let lock = client.lock(format!("visit/{}", rng.random_range(0..1_000_u32))).ttl(Duration::from_secs(5));
        if let Some(guard) = task.counted("acquire calls", lock.acquire().await) {
            task.counted("holds released", guard.release().await);
        }
        task.counted("clients closed", client.close().await);
    }
}
