//! Plain calls beside the stream, repeated until their deadline.

use std::time::Duration;

use futures::{TryStreamExt, stream};
use tenure_proto::v1;
use tenure_proto::v1::group_service_client::GroupServiceClient;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tokio::time::{Instant, timeout_at};
use tokio_stream::Stream;
use tonic::{Request, Response, Status};

use super::{Connection, Wire};
use crate::backoff::Backoff;
use crate::error::{Error, Result};
use crate::model::{Assignments, Claim, Group, GroupLeader, Lock, Metadata};

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

/// One idempotent call in the connection's namespace: `call!(connection, locks, get_lock, GetLockRequest { name })`.
macro_rules! call {
    ($connection:expr, $service:ident, $method:ident, $request:ident { $($fields:tt)* }) => {{
        let message = v1::$request { namespace: $connection.namespace().to_owned(), $($fields)* };
        $connection.call(&message, async |wire, request| $service(wire).$method(request).await).await
    }};
}
pub(crate) use call;

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
        let answer = call!(self, locks, get_lock, GetLockRequest { name: name.to_owned() })?;
        Ok(answer.lock.unwrap_or_default().into())
    }

    /// Hands over a hold of a session of this client. Returns the next token.
    pub(crate) async fn hand_over(&self, name: &str, session_id: &str, token: u64, to: Option<&str>) -> Result<u64> {
        let (name, session_id) = (name.to_owned(), session_id.to_owned());
        let (to_session_id, others) = (to.unwrap_or_default().to_owned(), v1::TransferRequest::default());
        let answer =
            call!(self, locks, transfer, TransferRequest { name, token, to_session_id, session_id, ..others })?;
        Ok(answer.token)
    }

    /// Replaces the labels of a hold, by a name and the token of the hold.
    pub(crate) async fn update_claim(
        &self,
        name: &str,
        session_id: &str,
        token: u64,
        metadata: Metadata,
    ) -> Result<Claim> {
        let (name, session_id) = (name.to_owned(), session_id.to_owned());
        let answer = call!(self, locks, update_claim, UpdateClaimRequest { name, session_id, token, metadata })?;
        Ok(answer.claim.unwrap_or_default().into())
    }

    /// Reads a group.
    pub(crate) async fn get_group(&self, group: &str) -> Result<Group> {
        let answer = call!(self, groups, get_group, GetGroupRequest { group: group.to_owned() })?;
        Ok(answer.group.unwrap_or_default())
    }

    /// Sets the value that a group shares: see [`Client::configure_group`](crate::Client::configure_group).
    pub(crate) async fn configure_group(&self, name: &str, config: Option<&str>, expected: Option<u64>) -> Result<u64> {
        // A repeated call would find the config of the first one instead of the expected one.
        let retry = if expected.is_none() { Retry::Safe } else { Retry::Unsafe };
        let message = v1::ConfigureGroupRequest {
            namespace: self.namespace().to_owned(),
            group: name.to_owned(),
            config: config.map(ToOwned::to_owned),
            expected_revision: expected,
        };
        let call = async |wire, request| groups(wire).configure_group(request).await;
        Ok(self.call_with(retry, Duration::ZERO, &message, call).await?.config_revision)
    }

    /// Assigns on behalf of a leader. The assignments were computed from this state of the group.
    pub(crate) async fn assign_group(
        &self,
        state: &Group,
        leader: &GroupLeader,
        assignments: Assignments,
    ) -> Result<()> {
        let (group, session_id, token) = (state.name.clone(), leader.session_id.clone(), leader.token);
        let (membership_revision, config_revision) = (state.membership_revision, state.config_revision);
        call!(
            self,
            groups,
            assign_group,
            AssignGroupRequest { group, session_id, token, membership_revision, config_revision, assignments }
        )
        .map(drop)
    }
}

pub(crate) fn locks(wire: Wire) -> LockServiceClient<Wire> {
    LockServiceClient::new(wire).max_decoding_message_size(LARGEST_ANSWER)
}

pub(crate) fn sessions(wire: Wire) -> SessionServiceClient<Wire> {
    SessionServiceClient::new(wire).max_decoding_message_size(LARGEST_ANSWER)
}

pub(crate) fn groups(wire: Wire) -> GroupServiceClient<Wire> {
    GroupServiceClient::new(wire).max_decoding_message_size(LARGEST_ANSWER)
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
