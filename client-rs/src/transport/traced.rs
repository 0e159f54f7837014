//! A span for each plain call, with its trace in the call's headers.

use std::task::{Context, Poll};

use tower::Service;
use tracing::instrument::{Instrument, Instrumented};

use crate::trace;

/// The stream has no span: it has no end to wait for, and what is declared has spans of its own.
const STREAM: &str = "/tenure.v1.ClientService/Connect";

/// Calls over a connection.
#[derive(Clone, Debug)]
pub(super) struct Traced<S>(pub(super) S);

impl<S, B> Service<http::Request<B>> for Traced<S>
where
    S: Service<http::Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Instrumented<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        let path = request.uri().path();
        let span = if path == STREAM {
            tracing::Span::none()
        } else {
            let name = path.trim_start_matches('/');
            let (service, method) = name.split_once('/').unwrap_or((name, ""));
            tracing::info_span!(
                "tenure.call",
                otel.name = name,
                otel.kind = "client",
                rpc.system = "grpc",
                rpc.service = service,
                rpc.method = method
            )
        };
        let calling = span.in_scope(|| {
            trace::send_along(request.headers_mut());
            self.0.call(request)
        });
        calling.instrument(span)
    }
}
