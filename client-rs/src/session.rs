//! Sessions: this program's presence at the service.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::client::Client;
use crate::clock;
use crate::error::{LostReason, Result};
use crate::link::{Note, Remote};
use crate::lock::LockRequest;
use crate::model::Metadata;
use crate::presence::{SessionPresence, SessionState};
use crate::progress::Progress;
use crate::session_id::SessionId;

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

    /// How long the session outlives this program if that dies: 500 ms to 24 h unless the server is configured otherwise.
    /// Default: 10 s.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// How long the session outlives this program's connection: 100 ms to the TTL. With 300 ms, what a crashed program held is
    /// with the next one within 350 ms, however long the TTL is. Default: none, the TTL alone counts.
    ///
    /// The server ends the session this long after it has seen the connection break, unless the client is back by then. The
    /// client cannot know when the server sees that, so it holds itself to the same rule. It renews three times in the grace;
    /// when none of its renewals was answered for the grace, counted from the sending of the last one that was, the session is
    /// lost to it for good, with all that it holds. Whatever happens to connections and servers, a client that reaches any of
    /// them within the grace keeps session, holds, tokens and places in queues.
    ///
    /// Servers are more patient: one that drains or dies ends no session before its TTL. But a client that hears
    /// nothing cannot distinguish that from a broken network, so it does not count on it. What it has lost stays lost,
    /// even if a server still has it: the session is closed as soon as a server is reached, so that no waiter waits for
    /// it needlessly.
    ///
    /// So choose it longer than it takes to reach another server, or, if there is only one, than that takes to start. A program
    /// that is frozen, whose connection stays open, is replaced after its TTL.
    #[must_use]
    pub fn disconnect_grace(self, grace: Duration) -> Self {
        Self { disconnect_grace: Some(grace), ..self }
    }

    /// Who this is, for people: a host, a pod, a job. At most 255 bytes. Default: empty.
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

    /// The session's id: 1 to 128 bytes. Two programs must never use the same id at the same time: what one holds the other
    /// would hold too. Default: a fresh one.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// Renews the session only while the program makes this progress, also while it waits for a lock; counted from the
    /// opening until the first tick. Without progress all that the session holds is lost, and its places in queues. For
    /// progress under one lock, see [`LockRequest::stall_after`]. Default: renewed while the client runs.
    #[must_use]
    pub fn renew_while(self, progress: &Progress) -> Self {
        Self { progress: Some(progress.clone()), ..self }
    }

    /// Checks what the server cannot check.
    pub(crate) fn check(&self) -> Result<()> {
        self.progress.as_ref().map_or(Ok(()), Progress::check)
    }
}

/// This program's presence at the service. What it holds and waits for ends when it ends.
///
/// A session keeps itself alive in the background. Clones are handles to the same session; when the last one and the last
/// [`Guard`](crate::Guard) are dropped, it is closed in the background.
#[derive(Clone, Debug)]
pub struct Session {
    handle: Arc<SessionHandle>,
}

/// The end of this is the end of the session.
#[derive(Debug)]
struct SessionHandle {
    id: SessionId,
    owner: String,
    presence: Arc<SessionPresence>,
    remote: Remote,
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        self.presence.end(LostReason::Closed);
        let note = Note::SessionDropped { session: self.id.clone(), presence: Arc::clone(&self.presence) };
        self.remote.note(note);
    }
}

impl Session {
    pub(crate) fn new(id: SessionId, owner: String, presence: Arc<SessionPresence>, remote: Remote) -> Self {
        Self { handle: Arc::new(SessionHandle { id, owner, presence, remote }) }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.handle.id.as_str()
    }

    /// Its owner label.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.handle.owner
    }

    /// The TTL that the server granted.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.handle.presence.ttl()
    }

    /// The disconnect grace that the server granted.
    #[must_use]
    pub fn disconnect_grace(&self) -> Option<Duration> {
        self.handle.presence.disconnect_grace()
    }

    /// Whether the server cannot have given its locks away, decided by the clock at this very moment: a process that was
    /// paused for too long gets `false` on waking. Once `false` it stays so.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.lost_reason().is_none()
    }

    /// The moment at which the session is lost if nothing more is heard from the server. In the past once it is lost.
    ///
    /// `Instant` stands still while the machine is suspended; to decide whether the session is valid, ask
    /// [`is_valid`](Self::is_valid).
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        let left = self.handle.presence.until().since(clock::now());
        Instant::now() + if self.is_valid() { left } else { Duration::ZERO }
    }

    /// The session's state, and each change of it.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<SessionState> {
        self.handle.presence.subscribe()
    }

    /// Waits until the session is lost: before the server could give its locks away, or as soon as the server says so.
    pub async fn lost(&self) -> LostReason {
        self.handle.presence.lost().await
    }

    /// Asks for a lock in this session: see [`LockRequest`].
    pub fn lock(&self, name: impl Into<String>) -> LockRequest {
        self.locks([name])
    }

    /// Asks for several locks at once, all or nothing, with one token: 1 to 16 different names.
    pub fn locks(&self, names: impl IntoIterator<Item = impl Into<String>>) -> LockRequest {
        LockRequest::new(self.client(), Some(self.clone()), names.into_iter().map(Into::into).collect())
    }

    /// Why the session is lost, if it is, decided by the clock at this very moment.
    pub(crate) fn lost_reason(&self) -> Option<LostReason> {
        self.handle.presence.lost_reason()
    }

    /// Closes the session, and with it all that it holds and waits for. Returns when the server has done so.
    ///
    /// # Errors
    /// `Unavailable` if no server answered in time; the session then ends by its TTL at the latest.
    pub async fn close(&self) -> Result<()> {
        self.handle.remote.close_session(self.handle.id.clone(), Arc::clone(&self.handle.presence)).await
    }

    pub(crate) fn id_shared(&self) -> SessionId {
        self.handle.id.clone()
    }

    pub(crate) fn presence(&self) -> &Arc<SessionPresence> {
        &self.handle.presence
    }

    pub(crate) fn client(&self) -> Client {
        Client { remote: self.handle.remote.clone() }
    }

    pub(crate) fn remote(&self) -> &Remote {
        &self.handle.remote
    }
}
