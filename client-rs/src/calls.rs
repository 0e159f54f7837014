//! Plain calls beside the stream: reads, and the actions of operators and holders.

use std::time::Duration;

use tenure_proto::v1;
use tokio_stream::Stream;

use crate::client::Client;
use crate::connection::{Retry, call, groups, locks, pages, sessions};
use crate::convert::{from_wire, to_wire};
use crate::error::Result;
use crate::handoff::TransferOptions;
use crate::model::{BlockedClaim, Claim, Group, HistoryEntry, Lock, LockSettings, Metadata, Preempt, SessionInfo};

/// How to evict a holder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvictOptions {
    token: Option<u64>,
    operator: String,
    note: String,
}

impl EvictOptions {
    /// Evicts every holder of the lock, on behalf of `operator` (1 to 255 bytes, for history).
    #[must_use]
    pub fn by(operator: impl Into<String>) -> Self {
        Self { operator: operator.into(), ..Self::default() }
    }

    /// Only the hold with this token.
    #[must_use]
    pub fn token(self, token: u64) -> Self {
        Self { token: Some(token), ..self }
    }

    /// The reason, for history: at most 255 bytes. Default: empty.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

impl Client {
    /// Reads one lock. A lock that was never requested is an idle lock, not an error.
    ///
    /// # Errors
    /// `Unavailable`, `Refused`.
    pub async fn get_lock(&self, name: &str) -> Result<Lock> {
        self.connection.get_lock(name).await
    }

    /// The locks that are held or waited for and whose names begin with `prefix` (empty: all), in byte order of their
    /// names. Requested page by page; each page is consistent at a revision of its own.
    pub fn list_locks(&self, prefix: impl Into<String>) -> impl Stream<Item = Result<Lock>> + Send + Unpin + 'static {
        let prefix = prefix.into();
        pages(self.connection.clone(), move |connection, page_token| {
            let prefix = prefix.clone();
            async move {
                let page = call!(connection, locks, list_locks, ListLocksRequest { prefix, page_size: 0, page_token })?;
                Ok((page.locks.into_iter().map(Lock::from).collect(), page.next_page_token))
            }
        })
    }

