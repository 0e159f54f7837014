//! Answers as JSON: one object, or one line per message of a stream.

use std::convert::Infallible;
use std::future::ready;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue};
use tonic::{Status, Streaming};

use super::error::CallError;
use crate::telemetry::wall_clock::now_ms;
use crate::transport::Permit;

/// The server's wall clock at the time of the answer, in milliseconds since 1970. Pages use it instead of their own
/// clock.
pub(super) const TIME: HeaderName = HeaderName::from_static("tenure-time");

pub(super) fn now() -> HeaderValue {
    HeaderValue::from(now_ms())
}

/// The answer of a unary call.
pub(super) async fn whole(mut messages: Streaming<Vec<u8>>) -> Result<Response, CallError> {
    let json = messages.message().await?.ok_or_else(|| Status::internal("the response has no message"))?;
    // Awaits the status after the message.
    messages.message().await?;
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

/// The messages of a stream as they arrive: lines of `{"result": ...}`, with a final `{"error": ...}` unless the stream
/// succeeds. A slow reader slows the stream.
pub(super) async fn lines(mut messages: Streaming<Vec<u8>>, permit: Permit) -> Result<Response, CallError> {
    // An immediate rejection becomes the HTTP status.
    let first = messages.message().await?;
    let messages = stream::iter(first.map(Ok)).chain(messages).scan(false, |has_failed, message| {
        // An error is the last line, even if the stream reports it again.
        let is_over = std::mem::replace(has_failed, message.is_err());
        ready((!is_over).then_some(message))
    });
    let lines = messages.map(move |message| {
        // Held until the stream is dropped.
        let _permit = &permit;
        Ok::<_, Infallible>(line(message))
    });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

fn line(message: Result<Vec<u8>, Status>) -> Vec<u8> {
    let (key, json) = match message {
        Ok(json) => ("result", json),
        Err(status) => ("error", serde_json::to_vec(&CallError::from(status)).unwrap_or_else(|_| b"{}".to_vec())),
    };
    [format!("{{\"{key}\":").as_bytes(), &json, b"}\n"].concat()
}
