//! Plain calls that change holds and locks: an operator's means, and a holder's.

use tenure_proto::v1;
use tokio_stream::Stream;

use crate::calls::{Retry, locks, pages};
use crate::client::Client;
use crate::convert::to_wire;
use crate::error::Result;
use crate::handoff::TransferOptions;
use crate::model::{BlockedClaim, Claim, Lock, LockSettings, Metadata, Preempt};

impl Client {
    /// Hands a lock over to a waiter: the holder is asked to stop, and confirms by releasing. Returns when it is done, with
    /// the new hold. For operators; recorded in history. There is no moment at which nobody holds the lock.
    ///
    /// # Errors
    /// `Refused` with `TransferImpossible` (nobody holds it, nobody waits, ...), `TransferPending`, or `TransferNotConfirmed` if
    /// the holder did not stop in time, and holds on; `Unavailable`, after which it may or may not have taken effect.
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
        // Without a token a second try could make the next holder hand over.
        let retry = if message.token == 0 { Retry::Unsafe } else { Retry::Safe };
        let call = async |wire, request| locks(wire).transfer(request).await;
        let answer = self.call_with(retry, wait, &message, call).await?;
        Ok(answer.claim.unwrap_or_default().into())
    }

    /// Hands over what a session of this client holds. Answers the next token.
    pub(crate) async fn hand_over(&self, name: &str, session_id: &str, token: u64, to: Option<&str>) -> Result<u64> {
        let message = v1::TransferRequest {
            namespace: self.namespace().to_owned(),
            name: name.to_owned(),
            token,
            to_session_id: to.unwrap_or_default().to_owned(),
            session_id: session_id.to_owned(),
            ..v1::TransferRequest::default()
        };
        let call = async |wire, request| locks(wire).transfer(request).await;
        Ok(self.call(&message, call).await?.token)
    }

    /// Replaces the labels of a hold, by a name and the token of the hold.
    ///
    /// # Errors
    /// `Refused` with `NotHolder`, `HoldEnded` or `TokenMismatch`; `Unavailable`.
    pub async fn update_claim(&self, name: &str, session_id: &str, token: u64, metadata: Metadata) -> Result<Claim> {
        let message = v1::UpdateClaimRequest {
            namespace: self.namespace().to_owned(),
            name: name.to_owned(),
            session_id: session_id.to_owned(),
            token,
            metadata,
        };
        let call = async |wire, request| locks(wire).update_claim(request).await;
        Ok(self.call(&message, call).await?.claim.unwrap_or_default().into())
    }

    /// Sets what claims to a lock have to go by, in place of what was set before, on behalf of `operator` (1 to 255 bytes) with
    /// a note (0 to 255 bytes). Takes nothing from holders; waiters that ask for more permits than there are then, are ended.
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
        let message = v1::ConfigureLockRequest {
            namespace: self.namespace().to_owned(),
            name: name.to_owned(),
            settings: Some(settings.into()),
            operator: operator.into(),
            note: note.into(),
        };
        let call = async |wire, request| locks(wire).configure_lock(request).await;
        Ok(self.call(&message, call).await?.lock.unwrap_or_default().into())
    }

    /// The claims that wait, in the order in which they were made, with those that they wait for; or only those in a
    /// deadlock. Asked for page by page.
    pub fn list_blocked(
        &self,
        deadlocked_only: bool,
    ) -> impl Stream<Item = Result<BlockedClaim>> + Send + Unpin + 'static {
        pages(self.clone(), move |client, page_token| {
            let namespace = client.namespace().to_owned();
            let message = v1::ListBlockedRequest { namespace, deadlocked_only, page_size: 0, page_token };
            async move {
                let call = async |wire, request| locks(wire).list_blocked(request).await;
                let page = client.call(&message, call).await?;
                let blocked = page.blocked.into_iter().map(|blocked| BlockedClaim {
                    claim: blocked.claim.unwrap_or_default().into(),
                    blocked_by: blocked.blocked_by.into_iter().map(Claim::from).collect(),
                });
                Ok((blocked.collect(), page.next_page_token))
            }
        })
    }
}
