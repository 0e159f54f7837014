//! Answers as JSON: one object, or one line per message of a stream.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue};
use prost_reflect::MessageDescriptor;
use tonic::{Code, Status};

use super::contract;
use super::error::CallError;
use super::frames::Messages;
use crate::transport::Permit;

/// The server's wall clock at the time of the answer, in milliseconds since 1970. Pages use it instead of their own
/// clock.
pub(super) const TIME: HeaderName = HeaderName::from_static("tenure-time");

pub(super) fn now() -> HeaderValue {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    HeaderValue::from(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// The answer of a unary call.
pub(super) async fn whole(kind: MessageDescriptor, mut messages: Messages) -> Result<Response, CallError> {
    let message = messages.next().await?.ok_or_else(|| Status::internal("the response has no message"))?;
    // Awaits the status after the message.
    messages.next().await?;
    let json = contract::decode(kind, message).map_err(unreadable)?;
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

/// The messages of a stream as they arrive: lines of `{"result": ...}`, with a final `{"error": ...}` unless the stream
/// succeeds. A slow reader slows the stream.
pub(super) async fn lines(
    kind: MessageDescriptor,
    mut messages: Messages,
    permit: Permit,
) -> Result<Response, CallError> {
    // An immediate rejection becomes the HTTP status.
    let Some(first) = messages.next().await? else { return Ok(respond(Body::empty())) };
    let begun = Stream { kind, messages: Some((messages, permit)), first: Some(first) };
    Ok(respond(Body::from_stream(stream::unfold(begun, Stream::step))))
}

fn respond(body: Body) -> Response {
    ([(CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}

struct Stream {
    kind: MessageDescriptor,
    /// `None` once the stream has ended.
    messages: Option<(Messages, Permit)>,
    first: Option<Bytes>,
}

impl Stream {
    async fn step(mut self) -> Option<(Result<Vec<u8>, Status>, Self)> {
        let (messages, _) = self.messages.as_mut()?;
        let next = match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => messages.next().await,
        };
        let mut lines = Vec::new();
        let encoded = match next {
            Ok(Some(message)) => {
                [message].into_iter().chain(messages.ready()).try_for_each(|message| -> Result<(), Status> {
                    put(&mut lines, "result", &contract::decode(self.kind.clone(), message).map_err(unreadable)?);
                    Ok(())
                })
            }
            Ok(None) => {
                self.messages = None;
                return None;
            }
            Err(status) => Err(status),
        };
        if let Err(status) = encoded {
            self.messages = None;
            let error = serde_json::to_vec(&CallError::from(status)).unwrap_or_else(|_| b"{}".to_vec());
            put(&mut lines, "error", &error);
        }
        Some((Ok(lines), self))
    }
}

fn put(lines: &mut Vec<u8>, key: &str, json: &[u8]) {
    lines.extend_from_slice(format!("{{\"{key}\":").as_bytes());
    lines.extend_from_slice(json);
    lines.extend_from_slice(b"}\n");
}

fn unreadable(why: String) -> Status {
    Status::new(Code::Internal, format!("cannot encode the response as JSON: {why}"))
}
