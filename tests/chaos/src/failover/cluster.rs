//! Databases of which one takes the writes, and another when that one fails.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use crate::past::Lost;

/// Databases of which one takes the writes.
#[async_trait(?Send)]
pub trait Cluster {
    /// The URL for servers that look for the one that takes writes; of `way`, a port that leads to it, if they cannot.
    fn url(&self, way: u16) -> String;

    /// The URL of one of them, or of what leads to it.
    fn url_of(&self, port: u16) -> String;

    /// The port of the one that takes writes.
    fn writer(&self) -> u16;

    /// Whether a failover may lose commits.
    fn loses(&self) -> bool {
        false
    }

    /// For so long, nothing of what is committed reaches the others.
    async fn fall_behind(&mut self, _lasts: Duration) {}

    /// Kills the one that takes writes.
    async fn kill(&mut self) -> anyhow::Result<()>;

    /// Comes back when another one takes writes.
    async fn take_over(&mut self) -> anyhow::Result<()>;

    /// Comes back when commits get through there, which may have to wait for others that follow it.
    async fn opens(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// What that lost. `at` is when it was over.
    async fn lost(&mut self, _at: Duration) -> anyhow::Result<Option<Lost>> {
        Ok(None)
    }

    /// What its databases have written down, by name.
    fn logs(&self) -> Vec<(String, PathBuf)> {
        Vec::new()
    }

    /// Comes back when the one that was killed follows the others again.
    async fn rebuild(&mut self) -> anyhow::Result<()>;
}
