//! Plain calls beside the stream, repeated until their deadline.

use std::time::Duration;

use futures::{TryStreamExt, stream};
use tenure_proto::v1;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tokio::time::{Instant, timeout_at};
use tokio_stream::Stream;
use tonic::{Request, Response, Status};

use super::{Connection, Wire};
use crate::backoff::Backoff;
use crate::error::{Error, Result};
use crate::model::{Claim, Lock, Metadata};

/// The upper bound of a call's deadline: neither clocks nor gRPC's header can represent all durations.
const LONGEST_CALL: Duration = Duration::from_secs(10 * 365 * 86_400);
/// The largest accepted answer: a page of 1000 locks with 100 waiters each.
pub(crate) const LARGEST_ANSWER: usize = 64 << 20;

/// Whether a call may be repeated when its answer was lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// The call is idempotent.
    Safe,
    /// Only if it certainly had no effect.
    Unsafe,
}

impl Connection {
    /// One idempotent call to the server that the stream is connected to, repeated at other servers until the call's
    /// deadline.
    pub(crate) async fn call<M, A, F>(&self, message: &M, call: F) -> Result<A>
    where
        M: Clone,
        F: AsyncFn(Wire, Request<M>) -> Result<Response<A>, Status>,
    {
        self.call_with(Retry::Safe, Duration::ZERO, message, call).await
    }

    /// As [`call`](Self::call), for a call that may not be idempotent, or that the server answers only after a wait.
    pub(crate) async fn call_with<M, A, F>(&self, retry: Retry, wait: Duration, message: &M, call: F) -> Result<A>
    where
        M: Clone,
        F: AsyncFn(Wire, Request<M>) -> Result<Response<A>, Status>,
    {
        let deadline = Instant::now() + wait.saturating_add(self.call_timeout()).min(LONGEST_CALL);
        let mut backoff = Backoff::of_commands();
        loop {
            let (wire, mut changes) = self.wire(deadline).await?;
            let mut request = Request::new(message.clone());
            request.set_timeout(deadline.saturating_duration_since(Instant::now()));
            let error = tokio::select! {
                answer = timeout_at(deadline, call(wire, request)) => match answer {
                    Ok(Ok(answer)) => return Ok(answer.into_inner()),
                    Ok(Err(status)) => Error::from(status),
                    Err(_) => return Err(Error::Unavailable("the server did not answer".to_owned())),
                },
                // The stream has left the server: the call is repeated at the next one before its deadline.
                Ok(()) = changes.changed(), if retry == Retry::Safe => continue,
            };
            let again = match &error {
                Error::Unavailable(_) => retry == Retry::Safe,
                Error::Refused(refusal) => refusal.is_transient(),
                _ => false,
            };
            let pause = backoff.next_pause();
            if !again || Instant::now() + pause >= deadline {
                return Err(error);
            }
            tracing::debug!(%error, "the call is tried again");
            tokio::time::sleep(pause).await;
        }
    }

    /// Reads one lock.
    pub(crate) async fn get_lock(&self, name: &str) -> Result<Lock> {
        let message = v1::GetLockRequest { namespace: self.namespace().to_owned(), name: name.to_owned() };
        let call = async |wire, request| locks(wire).get_lock(request).await;
        Ok(self.call(&message, call).await?.lock.unwrap_or_default().into())
    }

    /// Hands over a hold of a session of this client. Returns the next token.
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
    pub(crate) async fn update_claim(
        &self,
        name: &str,
        session_id: &str,
        token: u64,
        metadata: Metadata,
    ) -> Result<Claim> {
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
}

pub(crate) fn locks(wire: Wire) -> LockServiceClient<Wire> {
    LockServiceClient::new(wire).max_decoding_message_size(LARGEST_ANSWER)
}

/// A stream of the items on the pages that `read` reads, each with the token of the next one.
pub(crate) fn pages<T, F, R>(connection: Connection, read: R) -> impl Stream<Item = Result<T>> + Send + Unpin + 'static
where
    T: Send + 'static,
    F: Future<Output = Result<(Vec<T>, String)>> + Send + 'static,
    R: Fn(Connection, String) -> F + Send + 'static,
{
    let pages = stream::try_unfold((connection, read, Some(String::new())), |(connection, read, token)| async move {
        let Some(token) = token else { return Ok(None) };
        let (items, next) = read(connection.clone(), token).await?;
        let next = (!next.is_empty()).then_some(next);
        Ok::<_, Error>(Some((stream::iter(items.into_iter().map(Ok::<_, Error>)), (connection, read, next))))
    });
    Box::pin(pages.try_flatten())
}
