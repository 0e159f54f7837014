//! The options of a session.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_proto::v1;

use crate::convert::to_wire;
use crate::error::Result;
use crate::progress::Progress;

/// How to open a session.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SessionOptions {
    declared: v1::DeclaredSession,
    pub(crate) progress: Option<Progress>,
}

/// The default TTL.
const TTL: Duration = Duration::from_secs(10);
/// The contract's bound of an owner label.
const OWNER_BYTES: usize = 255;

impl SessionOptions {
    /// A TTL of 10 s, no disconnect grace, a fresh id, the program and its host as the owner, no metadata.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the session outlives this program: 500 ms to 24 h unless the server is configured otherwise. Default:
    /// 10 s.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.declared.ttl = Some(to_wire(ttl));
        self
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
    pub fn disconnect_grace(mut self, grace: Duration) -> Self {
        self.declared.disconnect_grace = Some(to_wire(grace));
        self
    }

    /// The owner label, for people: a host, a pod, a job. At most 255 bytes. Default: this program and its host, as in
    /// `worker@host-1`.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.declared.owner = owner.into();
        self
    }

    /// A free label. All labels together: at most 4096 bytes.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.declared.metadata.insert(key.into(), value.into());
        self
    }

    /// The session's id: 1 to 128 bytes. Rejected while another program has a session of this id open. Default: a fresh
    /// one.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.declared.session_id = id.into();
        self
    }

    /// Renews the session only while the program makes this progress, even while it waits for a lock; counted from the
    /// opening until the first tick. Without progress the session is lost, with all its holds and places in queues. For
    /// progress under one lock, see [`LockRequest::stall_after`](crate::LockRequest::stall_after). Default: renewed
    /// while the client runs.
    pub fn renew_while(mut self, progress: &Progress) -> Self {
        self.progress = Some(progress.clone());
        self
    }

    /// As they are declared.
    ///
    /// # Errors
    /// `Invalid` for what the server cannot check.
    pub(crate) fn to_declare(&self) -> Result<v1::DeclaredSession> {
        self.progress.as_ref().map_or(Ok(()), Progress::check)?;
        let mut declared = self.declared.clone();
        declared.ttl.get_or_insert_with(|| to_wire(TTL));
        if declared.session_id.is_empty() {
            declared.session_id = uuid::Uuid::now_v7().to_string();
        }
        if declared.owner.is_empty() {
            declared.owner = default_owner();
        }
        Ok(declared)
    }
}

/// This program and its host.
fn default_owner() -> String {
    let program = std::env::args_os().next().map(PathBuf::from);
    let program = program.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let mut owner = format!("{program}@{}", rustix::system::uname().nodename().to_string_lossy());
    owner.retain(|character| !character.is_control());
    while owner.len() > OWNER_BYTES {
        owner.pop();
    }
    owner
}

/// The setters of the session that is opened for a request, which this field has as well.
macro_rules! session_setters {
    ($field:ident) => {
        /// The TTL of the session that is opened for this request: see [`SessionOptions::ttl`](crate::SessionOptions::ttl).
        /// No effect on a request in an existing session.
        pub fn ttl(mut self, ttl: std::time::Duration) -> Self {
            self.$field = self.$field.ttl(ttl);
            self
        }

        /// The disconnect grace of the session that is opened for this request: see
        /// [`SessionOptions::disconnect_grace`](crate::SessionOptions::disconnect_grace). No effect on a request in an
        /// existing session.
        pub fn disconnect_grace(mut self, grace: std::time::Duration) -> Self {
            self.$field = self.$field.disconnect_grace(grace);
            self
        }

        /// The owner label of the session that is opened for this request. No effect on a request in an existing session.
        pub fn owner(mut self, owner: impl Into<String>) -> Self {
            self.$field = self.$field.owner(owner);
            self
        }

        /// Takes part only while the program makes this progress, even while it waits: see
        /// [`SessionOptions::renew_while`](crate::SessionOptions::renew_while). No effect on a request in an existing
        /// session.
        pub fn renew_while(mut self, progress: &crate::Progress) -> Self {
            self.$field = self.$field.renew_while(progress);
            self
        }
    };
}
pub(crate) use session_setters;
