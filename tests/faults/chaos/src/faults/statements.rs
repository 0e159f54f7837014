//! Faults inside the database: other connections that interfere with the servers.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::{Instant, sleep, timeout};

use super::Fault;
use crate::database::Database;
use crate::stage::Stage;

/// The timeout of a disturbance that the database does not execute.
const PATIENCE: Duration = Duration::from_secs(5);

/// The delay of PostgreSQL before a slow commit, in µs: the maximum of the setting.
const SLOW: u32 = 100_000;

/// Returns whether the fault occurred: it does not while the database is down.
pub(super) async fn disturb(fault: Fault, stage: &Stage, rng: &mut StdRng, lasts: Duration) -> anyhow::Result<bool> {
    let url = &stage.url;
    let began = match fault {
        Fault::HeadLocked => {
            timeout(lasts + PATIENCE, Database::lock_heads(url, lasts)).await.is_ok_and(|ok| ok.is_ok())
        }
        Fault::CommitsSlow => {
            let Ok(_database) = stage.database.try_lock() else { return Ok(false) };
            Database::delay_commits(url, SLOW).await?;
            sleep(lasts).await;
            Database::delay_commits(url, 0).await?;
            true
        }
        _ => {
            let until = Instant::now() + lasts;
            let mut struck = false;
            while Instant::now() < until {
                let disturbed = timeout(PATIENCE, Database::disturb(url, fault == Fault::BackendsTerminated)).await;
                struck |= disturbed.is_ok_and(|disturbed| disturbed.is_ok());
                sleep(Duration::from_millis(rng.random_range(1..50))).await;
            }
            struck
        }
    };
    Ok(began)
}
