//! The options of a session.

use std::time::Duration;

use crate::error::Result;
use crate::model::Metadata;
use crate::progress::Progress;

/// How to open a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    pub(crate) ttl: Duration,
    pub(crate) disconnect_grace: Option<Duration>,
    pub(crate) owner: String,
    pub(crate) metadata: Metadata,
    pub(crate) id: Option<String>,
    pub(crate) progress: Option<Progress>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(10),
            disconnect_grace: None,
            owner: String::new(),
            metadata: Metadata::new(),
            id: None,
            progress: None,
        }
    }
}

impl SessionOptions {
    /// A TTL of 10 s, no disconnect grace, a fresh id, no owner, no metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the session outlives this program: 500 ms to 24 h unless the server is configured otherwise. Default:
    /// 10 s.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// How long the session outlives this program's connection: 100 ms to the TTL. With 300 ms, the lock of a crashed
    /// program is granted to the next one within 350 ms, however long the TTL is. Default: none, the TTL alone applies.
    ///
    /// The server ends the session this long after it has seen the connection break, unless the client has reconnected
    /// by then. The client cannot know when the server sees that, so it applies the same rule to itself: it renews
    /// three times in the grace, and when no renewal was answered for the grace, counted from the sending of the last
    /// answered one, the session is finally lost, with all its holds. Whatever happens to connections and servers, a
    /// client that reaches any server within the grace keeps session, holds, tokens and places in queues.
    ///
    /// A server that drains or fails ends no session before its TTL. But a client without answers cannot distinguish
    /// that from a broken network, so it does not rely on it. A lost session stays lost, even if a server still has it:
    /// it is closed as soon as a server is reached, so that no waiter waits for it needlessly.
    ///
    /// So choose it longer than it takes to reach another server, or, with only one server, to restart it. A frozen
    /// program, whose connection stays open, is replaced after its TTL.
    #[must_use]
    pub fn disconnect_grace(self, grace: Duration) -> Self {
        Self { disconnect_grace: Some(grace), ..self }
    }

    /// The owner label, for people: a host, a pod, a job. At most 255 bytes. Default: empty.
    #[must_use]
    pub fn owner(self, owner: impl Into<String>) -> Self {
        Self { owner: owner.into(), ..self }
    }

    /// A free label. All labels together: at most 4096 bytes.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The session's id: 1 to 128 bytes. Two programs must never use the same id at the same time: they would share
    /// their holds. Default: a fresh one.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// Renews the session only while the program makes this progress, even while it waits for a lock; counted from the
    /// opening until the first tick. Without progress the session is lost, with all its holds and places in queues. For
    /// progress under one lock, see [`LockRequest::stall_after`](crate::LockRequest::stall_after). Default: renewed
    /// while the client runs.
    #[must_use]
    pub fn renew_while(self, progress: &Progress) -> Self {
        Self { progress: Some(progress.clone()), ..self }
    }

    /// Checks what the server cannot check.
    pub(crate) fn check(&self) -> Result<()> {
        self.progress.as_ref().map_or(Ok(()), Progress::check)
    }
}