    /// The holds of a lock, as far back as history is kept: current holds first, then ended ones, the last end first.
    /// Requested page by page, so that stopping early costs nothing; the next item may take a while if the server must
    /// search a long log for it.
    pub fn history(
        &self,
        name: impl Into<String>,
    ) -> impl Stream<Item = Result<HistoryEntry>> + Send + Unpin + 'static {
        let name = name.into();
        pages(self.connection.clone(), move |connection, page_token| {
            let name = name.clone();
            async move {
                let page =
                    call!(connection, locks, list_history, ListHistoryRequest { name, page_size: 0, page_token })?;
                Ok((page.entries, page.next_page_token))
            }
        })
    }

    /// Reads one open session, with as many of its claims as fit into 1 MiB.
    ///
    /// # Errors
    /// `Refused` with `SessionNotFound` or `SessionEnded`; `Unavailable`.
    pub async fn get_session(&self, session_id: &str) -> Result<SessionInfo> {
        let session_id = session_id.to_owned();
        let answer = call!(self.connection, sessions, get_session, GetSessionRequest { session_id, after_claim: 0 })?;
        Ok(answer.session.unwrap_or_default().into())
    }

    /// The open sessions, oldest first. Requested page by page.
    pub fn list_sessions(&self) -> impl Stream<Item = Result<SessionInfo>> + Send + Unpin + 'static {
        pages(self.connection.clone(), |connection, page_token| async move {
            let page = call!(connection, sessions, list_sessions, ListSessionsRequest { page_size: 0, page_token })?;
            Ok((page.sessions.into_iter().map(SessionInfo::from).collect(), page.next_page_token))
        })
    }

    /// Renews, once, a session that another program (or a plain call) opened. Returns its minimum remaining lifetime,
    /// counted from before this call.
    ///
    /// # Errors
    /// `Refused` with `SessionNotFound` or `SessionEnded`; `Unavailable`.
    pub async fn renew(&self, session_id: &str) -> Result<Duration> {
        let session_id = session_id.to_owned();
        let answer = call!(self.connection, sessions, renew, RenewRequest { session_id })?;
        Ok(answer.ttl.map(from_wire).unwrap_or_default())
    }

    /// Ends a session, by its id, and all its holds and waits. No error if it was closed already.
    ///
    /// # Errors
    /// `Refused` with `SessionNotFound`; `Unavailable`.
    pub async fn close_session(&self, session_id: &str) -> Result<()> {
        let (session_id, client_id) = (session_id.to_owned(), String::new());
        call!(self.connection, sessions, close_session, CloseSessionRequest { session_id, client_id }).map(drop)
    }

    /// Releases a hold of a session, by a name and the token of the hold. For holds without a [`Guard`](crate::Guard).
    ///
    /// # Errors
    /// `Refused` with `NotHolder`, `HoldEnded` or `TokenMismatch`; `Unavailable`.
    pub async fn release(&self, name: &str, session_id: &str, token: u64) -> Result<()> {
        let (name, session_id) = (name.to_owned(), session_id.to_owned());
        call!(self.connection, locks, release, ReleaseRequest { name, session_id, token }).map(drop)
    }

    /// Ends the hold of a lock against its holder's will, and returns the ended claims. For operators; recorded in
    /// history.
    ///
    /// # Errors
    /// `Refused`; `Unavailable`, after which it may or may not have taken effect unless a token was given.
    pub async fn evict(&self, name: &str, options: EvictOptions) -> Result<Vec<Claim>> {
        let message = v1::EvictRequest {
            namespace: self.namespace().to_owned(),
            name: name.to_owned(),
            token: options.token.unwrap_or_default(),
            operator: options.operator,
            note: options.note,
        };
        // Without a token a second attempt could evict the next holder.
        let retry = if message.token == 0 { Retry::Unsafe } else { Retry::Safe };
        let call = async |wire, request| locks(wire).evict(request).await;
        let answer = self.connection.call_with(retry, Duration::ZERO, &message, call).await?;
        Ok(answer.evicted.into_iter().map(Claim::from).collect())
    }

    /// Hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. Returns when the handoff
    /// is complete, with the new hold. For operators; recorded in history. The lock has a holder at every moment.
    ///
    /// # Errors
    /// `Refused` with `TransferImpossible` (no holder, no waiter, ...), `TransferPending`, or `TransferNotConfirmed` if
    /// the holder did not stop in time, and keeps the lock; `Unavailable`, after which it may or may not have taken
    /// effect.
    pub async fn transfer(&self, name: &str, options: TransferOptions) -> Result<Claim> {
        let wait = options.drain.unwrap_or(Preempt::default().drain);
        let message = v1::TransferRequest {
            namespace: self.namespace().to_owned(),
            name: name.to_owned(),
            token: options.token.unwrap_or_default(),
            to_session_id: options.to.unwrap_or_default(),
            drain: options.drain.map(to_wire),
            operator: options.operator,
            note: options.note,
            session_id: String::new(),
        };
        // Without a token a second attempt could make the next holder hand over.
        let retry = if message.token == 0 { Retry::Unsafe } else { Retry::Safe };
        let call = async |wire, request| locks(wire).transfer(request).await;
        let answer = self.connection.call_with(retry, wait, &message, call).await?;
        Ok(answer.claim.unwrap_or_default().into())
    }

    /// Replaces the labels of a hold, by a name and the token of the hold.
    ///
    /// # Errors
    /// `Refused` with `NotHolder`, `HoldEnded` or `TokenMismatch`; `Unavailable`.
    pub async fn update_claim(&self, name: &str, session_id: &str, token: u64, metadata: Metadata) -> Result<Claim> {
        self.connection.update_claim(name, session_id, token, metadata).await
    }

    /// Sets the settings of a lock, in place of the previous ones, on behalf of `operator` (1 to 255 bytes) with a note
    /// (0 to 255 bytes). Holders keep what they hold; waiters that request more permits than the new limit are ended.
    ///
    /// # Errors
    /// `Refused`; `Unavailable`.
    pub async fn configure_lock(
        &self,
        name: &str,
        settings: LockSettings,
        operator: impl Into<String>,
        note: impl Into<String>,
    ) -> Result<Lock> {
        let (name, operator, note) = (name.to_owned(), operator.into(), note.into());
        let settings = Some(settings.into());
        let answer =
            call!(self.connection, locks, configure_lock, ConfigureLockRequest { name, settings, operator, note })?;
        Ok(answer.lock.unwrap_or_default().into())
    }

    /// The waiting claims, oldest first, with the claims that they wait for; or only those in a deadlock. Requested
    /// page by page.
    pub fn list_blocked(
        &self,
        deadlocked_only: bool,
    ) -> impl Stream<Item = Result<BlockedClaim>> + Send + Unpin + 'static {
        pages(self.connection.clone(), move |connection, page_token| async move {
            let page = call!(
                connection,
                locks,
                list_blocked,
                ListBlockedRequest { deadlocked_only, page_size: 0, page_token }
            )?;
            let blocked = page.blocked.into_iter().map(|blocked| BlockedClaim {
                claim: blocked.claim.unwrap_or_default().into(),
                blocked_by: blocked.blocked_by.into_iter().map(Claim::from).collect(),
                truncated: blocked.truncated,
            });
            Ok((blocked.collect(), page.next_page_token))
        })
    }

    /// Reads one group. A group that was never joined is an empty group, not an error.
    ///
    /// # Errors
    /// `Unavailable`, `Refused`.
    pub async fn get_group(&self, name: &str) -> Result<Group> {
        self.connection.get_group(name).await
    }

    /// The groups that have members or a config and whose names begin with `prefix` (empty: all), in byte order of
    /// their names. Requested page by page; each page is consistent at a revision of its own.
    pub fn list_groups(&self, prefix: impl Into<String>) -> impl Stream<Item = Result<Group>> + Send + Unpin + 'static {
        let prefix = prefix.into();
        pages(self.connection.clone(), move |connection, page_token| {
            let prefix = prefix.clone();
            async move {
                let page =
                    call!(connection, groups, list_groups, ListGroupsRequest { prefix, page_size: 0, page_token })?;
                Ok((page.groups, page.next_page_token))
            }
        })
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
