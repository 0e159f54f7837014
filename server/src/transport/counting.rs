//! Counts calls by method: starts, status codes, durations and messages.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::TryFutureExt;
use futures::future::MapOk;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use prost::Message;
use prost_types::FileDescriptorSet;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use super::calls::{Call, Calls, Kind, Methods};
use crate::transport::frames::Frames;

/// The layer that counts calls.
#[derive(Clone)]
pub(crate) struct CountingLayer(Arc<Methods>);

impl CountingLayer {
    /// Counts into `calls`, starting each method of this server at 0.
    ///
    /// # Errors
    /// If the service descriptors cannot be decoded.
    pub(crate) fn new(calls: &Calls) -> Result<Self, prost::DecodeError> {
        Ok(Self(Arc::new(Methods::new(calls, methods()?))))
    }
}

/// All methods: those in the published descriptors, and the forwarding protocol between servers.
fn methods() -> Result<Vec<(String, String, Kind)>, prost::DecodeError> {
    let sets = [
        tenure_proto::FILE_DESCRIPTOR_SET,
        tonic_health::pb::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
    ];
    let mut methods = Vec::new();
    for set in sets {
        for file in FileDescriptorSet::decode(set)?.file {
            for service in &file.service {
                let name = format!("{}.{}", file.package(), service.name());
                methods.extend(service.method.iter().map(|method| {
                    let kind =
                        Kind { client_streams: method.client_streaming(), server_streams: method.server_streaming() };
                    (name.clone(), method.name().to_owned(), kind)
                }));
            }
        }
    }
    let kind = Kind { client_streams: true, server_streams: true };
    methods.push(("tenure.internal.v1.PeerService".to_owned(), "Forward".to_owned(), kind));
    Ok(methods)
}

impl<S> Layer<S> for CountingLayer {
    type Service = Counting<S>;

    fn layer(&self, inner: S) -> Counting<S> {
        Counting { methods: self.0.clone(), inner }
    }
}

/// Counts an answer that begins.
type OnAnswer = Box<dyn FnOnce(Response<Body>) -> Response<Body> + Send>;

/// Counts the calls of the inner service.
#[derive(Clone)]
pub(crate) struct Counting<S> {
    methods: Arc<Methods>,
    inner: S,
}

impl<S> Service<Request<Body>> for Counting<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = MapOk<S::Future, OnAnswer>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let call = self.methods.begin(request.uri().path());
        let received = call.method.received.clone();
        if call.method.kind.client_streams {
            let mut frames = Frames::default();
            let count = move |frame: Frame<Bytes>| {
                received.inc_by(frame.data_ref().map_or(0, |data| frames.count(data)));
                frame
            };
            request = request.map(|body| Body::new(body.map_frame(count)));
        } else {
            // As grpc-go does for methods without client streaming.
            received.inc();
        }
        let on_answer: OnAnswer = Box::new(|response| count_answer(call, response));
        self.inner.call(request).map_ok(on_answer)
    }
}

/// Counts the end of a call from the head of its answer, or wraps the body so that it is counted later.
fn count_answer(call: Call, response: Response<Body>) -> Response<Body> {
    if response.status() != StatusCode::OK {
        // The code that gRPC clients derive from such an answer.
        call.end(Code::Unknown);
        return response;
    }
    if let Some(code) = code(response.headers()) {
        call.end(code);
        return response;
    }
    if call.method.kind.server_streams {
        return response.map(|body| Body::new(CountedResponse { body, frames: Frames::default(), call: Some(call) }));
    }
    // The handler has finished, and its one message is being sent.
    call.method.sent.inc();
    call.end(Code::Ok);
    response
}

/// The gRPC code in headers or trailers.
fn code(headers: &HeaderMap) -> Option<Code> {
    headers.get(Status::GRPC_STATUS).map(|code| Code::from_bytes(code.as_bytes()))
}

/// A response body that counts its messages and the code in its trailers.
struct CountedResponse {
    body: Body,
    frames: Frames,
    /// `None` once the call has ended.
    call: Option<Call>,
}

impl http_body::Body for CountedResponse {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Self { body, frames, call } = &mut *self;
        let frame = ready!(Pin::new(body).poll_frame(context));
        let end = match &frame {
            Some(Ok(frame)) => {
                if let (Some(data), Some(call)) = (frame.data_ref(), call.as_ref()) {
                    call.method.sent.inc_by(frames.count(data));
                }
                frame.trailers_ref().and_then(code)
            }
            Some(Err(status)) => Some(status.code()),
            None => Some(Code::Unknown),
        };
        if let Some(code) = end
            && let Some(call) = call.take()
        {
            call.end(code);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_known_once() {
        let methods = methods().expect("readable");
        let names: std::collections::BTreeSet<_> = methods.iter().map(|(service, name, _)| (service, name)).collect();
        assert_eq!(names.len(), methods.len());
        assert!(methods.len() > 28, "{}", methods.len());
    }
}
