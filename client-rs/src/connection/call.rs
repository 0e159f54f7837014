//! Plain calls beside the stream, repeated until their deadline.

use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use http::uri::PathAndQuery;
use tenure_proto::codec::Codec;
use tenure_proto::{Call, List, v1};
use tokio::time::{Instant, sleep, timeout_at};
use tonic::Request;
use tonic::client::Grpc;
use tracing::{Instrument, Span};

use super::Connection;
use crate::backoff::Backoff;
use crate::error::{Error, Result};
use crate::trace;

/// The upper bound of a call's deadline: neither clocks nor gRPC's header can represent all durations.
const LONGEST_CALL: Duration = Duration::from_secs(10 * 365 * 86_400);
/// The largest accepted answer: a page of 1000 locks with 100 waiters each.
pub(crate) const LARGEST_ANSWER: usize = 64 << 20;

/// The span of a call, whose trace is added to the request.
pub(crate) fn call_span<M>(path: &str, request: &mut Request<M>) -> Span {
    let name = path.trim_start_matches('/');
    let (service, method) = name.split_once('/').unwrap_or((name, ""));
    let span = tracing::info_span!(
        "tenure.call",
        otel.name = name,
        otel.kind = "client",
        rpc.system = "grpc",
        rpc.service = service,
        rpc.method = method
    );
    span.in_scope(|| trace::send_along(request.metadata_mut().as_mut()));
    span
}

impl Connection {
    /// Makes one idempotent call, in the connection's namespace, to the server that the stream is connected to. Repeats
    /// it at other servers until the call's deadline.
    pub(crate) async fn call<C: Call>(&self, request: C) -> Result<C::Reply> {
        self.call_with(request, true, Duration::ZERO).await
    }

    /// As [`call`](Self::call), for a call that the server answers only after a wait, or that may not be idempotent:
    /// then it is repeated only if it certainly had no effect.
    pub(crate) async fn call_with<C: Call>(&self, request: C, is_safe: bool, wait: Duration) -> Result<C::Reply> {
        let message = request.in_namespace(&self.namespace);
        let deadline = Instant::now() + wait.saturating_add(self.call_timeout).min(LONGEST_CALL);
        let mut backoff = Backoff::of_commands();
        loop {
            let (wire, mut changes) = self.wire(deadline).await?;
            let mut request = Request::new(message.clone());
            request.set_timeout(deadline.saturating_duration_since(Instant::now()));
            let span = call_span(C::PATH, &mut request);
            let calling = async {
                let mut service = Grpc::new(wire).max_decoding_message_size(LARGEST_ANSWER);
                service.ready().await?;
                service.unary(request, PathAndQuery::from_static(C::PATH), Codec::default()).await
            };
            let error = tokio::select! {
                answer = timeout_at(deadline, calling.instrument(span)) => match answer {
                    Ok(Ok(answer)) => return Ok(answer.into_inner()),
                    Ok(Err(status)) => Error::from(status),
                    Err(_) => return Err(Error::Unavailable("the server did not answer".to_owned())),
                },
                // The stream has left the server: the call is repeated at the next one before its deadline.
                Ok(()) = changes.changed(), if is_safe => continue,
            };
            let may_repeat = error.is_transient() && (is_safe || !matches!(error, Error::Unavailable(_)));
            let pause = backoff.next_pause();
            if !may_repeat || Instant::now() + pause >= deadline {
                return Err(error);
            }
            tracing::debug!(%error, "the call is tried again");
            sleep(pause).await;
        }
    }

    /// The items of a list, page by page.
    pub(crate) fn list<L: List>(&self, request: L) -> BoxStream<'static, Result<L::Item>> {
        let first = Some((self.clone(), request, String::new()));
        let pages = stream::try_unfold(first, async |page| {
            let Some((connection, request, page_token)) = page else { return Ok(None) };
            let (items, next) = L::items(connection.call(request.clone().at_page(page_token)).await?);
            let next = (!next.is_empty()).then_some((connection, request, next));
            Ok::<_, Error>(Some((stream::iter(items).map(Ok), next)))
        });
        pages.try_flatten().boxed()
    }

    /// Reads one lock.
    pub(crate) async fn get_lock(&self, name: &str) -> Result<v1::Lock> {
        let request = v1::GetLockRequest { name: name.to_owned(), ..Default::default() };
        Ok(self.call(request).await?.lock.unwrap_or_default())
    }

    /// Reads one group.
    pub(crate) async fn get_group(&self, name: &str) -> Result<v1::Group> {
        let request = v1::GetGroupRequest { group: name.to_owned(), ..Default::default() };
        Ok(self.call(request).await?.group.unwrap_or_default())
    }

    /// Sets the config of a group: see [`Client::configure_group`](crate::Client::configure_group).
    pub(crate) async fn configure_group(&self, name: &str, config: Option<&str>, expected: Option<u64>) -> Result<u64> {
        let (group, config) = (name.to_owned(), config.map(ToOwned::to_owned));
        let request = v1::ConfigureGroupRequest { group, config, expected_revision: expected, ..Default::default() };
        // A repeated call would find the config of the first one instead of the expected one.
        Ok(self.call_with(request, expected.is_none(), Duration::ZERO).await?.config_revision)
    }
}
