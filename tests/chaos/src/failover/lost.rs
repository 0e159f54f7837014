//! What a failover lost: known by comparing the log of the old primary with that of the new one.

use std::time::Duration;

use super::{Cluster, Pair};
use crate::past::{Lost, read_log};

/// Compares the logs. The old primary is stopped, before and after. `at` is when the new one had taken over.
pub(super) async fn compare(pair: &mut Pair, at: Duration) -> anyhow::Result<Option<Lost>> {
    let aside = pair.standby.start_aside().await?;
    let old = read_log(&pair.url_of(aside), 0).await;
    pair.standby.kill().await?;
    let (old, new) = (old?, read_log(&pair.url_of(pair.primary.port()), 0).await?);
    let common = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let batches = old[common..].to_vec();
    let after = common.checked_sub(1).map_or(0, |last| old[last].revision().0);
    Ok((!batches.is_empty()).then_some(Lost { at, after, batches }))
}
