//! Notifications of PostgreSQL, on a connection of their own. They reduce latency; nothing depends on them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::host::PostgresHost;
use crate::store::sql::{Connector, DriverError, Hints, Hosts};

/// The channel on which servers announce their appends to each other.
pub(crate) const CHANNEL: &str = "tenure";

/// Maximum silence of a connection before it is replaced: it may have died undetected.
const SILENCE: Duration = Duration::from_secs(30);

/// Delay before the next attempt to connect: initial and maximum.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// Notifications, received from the first call of `hint` on.
pub(crate) struct PostgresHints {
    hosts: Arc<Hosts<PostgresHost>>,
    /// This server, whose own notifications are ignored.
    own: Arc<AtomicU64>,
    heard: Arc<Notify>,
    task: OnceLock<AbortOnDropHandle<()>>,
}

impl PostgresHints {
    pub(crate) fn new(hosts: Arc<Hosts<PostgresHost>>, own: Arc<AtomicU64>) -> Self {
        Self { hosts, own, heard: Arc::default(), task: OnceLock::new() }
    }
}

#[async_trait]
impl Hints for PostgresHints {
    async fn hint(&self) {
        self.task.get_or_init(|| {
            let listening = listen(self.hosts.clone(), self.own.clone(), self.heard.clone());
            AbortOnDropHandle::new(tokio::spawn(listening))
        });
        self.heard.notified().await;
    }
}

async fn listen(hosts: Arc<Hosts<PostgresHost>>, own: Arc<AtomicU64>, heard: Arc<Notify>) {
    let mut pause = BACKOFF.0;
    loop {
        match connect(&hosts).await {
            Ok(Some(mut listener)) => {
                pause = BACKOFF.0;
                // Notifications may have been missed in the meantime.
                heard.notify_one();
                while let Ok(Ok(Some(notification))) = timeout(SILENCE, listener.try_recv()).await {
                    if notification.payload() != own.load(Ordering::SeqCst).to_string() {
                        heard.notify_one();
                    }
                }
            }
            // Retried later, since the next host may support notifications.
            Ok(None) => pause = BACKOFF.1,
            Err(_) => pause = (pause * 2).min(BACKOFF.1),
        }
        sleep(pause).await;
    }
}

/// A listening connection to the database that takes writes. `None` if it would never receive notifications.
async fn connect(hosts: &Hosts<PostgresHost>) -> Result<Option<PgListener>, DriverError> {
    // Determines which host takes writes.
    drop(hosts.connect().await?);
    let Some((hosts, last)) = hosts.last() else { return Ok(None) };
    let host = &hosts[last].1;
    let bound = host.store.connect_timeout;
    let late = |_| DriverError::Rejected(format!("no connection within {bound:?}"));
    if !timeout(bound, host.can_listen()).await.map_err(late)?? {
        return Ok(None);
    }
    let refused = |error: sqlx::Error| DriverError::Rejected(error.to_string());
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(bound);
    let pool = pool.connect_lazy_with(host.direct_options());
    let mut listener = PgListener::connect_with(&pool).await.map_err(refused)?;
    listener.eager_reconnect(false);
    timeout(bound, listener.listen(CHANNEL)).await.map_err(late)?.map_err(refused)?;
    Ok(Some(listener))
}
