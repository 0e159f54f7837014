//! A healthy client, which attacks must not affect.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{AcquireRequest, ReleaseRequest, RenewRequest};
use tonic::Status;
use tonic::transport::Channel;

use crate::state::ClientConfig;
use crate::times::Times;

/// Its namespace: attacks change other namespaces only.
pub const HEALTHY_NAMESPACE: &str = "healthy";

const SESSION: &str = "healthy";

const LOCK: &str = "job";

/// The timeout of its calls.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The pause between two calls.
const PAUSE: Duration = Duration::from_millis(3);

/// A client that acquires, renews and releases until it is dropped, on its own thread, so that an attack's load on this
/// process does not slow it down.
pub(crate) struct HealthyClient {
    times: Times,
    errors: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl HealthyClient {
    pub(crate) fn start(config: ClientConfig) -> Self {
        let (times, errors, is_over) = (Times::default(), Arc::default(), Arc::new(AtomicBool::new(false)));
        let work = Work { config, times: times.clone(), errors: Arc::clone(&errors), is_over: is_over.clone() };
        let thread =
            std::thread::spawn(move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime.block_on(work.run()),
                Err(error) => work.record_error(error.to_string()),
            });
        Self { times, errors, is_over, thread: Some(thread) }
    }

    /// The durations of its calls that ended after `since`.
    pub(crate) fn times(&self, since: Instant) -> Vec<Duration> {
        self.times.since(since)
    }

    /// The errors that it received.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for HealthyClient {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its errors were already reported.
            let _ = thread.join();
        }
    }
}

struct Work {
    config: ClientConfig,
    times: Times,
    errors: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
}

impl Work {
    fn record_error(&self, error: String) {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).push(error);
    }

    async fn run(self) {
        let channel = match self.config.connect().await {
            Ok(channel) => channel,
            Err(error) => return self.record_error(error.to_string()),
        };
        while !self.is_over.load(Ordering::Relaxed) {
            if let Err(status) = self.round(&channel).await {
                self.record_error(format!("{status:?}"));
            }
        }
    }

    /// Acquires, renews and releases once.
    async fn round(&self, channel: &Channel) -> Result<(), Status> {
        let (mut locks, mut sessions) =
            (LockServiceClient::new(channel.clone()), SessionServiceClient::new(channel.clone()));
        let acquire = AcquireRequest {
            namespace: HEALTHY_NAMESPACE.to_owned(),
            names: vec![LOCK.to_owned()],
            session_id: SESSION.to_owned(),
            ttl: Some(prost_types::Duration { seconds: 60, nanos: 0 }),
            wait: Some(prost_types::Duration::default()),
            ..AcquireRequest::default()
        };
        let token = self.timed(locks.acquire(self.config.request(acquire))).await?.token;
        let renew = RenewRequest { namespace: HEALTHY_NAMESPACE.to_owned(), session_id: SESSION.to_owned() };
        self.timed(sessions.renew(self.config.request(renew))).await?;
        let release = ReleaseRequest {
            namespace: HEALTHY_NAMESPACE.to_owned(),
            name: LOCK.to_owned(),
            session_id: SESSION.to_owned(),
            token,
        };
        self.timed(locks.release(self.config.request(release))).await?;
        Ok(())
    }

    async fn timed<T>(&self, call: impl Future<Output = Result<tonic::Response<T>, Status>>) -> Result<T, Status> {
        let begun = Instant::now();
        let late = |_| Status::deadline_exceeded("no answer to a healthy client");
        let answer = tokio::time::timeout(TIMEOUT, call).await.map_err(late);
        self.times.add(begun);
        tokio::time::sleep(PAUSE).await;
        Ok(answer??.into_inner())
    }
}
