//! Plain calls beside the stream: reads, and the actions of operators and holders.

use std::time::Duration;

use futures::stream::BoxStream;
use tenure_proto::v1;

use crate::Metadata;
use crate::client::Client;
use crate::convert::from_wire;
use crate::error::Result;

/// The contract's default of `TransferRequest.drain`.
const DEFAULT_DRAIN: Duration = Duration::from_secs(10);

/// Requests and replies are the contract's messages. In requests, the namespace is set by the client.
impl Client {
    /// Reads one lock. A lock that was never requested is an idle lock, not an error.
    ///
    /// # Errors
    /// `Unavailable`, `Refused`.
    pub async fn get_lock(&self, name: &str) -> Result<v1::Lock> {
        self.connection.get_lock(name).await
    }

    /// The locks that are held or waited for and whose names begin with `prefix` (empty: all), in byte order of their
    /// names. Requested page by page; each page is consistent at a revision of its own.
    pub fn list_locks(&self, prefix: impl Into<String>) -> BoxStream<'static, Result<v1::Lock>> {
        self.connection.list(v1::ListLocksRequest { prefix: prefix.into(), ..Default::default() })
    }

    /// The holds of a lock, as far back as history is kept: current holds first, then ended ones, the last end first.
    /// Requested page by page, so that stopping early costs nothing; the next item may take a while if the server must
    /// search a long log for it.
    pub fn history(&self, name: impl Into<String>) -> BoxStream<'static, Result<v1::HistoryEntry>> {
        self.connection.list(v1::ListHistoryRequest { name: name.into(), ..Default::default() })
    }

    /// Reads one open session, with as many of its claims as fit into 1 MiB.
    ///
    /// # Errors
    /// `Refused` with `SessionNotFound` or `SessionEnded`; `Unavailable`.
    pub async fn get_session(&self, session_id: &str) -> Result<v1::Session> {
        let request = v1::GetSessionRequest { session_id: session_id.to_owned(), ..Default::default() };
        Ok(self.connection.call(request).await?.session.unwrap_or_default())
    }

    /// The open sessions, oldest first. Requested page by page.
    pub fn list_sessions(&self) -> BoxStream<'static, Result<v1::Session>> {
        self.connection.list(v1::ListSessionsRequest::default())
    }

    /// Renews, once, a session that another program (or a plain call) opened. Returns its minimum remaining lifetime,
    /// counted from before this call.
    ///
    /// # Errors
    /// `Refused` with `SessionNotFound` or `SessionEnded`; `Unavailable`.
    pub async fn renew(&self, session_id: &str) -> Result<Duration> {
        let request = v1::RenewRequest { session_id: session_id.to_owned(), ..Default::default() };
        Ok(from_wire(self.connection.call(request).await?.ttl))
    }

    /// Ends a session, by its id, and all its holds and waits. No error if it was closed already.
    ///
    /// # Errors
    /// `Refused` with `SessionNotFound`; `Unavailable`.
    pub async fn close_session(&self, session_id: &str) -> Result<()> {
        let request = v1::CloseSessionRequest { session_id: session_id.to_owned(), ..Default::default() };
        self.connection.call(request).await.map(drop)
    }

    /// Releases a hold of a session, by a name and the token of the hold. For holds without a [`Guard`](crate::Guard).
    ///
    /// # Errors
    /// `Refused` with `NotHolder`, `HoldEnded` or `TokenMismatch`; `Unavailable`.
    pub async fn release(&self, name: &str, session_id: &str, token: u64) -> Result<()> {
        let (name, session_id) = (name.to_owned(), session_id.to_owned());
        let request = v1::ReleaseRequest { name, session_id, token, ..Default::default() };
        self.connection.call(request).await.map(drop)
    }

    /// Ends the hold of a lock against its holder's will, and returns the ended claims: every hold of the lock `name`,
    /// or only the one with the `token` of the request. For operators; recorded in history.
    ///
    /// # Errors
    /// `Refused`; `Unavailable`, after which it may or may not have taken effect unless a token was given.
    pub async fn evict(&self, request: v1::EvictRequest) -> Result<Vec<v1::Claim>> {
        // Without a token a second attempt could evict the next holder.
        let has_token = request.token != 0;
        Ok(self.connection.call_with(request, has_token, Duration::ZERO).await?.evicted)
    }

    /// Hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. Returns when the handoff
    /// is complete, with the new hold. For operators; recorded in history. The lock has a holder at every moment.
    ///
    /// # Errors
    /// `Refused` with `TransferImpossible` (no holder, no waiter, ...), `TransferPending`, or `TransferNotConfirmed` if
    /// the holder did not stop in time, and keeps the lock; `Unavailable`, after which it may or may not have taken
    /// effect.
    pub async fn transfer(&self, request: v1::TransferRequest) -> Result<v1::Claim> {
        // Without a token a second attempt could make the next holder hand over.
        let (has_token, wait) =
            (request.token != 0, request.drain.map_or(DEFAULT_DRAIN, |drain| from_wire(Some(drain))));
        Ok(self.connection.call_with(request, has_token, wait).await?.claim.unwrap_or_default())
    }

    /// Replaces the labels of a hold, by a name and the token of the hold.
    ///
    /// # Errors
    /// `Refused` with `NotHolder`, `HoldEnded` or `TokenMismatch`; `Unavailable`.
    pub async fn update_claim(
        &self,
        name: &str,
        session_id: &str,
        token: u64,
        metadata: Metadata,
    ) -> Result<v1::Claim> {
        let (name, session_id) = (name.to_owned(), session_id.to_owned());
        let request = v1::UpdateClaimRequest { name, session_id, token, metadata, ..Default::default() };
        Ok(self.connection.call(request).await?.claim.unwrap_or_default())
    }

    /// Sets the settings of a lock, in place of the previous ones. Holders keep what they hold; waiters that request
    /// more permits than the new limit are ended.
    ///
    /// # Errors
    /// `Refused`; `Unavailable`.
    pub async fn configure_lock(&self, request: v1::ConfigureLockRequest) -> Result<v1::Lock> {
        Ok(self.connection.call(request).await?.lock.unwrap_or_default())
    }

    /// The waiting claims, oldest first, with the claims that they wait for; or only those in a deadlock. Requested
    /// page by page.
    pub fn list_blocked(&self, deadlocked_only: bool) -> BoxStream<'static, Result<v1::BlockedClaim>> {
        self.connection.list(v1::ListBlockedRequest { deadlocked_only, ..Default::default() })
    }

    /// Reads one group. A group that was never joined is an empty group, not an error.
    ///
    /// # Errors
    /// `Unavailable`, `Refused`.
    pub async fn get_group(&self, name: &str) -> Result<v1::Group> {
        self.connection.get_group(name).await
    }

    /// The groups that have members or a config and whose names begin with `prefix` (empty: all), in byte order of
    /// their names. Requested page by page; each page is consistent at a revision of its own.
    pub fn list_groups(&self, prefix: impl Into<String>) -> BoxStream<'static, Result<v1::Group>> {
        self.connection.list(v1::ListGroupsRequest { prefix: prefix.into(), ..Default::default() })
    }

    /// Sets the config of a group, or clears it with `None`, and returns the revision of the event that set it (0 if
    /// there is none). With `expected`: only if that is the revision of the current config; 0: only if there is no
    /// config. Needs neither a session nor members.
    ///
    /// # Errors
    /// `Refused` with `ConfigConflict` if the config is not the expected one; `Unavailable`, after which it may or may
    /// not have taken effect.
    pub async fn configure_group(&self, name: &str, config: Option<&str>, expected: Option<u64>) -> Result<u64> {
        self.connection.configure_group(name, config, expected).await
    }
}
