//! The message of a call that sends only one is there in time, or the call ends: every wait has an end.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::Status;
use tonic::body::Body;

use crate::service;

/// How long a message may take from the beginning of its call to the end of what the caller sends.
const MESSAGE: Duration = Duration::from_secs(10);

/// The calls whose callers send messages for as long as they like.
const STREAMS: [&str; 5] = [
    "/tenure.v1.ClientService/Stream",
    "/tenure.v1.SessionService/KeepAlive",
    "/tenure.internal.v1.PeerService/Pass",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Gives what the caller sends a deadline, unless it is a stream.
pub(crate) fn in_time(request: Request<Body>) -> Request<Body> {
    if STREAMS.contains(&request.uri().path()) || request.body().is_end_stream() {
        return request;
    }
    let until = Instant::now() + MESSAGE;
    request.map(|body| Body::new(Punctual { body, until, late: None }))
}

struct Punctual {
    body: Body,
    until: Instant,
    /// Made when something is waited for: as a rule all is there at once.
    late: Option<Pin<Box<Sleep>>>,
}

impl http_body::Body for Punctual {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let until = self.until;
        let is_late = match Pin::new(&mut self.body).poll_frame(context) {
            // Who never stops sending is late, too.
            Poll::Ready(Some(Ok(frame))) if Instant::now() < until => return Poll::Ready(Some(Ok(frame))),
            Poll::Ready(Some(Ok(_))) => true,
            Poll::Ready(ended) => return Poll::Ready(ended),
            Poll::Pending => {
                let late = self.late.get_or_insert_with(|| Box::pin(sleep_until(until)));
                late.as_mut().poll(context).is_ready()
            }
        };
        if !is_late {
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(service::late_message(MESSAGE))))
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
    use std::collections::BTreeSet;

    use prost::Message;
    use prost_types::FileDescriptorSet;

    use super::*;

    /// So that whoever adds a stream of requests sees to it that it is not cut off.
    #[test]
    fn every_call_that_is_no_stream_of_requests_has_a_deadline() {
        let sets = [
            tenure_proto::FILE_DESCRIPTOR_SET,
            tonic_health::pb::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
        ];
        let files = sets.iter().flat_map(|set| FileDescriptorSet::decode(*set).expect("readable").file);
        let streams = files.flat_map(|file| {
            let package = file.package().to_owned();
            file.service.into_iter().flat_map(move |service| {
                let name = format!("/{package}.{}", service.name());
                let streams = service.method.into_iter().filter(prost_types::MethodDescriptorProto::client_streaming);
                streams.map(move |method| format!("{name}/{}", method.name())).collect::<Vec<_>>()
            })
        });
        // What servers tell each other is not described to clients.
        let streams = streams.chain(["/tenure.internal.v1.PeerService/Pass".to_owned()]);
        assert_eq!(streams.collect::<BTreeSet<_>>(), STREAMS.map(str::to_owned).into());
    }
}
