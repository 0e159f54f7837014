//! The interface of a database cluster in which one database takes the writes and another takes over when it fails.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use crate::past::LostCommits;

/// A cluster of databases, one of which takes the writes.
#[async_trait(?Send)]
pub trait Cluster {
    /// The URL for servers that search for the writer themselves; if they cannot, the URL of `proxy_port`, the port of
    /// a proxy that follows the writer.
    fn url(&self, proxy_port: u16) -> String;

    /// The URL of one database, or of a proxy in front of it.
    fn url_of(&self, port: u16) -> String;

    /// The port of the writer.
    fn writer(&self) -> u16;

    /// Returns whether a failover may lose commits.
    fn may_lose_commits(&self) -> bool {
        false
    }

    /// Stops replication to the others for this time.
    async fn fall_behind(&mut self, _lasts: Duration) {}

    /// Kills the writer.
    async fn kill(&mut self) -> anyhow::Result<()>;

    /// Returns when another database takes writes.
    async fn take_over(&mut self) -> anyhow::Result<()>;

    /// Returns when the new writer completes commits, which may first have to wait for its followers.
    async fn wait_for_commits(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// The commits that the failover lost. `at` is when it was over.
    async fn lost_commits(&mut self, _at: Duration) -> anyhow::Result<Option<LostCommits>> {
        Ok(None)
    }

    /// The logs of its databases, by name.
    fn logs(&self) -> Vec<(String, PathBuf)> {
        Vec::new()
    }

    /// Returns when the killed database follows the others again.
    async fn rebuild(&mut self) -> anyhow::Result<()>;
}
