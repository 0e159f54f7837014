//! Measures the duration of renewals: a stream with a session that is renewed often, without the library, which does
//! not report durations.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{bail, ensure};
use tenure_proto::v1::KeepAliveRequest;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::holders::HolderState;
use crate::client_stream::ClientStream;

/// Its session.
pub const SESSION: &str = "probe";

/// The renewal interval, regardless of outstanding replies.
const EVERY: Duration = Duration::from_millis(20);

/// Renews until the run is over.
pub async fn probe(url: String, state: HolderState) -> anyhow::Result<()> {
    let mut stream = ClientStream::open(&url, &[SESSION.to_owned()], state.ttl).await?;
    let mut pending: HashMap<u64, Instant> = HashMap::new();
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut id = 0;
    while state.is_running() {
        tokio::select! {
            due = tick.tick() => {
                id += 1;
                let keep = KeepAliveRequest { session_ids: vec![SESSION.to_owned()], ..KeepAliveRequest::default() };
                stream.send([(id, Kind::KeepAlive(keep))]).await?;
                pending.insert(id, due);
            }
            answers = stream.receive() => for answer in answers? {
                match answer.kind {
                    Some(Answered::KeepAlive(kept)) => {
                        ensure!(kept.sessions.iter().all(|session| session.refusal.is_none()), "not renewed: {kept:?}");
                    }
                    other => bail!("not renewed: {other:?}"),
                }
                pending.remove(&answer.id).into_iter().for_each(|since| state.renewals.add(since.elapsed()));
            }
        }
    }
    Ok(())
}
