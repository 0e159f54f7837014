//! Network faults: connections that are cut, refused, delayed, throttled or silent.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::sleep;

use super::Fault;
use crate::proxy::{Conditions, Way};
use crate::stage::Stage;

/// The rate of a throttled direction, in bytes per second.
const NARROW: u32 = 20_000;

/// The range of the delay in each direction, in ms.
const LONG: std::ops::Range<u64> = 20..800;

pub(super) async fn trouble(fault: Fault, stage: &Stage, rng: &mut StdRng, lasts: Duration) -> anyhow::Result<bool> {
    let server = &stage.servers[rng.random_range(0..stage.servers.len())];
    let way = match fault {
        Fault::ClientsCut
        | Fault::ClientsRefused
        | Fault::ClientsDelayed
        | Fault::ClientsThrottled
        | Fault::ClientsUnheard
        | Fault::ServerUnheard => &server.front,
        Fault::PeersCut | Fault::PeersUnheard => &server.side,
        _ => &server.back,
    };
    let Ok(way) = way.try_lock() else { return Ok(false) };
    let silent = Way { is_silent: true, ..Way::default() };
    let narrow = Way { rate: NARROW, ..Way::default() };
    let long = Way { delay: Duration::from_millis(rng.random_range(LONG)), ..Way::default() };
    let calm = Conditions::default();
    let (conditions, cuts) = match fault {
        Fault::ClientsRefused | Fault::StoreRefused | Fault::PeersCut => (Conditions { refuses: true, ..calm }, true),
        Fault::ClientsDelayed | Fault::StoreDelayed => (Conditions { forth: long, back: long, ..calm }, false),
        Fault::ClientsThrottled | Fault::StoreThrottled => (Conditions { forth: narrow, back: narrow, ..calm }, false),
        Fault::ClientsUnheard | Fault::StoreUnheard | Fault::PeersUnheard => {
            (Conditions { forth: silent, ..calm }, false)
        }
        Fault::ServerUnheard | Fault::AnswersLost => (Conditions { back: silent, ..calm }, false),
        _ => (calm, true),
    };
    way.set(conditions);
    if cuts {
        way.cut();
    }
    sleep(lasts).await;
    // Delayed data arrives late, or never.
    if rng.random() {
        way.cut();
    }
    way.set(calm);
    Ok(true)
}
