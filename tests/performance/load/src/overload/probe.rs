//! Measures the duration of renewals: a stream with a session that is renewed often, without the library, which does
//! not report durations.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::bail;
use tenure_proto::v1::KeepAlive;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
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
    let mut number = 0;
    while state.is_running() {
        tokio::select! {
            due = tick.tick() => {
                number += 1;
                stream.send(Sent::KeepAlive(KeepAlive { number })).await?;
                pending.insert(number, due);
            }
            received = stream.receive() => match received? {
                Received::KeptAlive(kept) => {
                    pending.remove(&kept.number).into_iter().for_each(|since| state.renewals.add(since.elapsed()));
                }
                other => bail!("not renewed: {other:?}"),
            },
        }
    }
    Ok(())
}
