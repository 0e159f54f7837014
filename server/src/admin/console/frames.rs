//! Splits an answer's body into messages and reads its final status.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use tonic::body::Body;
use tonic::{Code, Status};

/// The length of the prefix of each message: the compression flag and the message length.
const PREFIX: usize = 5;

/// The answer of a call, message by message.
pub(super) struct Messages {
    body: Body,
    wire: BytesMut,
    ready: VecDeque<Bytes>,
    /// The status, once received.
    end: Option<Status>,
}

impl Messages {
    pub(super) fn of(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        // A rejection has no message, and its status among its headers.
        let end = match Status::from_header_map(&head.headers) {
            None if head.status != http::StatusCode::OK => {
                Some(Status::unknown(format!("HTTP status {}", head.status)))
            }
            status => status,
        };
        Self { body, wire: BytesMut::new(), ready: VecDeque::new(), end }
    }

    /// The next message; `None` after a successful end. Cancel safe.
    ///
    /// # Errors
    /// The status, if the call failed.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            if let Some(end) = &self.end {
                return if end.code() == Code::Ok { Ok(None) } else { Err(end.clone()) };
            }
            let frame = match self.body.frame().await {
                Some(frame) => frame?,
                None => return Err(Status::unknown("the response ends without a status")),
            };
            match frame.into_data() {
                Ok(data) => self.add(&data),
                Err(frame) => self.end = frame.trailers_ref().and_then(status),
            }
        }
    }

    /// The messages that have already arrived: sent together, they cost one write.
    pub(super) fn ready(&mut self) -> impl Iterator<Item = Bytes> + '_ {
        self.ready.drain(..)
    }

    fn add(&mut self, data: &[u8]) {
        self.wire.extend_from_slice(data);
        while let Some([_, len @ ..]) = self.wire.first_chunk::<PREFIX>() {
            let whole = usize::try_from(u32::from_be_bytes(*len)).map_or(usize::MAX, |len| len.saturating_add(PREFIX));
            if self.wire.len() < whole {
                break;
            }
            let mut message = self.wire.split_to(whole).freeze();
            message.advance(PREFIX);
            self.ready.push_back(message);
        }
    }
}

fn status(trailers: &HeaderMap) -> Option<Status> {
    Status::from_header_map(trailers)
}
