//! Spans of calls: of plain ones, and of a stream's commands, which have the meaning and the name of the plain call.

use std::net::SocketAddr;
use std::task::{Context as TaskContext, Poll};

use futures::future::{BoxFuture, Either};
use http::{Request, Response};
use opentelemetry::trace::{FutureExt, SpanKind, Status as SpanStatus, TraceContextExt};
use opentelemetry::{Context, KeyValue};
use tenure_proto::v1::change;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use super::methods;
use crate::telemetry::traces::{self, note, parent};

/// Traces the plain calls behind it, if traces are exported. It follows the layers that reject unidentified callers, so
/// that only identified callers start spans.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceLayer {
    served_at: SocketAddr,
}

impl TraceLayer {
    /// For calls that are served at this address.
    pub(crate) fn new(served_at: SocketAddr) -> Self {
        Self { served_at }
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = TraceService<S>;

    fn layer(&self, inner: S) -> TraceService<S> {
        TraceService { served_at: self.served_at, inner }
    }
}

/// A service behind [`TraceLayer`].
#[derive(Clone)]
pub(crate) struct TraceService<S> {
    served_at: SocketAddr,
    inner: S,
}

impl<S> Service<Request<Body>> for TraceService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, context: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let call = plain(&request, self.served_at);
        let answer = self.inner.call(request);
        if !call.has_active_span() {
            return Either::Left(answer);
        }
        let answer = answer.with_context(call.clone());
        Either::Right(Box::pin(until_answered(answer, End { call, code: Code::Cancelled })))
    }
}

async fn until_answered<E>(
    answer: impl Future<Output = Result<Response<Body>, E>>,
    mut end: End,
) -> Result<Response<Body>, E> {
    let answer = answer.await?;
    // A rejection has its status among its headers. Otherwise the one message is being sent.
    end.code = Status::from_header_map(answer.headers()).map_or(Code::Ok, |status| status.code());
    Ok(answer)
}

/// Records the status of a call when dropped: cancelled, if its caller dropped the call.
struct End {
    call: Context,
    code: Code,
}

impl Drop for End {
    fn drop(&mut self) {
        answered(&self.call, self.code);
    }
}

/// The span of a plain call.
fn plain<B>(request: &Request<B>, served_at: SocketAddr) -> Context {
    if !traces::are_exported() {
        return Context::new();
    }
    let Some(name) = ending(request.uri().path()) else { return Context::new() };
    let call = begin(name, &parent::of_headers(request.headers()));
    note(&call, || {
        let (address, port) = (served_at.ip().to_string(), i64::from(served_at.port()));
        [KeyValue::new("server.address", address), KeyValue::new("server.port", port)]
    });
    call
}

/// The name of a call that has a span. Streams and watches have none: they may never end, and a span is exported only
/// at its end. Neither have other paths, because their names would be the caller's choice.
fn ending(path: &str) -> Option<&'static str> {
    let (path, method) = methods::known(path)?;
    let name = path.strip_prefix('/').filter(|name| name.starts_with("tenure.v1."))?;
    (!method.is_stream && name != "tenure.v1.WatchService/Watch").then_some(name)
}

/// The span of a change on a declared stream. `traceparent` is the change's field. None if the change is in no trace:
/// such changes are decided together.
pub(super) fn change(kind: &change::Kind, traceparent: &str) -> Context {
    if traceparent.is_empty() || !traces::are_exported() {
        return Context::new();
    }
    let parent = parent::named(traceparent);
    if !parent.has_active_span() {
        return Context::new();
    }
    let name = match kind {
        change::Kind::Declare(_) => "tenure.v1.ClientService/Declare",
        change::Kind::Withdraw(_) => "tenure.v1.ClientService/Withdraw",
        change::Kind::Pause(_) | change::Kind::Resume(_) => return Context::new(),
    };
    let call = begin(name, &parent);
    note(&call, || [KeyValue::new("tenure.stream", true)]);
    call
}

fn begin(name: &'static str, parent: &Context) -> Context {
    let call = traces::start(name, SpanKind::Server, parent);
    let (service, method) = name.split_once('/').unwrap_or((name, ""));
    note(&call, || {
        [
            KeyValue::new("rpc.system", "grpc"),
            KeyValue::new("rpc.service", service),
            KeyValue::new("rpc.method", method),
        ]
    });
    call
}

/// Records the status that a call ends with. It is an error of the span if the server is at fault, according to the
/// semantic conventions for RPC.
pub(super) fn answered(call: &Context, code: Code) {
    note(call, || [KeyValue::new("rpc.grpc.status_code", code as i64)]);
    if matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    ) {
        call.span().set_status(SpanStatus::error(code.description()));
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use prost_types::FileDescriptorSet;

    use super::*;

    #[test]
    fn every_call_of_the_contract_that_ends_has_a_span() {
        let contract = FileDescriptorSet::decode(tenure_proto::FILE_DESCRIPTOR_SET).expect("readable");
        for file in contract.file.iter().filter(|file| file.package() == "tenure.v1") {
            for service in &file.service {
                for method in &service.method {
                    let path = format!("/tenure.v1.{}/{}", service.name(), method.name());
                    assert_eq!(ending(&path).is_some(), !method.server_streaming(), "{path}");
                }
            }
        }
        assert_eq!(ending("/grpc.health.v1.Health/Check"), None);
    }
}
