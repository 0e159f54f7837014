//! Finds the commits that a failover lost, by comparing the log of the old primary with that of the new one.

use std::time::Duration;

use crate::past::{LostCommits, read_log};

/// Compares the logs of the old and the new primary. `at` is when the new one had taken over.
pub(super) async fn compare(old: &str, new: &str, at: Duration) -> anyhow::Result<Option<LostCommits>> {
    let (old, new) = (read_log(old, 0).await?, read_log(new, 0).await?);
    let common = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let batches = old[common..].to_vec();
    let after = common.checked_sub(1).map_or(0, |last| old[last].revision().0);
    Ok((!batches.is_empty()).then_some(LostCommits { at, after, batches }))
}
