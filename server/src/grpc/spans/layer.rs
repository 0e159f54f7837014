//! Traces each plain call with a span, from its headers to its final status.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::future::{BoxFuture, Either};
use http::{HeaderMap, Request, Response};
use http_body::{Frame, SizeHint};
use opentelemetry::KeyValue;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use super::call::{answered, call};
use crate::telemetry::traces::{self, Traced};

/// Traces the calls behind it, if traces are exported. It follows the layers that reject unidentified callers, so that
/// only identified callers start spans.
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
    type Service = TracedCalls<S>;

    fn layer(&self, inner: S) -> TracedCalls<S> {
        TracedCalls { served_at: self.served_at, inner }
    }
}

/// A service behind [`TraceLayer`].
#[derive(Clone)]
pub(crate) struct TracedCalls<S> {
    served_at: SocketAddr,
    inner: S,
}

impl<S> Service<Request<Body>> for TracedCalls<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if !traces::are_exported() {
            return Either::Left(self.inner.call(request));
        }
        let traced = call(&request);
        if !traced.is_recorded() {
            return Either::Left(self.inner.call(request));
        }
        traced.note(|| {
            let (address, port) = (self.served_at.ip().to_string(), i64::from(self.served_at.port()));
            [KeyValue::new("server.address", address), KeyValue::new("server.port", port)]
        });
        let mut end = End { traced, is_told: false };
        let response = end.traced.around(self.inner.call(request));
        Either::Right(Box::pin(async move {
            let response = response.await?;
            // A rejection has no message, and its status among its headers.
            end.tell(response.headers());
            Ok(response.map(|body| Body::new(Answer { body, end })))
        }))
    }
}

/// Records the status of a call, once. A call that its caller dropped is recorded as cancelled.
struct End {
    traced: Traced,
    is_told: bool,
}

impl End {
    fn tell(&mut self, headers: &HeaderMap) {
        if let Some(status) = Status::from_header_map(headers) {
            self.is_told = true;
            answered(&self.traced, status.code());
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if !self.is_told {
            answered(&self.traced, Code::Cancelled);
        }
    }
}

/// The body of a response, whose end is the call's.
struct Answer {
    body: Body,
    end: End,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(trailers) = frame.trailers_ref()
        {
            self.end.tell(trailers);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
