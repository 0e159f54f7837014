//! Operators' requests.

use std::time::Duration;

use serde_json::json;
use tenure_client::v1::{ConfigureLockRequest, EvictRequest, LockSettings, Preempt, TransferRequest};

use crate::answer::Answer;
use crate::request::{ConfigureLock, Evict, Transfer};
use crate::things::Things;

pub(crate) async fn evict(evict: Evict, things: &Things) -> Answer {
    let Evict { client, name, token, operator, note } = evict;
    let request = EvictRequest { name, token: token.unwrap_or_default(), operator, note, ..Default::default() };
    things.clients.get(&client)?.evict(request).await?;
    Ok(json!({}))
}

pub(crate) async fn transfer(transfer: Transfer, things: &Things) -> Answer {
    let Transfer { client, name, to, drain_ms, operator, note } = transfer;
    let (to_session_id, drain) = (to.unwrap_or_default(), milliseconds(drain_ms));
    let request = TransferRequest { name, to_session_id, drain, operator, note, ..Default::default() };
    let claim = things.clients.get(&client)?.transfer(request).await?;
    Ok(json!({"token": claim.token}))
}

pub(crate) async fn configure_lock(fields: ConfigureLock, things: &Things) -> Answer {
    let ConfigureLock { client, name, limit, preempt, operator } = fields;
    let preempt = preempt
        .map(|preempt| Preempt { settling: milliseconds(preempt.settling_ms), drain: milliseconds(preempt.drain_ms) });
    let settings = Some(LockSettings { limit: limit.unwrap_or_default(), preempt });
    let request = ConfigureLockRequest { name, settings, operator, ..Default::default() };
    things.clients.get(&client)?.configure_lock(request).await?;
    Ok(json!({}))
}

/// A duration of the contract.
fn milliseconds<D: TryFrom<Duration>>(milliseconds: Option<u64>) -> Option<D> {
    milliseconds.and_then(|milliseconds| Duration::from_millis(milliseconds).try_into().ok())
}
