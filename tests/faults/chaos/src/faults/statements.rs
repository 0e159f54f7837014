//! Faults inside the database: other connections that interfere with the servers.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::{Instant, sleep, timeout};

use super::Fault;
use crate::database::Database;
use crate::deployment::Deployment;

/// The timeout of a disturbance that the database does not execute.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The delay of PostgreSQL before a slow commit, in µs: the maximum of the setting.
const COMMIT_DELAY: u32 = 100_000;

/// Returns whether the fault occurred: it does not while the database is down.
pub(super) async fn disturb(
    fault: Fault,
    deployment: &Deployment,
    rng: &mut StdRng,
    lasts: Duration,
) -> anyhow::Result<bool> {
    let url = &deployment.url;
    let began = match fault {
        Fault::HeadLocked => {
            timeout(lasts + TIMEOUT, Database::lock_heads(url, lasts)).await.is_ok_and(|ok| ok.is_ok())
        }
        Fault::CommitsSlow => {
            let Ok(_database) = deployment.database.try_lock() else { return Ok(false) };
            Database::delay_commits(url, COMMIT_DELAY).await?;
            sleep(lasts).await;
            Database::delay_commits(url, 0).await?;
            true
        }
        _ => {
            let until = Instant::now() + lasts;
            let mut occurred = false;
            while Instant::now() < until {
                let disturbed = timeout(TIMEOUT, Database::disturb(url, fault == Fault::BackendsTerminated)).await;
                occurred |= disturbed.is_ok_and(|disturbed| disturbed.is_ok());
                sleep(Duration::from_millis(rng.random_range(1..50))).await;
            }
            occurred
        }
    };
    Ok(began)
}
