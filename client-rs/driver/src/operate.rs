//! Operators' requests.

use std::time::Duration;

use serde_json::json;
use tenure_client::{EvictOptions, LockSettings, Preempt, TransferOptions};

use crate::answer::Answer;
use crate::request::{ConfigureLock, Evict, Transfer};
use crate::things::Things;

pub(crate) async fn evict(evict: Evict, things: &Things) -> Answer {
    let mut options = EvictOptions::by(evict.operator).note(evict.note);
    if let Some(token) = evict.token {
        options = options.token(token);
    }
    things.clients.get(&evict.client)?.evict(&evict.name, options).await?;
    Ok(json!({}))
}

pub(crate) async fn transfer(transfer: Transfer, things: &Things) -> Answer {
    let mut options = TransferOptions::by(transfer.operator).note(transfer.note);
    if let Some(to) = transfer.to {
        options = options.to(to);
    }
    if let Some(drain) = transfer.drain_ms {
        options = options.drain(Duration::from_millis(drain));
    }
    let claim = things.clients.get(&transfer.client)?.transfer(&transfer.name, options).await?;
    Ok(json!({"token": claim.token}))
}

pub(crate) async fn configure_lock(fields: ConfigureLock, things: &Things) -> Answer {
    let preempt = fields.preempt.map(|preempt| {
        let default = Preempt::default();
        Preempt {
            settling: preempt.settling_ms.map_or(default.settling, Duration::from_millis),
            drain: preempt.drain_ms.map_or(default.drain, Duration::from_millis),
        }
    });
    let settings = LockSettings { limit: fields.limit, preempt };
    things.clients.get(&fields.client)?.configure_lock(&fields.name, settings, fields.operator, "").await?;
    Ok(json!({}))
}
