//! Callers that use plain calls, and check the errors of rejected calls.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{AcquireRequest, OpenSessionRequest, ReleaseRequest};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use super::holders::HolderState;

/// Their session, which needs no renewals.
pub const SESSION: &str = "caller";
const TTL: Duration = Duration::from_secs(3_600);

/// The interval between calls.
const EVERY: Duration = Duration::from_millis(25);

/// The deadline of a call.
const DEADLINE: Duration = Duration::from_secs(2);

/// The outcomes of plain calls.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Calls {
    /// The number of calls by outcome.
    pub outcomes: BTreeMap<String, usize>,
    /// The number of violations by description.
    pub wrong: BTreeMap<String, usize>,
}

impl Calls {
    fn record(&mut self, answer: Result<(), Status>) {
        let outcome = match &answer {
            Ok(()) => "granted".to_owned(),
            Err(status) if status.code() == Code::DeadlineExceeded || is_timeout(status) => "deadline".to_owned(),
            Err(status) => reason(status),
        };
        if let Err(status) = &answer
            && outcome != "deadline"
            && !is_valid_rejection(status)
        {
            *self.wrong.entry(format!("{status:?}")).or_default() += 1;
        }
        *self.outcomes.entry(outcome).or_default() += 1;
    }
}

/// Returns whether this is the client's own deadline.
fn is_timeout(status: &Status) -> bool {
    status.code() == Code::Cancelled && status.message().contains("Timeout expired")
}

fn reason(status: &Status) -> String {
    status.get_details_error_info().map_or_else(|| status.code().to_string(), |info| info.reason)
}

/// Returns whether a call was rejected because of overload, with a retry delay.
fn is_valid_rejection(status: &Status) -> bool {
    let retry = status.get_details_retry_info().and_then(|info| info.retry_delay);
    status.code() == Code::ResourceExhausted
        && reason(status) == "OVERLOADED"
        && retry.is_some_and(|retry| !retry.is_zero())
}

/// Makes plain calls while they are requested, until the run is over.
pub async fn call(url: String, state: HolderState) -> anyhow::Result<Calls> {
    let channel = Endpoint::from_shared(url)?.tcp_nodelay(true).connect().await?;
    let open = OpenSessionRequest {
        session_id: SESSION.to_owned(),
        ttl: TTL.try_into().ok(),
        ..OpenSessionRequest::default()
    };
    SessionServiceClient::new(channel.clone()).open_session(open).await?;
    let (mut calls, mut pending, mut count) = (Calls::default(), JoinSet::new(), 0);
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while state.is_running() {
        tick.tick().await;
        if state.calls.load(Ordering::SeqCst) {
            count += 1;
            pending.spawn(acquire_and_release(channel.clone(), format!("plain/{count}")));
        }
        while let Some(ended) = pending.try_join_next() {
            calls.record(ended?);
        }
    }
    while let Some(ended) = pending.join_next().await {
        calls.record(ended?);
    }
    Ok(calls)
}

async fn acquire_and_release(channel: Channel, name: String) -> Result<(), Status> {
    let mut locks = LockServiceClient::new(channel);
    let session_id = SESSION.to_owned();
    let acquire = AcquireRequest {
        names: vec![name.clone()],
        session_id: session_id.clone(),
        wait: Some(prost_types::Duration::default()),
        ..AcquireRequest::default()
    };
    let token = locks.acquire(within(acquire)).await?.into_inner().token;
    let release = ReleaseRequest { name, session_id, token, ..ReleaseRequest::default() };
    locks.release(within(release)).await.map(drop)
}

fn within<M>(message: M) -> Request<M> {
    let mut request = Request::new(message);
    request.set_timeout(DEADLINE);
    request
}
