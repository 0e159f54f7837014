//! Network faults: connections that are cut, refused, delayed, throttled or blocked.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::sleep;

use super::Fault;
use crate::deployment::Deployment;
use crate::proxy::{Conditions, Direction};

/// The rate of a throttled direction, in bytes per second.
const THROTTLED_RATE: u32 = 20_000;

/// The range of the delay in each direction, in ms.
const DELAY: std::ops::Range<u64> = 20..800;

pub(super) async fn inject(
    fault: Fault,
    deployment: &Deployment,
    rng: &mut StdRng,
    lasts: Duration,
) -> anyhow::Result<bool> {
    let server = &deployment.servers[rng.random_range(0..deployment.servers.len())];
    let proxy = match fault {
        Fault::ClientsCut
        | Fault::ClientsRefused
        | Fault::ClientsDelayed
        | Fault::ClientsThrottled
        | Fault::ClientRequestsBlocked
        | Fault::ServerResponsesBlocked => &server.client_proxy,
        Fault::PeersCut | Fault::PeerRequestsBlocked => &server.peer_proxy,
        _ => &server.store_proxy,
    };
    let Ok(proxy) = proxy.try_lock() else { return Ok(false) };
    let blocked = Direction { is_blocked: true, ..Direction::default() };
    let throttled = Direction { rate: THROTTLED_RATE, ..Direction::default() };
    let delayed = Direction { delay: Duration::from_millis(rng.random_range(DELAY)), ..Direction::default() };
    let normal = Conditions::default();
    let (conditions, cuts) = match fault {
        Fault::ClientsRefused | Fault::StoreRefused | Fault::PeersCut => (Conditions { refuses: true, ..normal }, true),
        Fault::ClientsDelayed | Fault::StoreDelayed => {
            (Conditions { to_server: delayed, to_client: delayed, ..normal }, false)
        }
        Fault::ClientsThrottled | Fault::StoreThrottled => {
            (Conditions { to_server: throttled, to_client: throttled, ..normal }, false)
        }
        Fault::ClientRequestsBlocked | Fault::StoreRequestsBlocked | Fault::PeerRequestsBlocked => {
            (Conditions { to_server: blocked, ..normal }, false)
        }
        Fault::ServerResponsesBlocked | Fault::StoreResponsesBlocked => {
            (Conditions { to_client: blocked, ..normal }, false)
        }
        _ => (normal, true),
    };
    proxy.set(conditions);
    if cuts {
        proxy.cut();
    }
    sleep(lasts).await;
    // Delayed data arrives late, or never.
    if rng.random() {
        proxy.cut();
    }
    proxy.set(normal);
    Ok(true)
}
