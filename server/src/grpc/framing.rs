//! Reads and writes gRPC messages for the streams that are served below the generated code. They take memory only while
//! they are read or written. (Each stream of the generated code has 16 KB for itself, and keeps the memory of its
//! largest message.)

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body::{Body as _, Frame};
use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use tenure_proto::codec;
use tonic::Status;
use tonic::body::Body;

use super::status::invalid;
use crate::limits::MESSAGE;

/// Size of the prefix of each message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Messages above this are checked before they are decoded: two bytes may decode into hundreds.
const LARGE: usize = 64 * 1024;

/// Maximum number of changes in a message.
pub(super) const CHANGES: usize = 1_000;

/// The tag of `ConnectRequest.changes`.
const CHANGES_TAG: u32 = 3;

/// Maximum number of fields in what a large message declares. A valid declaration has at most one label in 8 bytes.
const FIELDS: usize = MESSAGE / 8;

/// Appends a message with its prefix.
pub(super) fn put(wire: &mut BytesMut, message: &impl Message) {
    let len = message.encoded_len();
    wire.reserve(PREFIX + len);
    wire.put_u8(0);
    // No message comes near 4 GiB: groups and snapshots are sent in parts.
    wire.put_u32(u32::try_from(len).unwrap_or(u32::MAX));
    message.encode_raw(wire);
}

/// Checks that a request is for this method, and not compressed.
///
/// # Errors
/// If it is not.
pub(super) fn check(request: &Request<Body>, method: &str) -> Result<(), Status> {
    if request.uri().path() != method {
        return Err(Status::unimplemented(""));
    }
    match request.headers().get("grpc-encoding").filter(|encoding| *encoding != "identity") {
        Some(encoding) => {
            Err(Status::unimplemented(format!("grpc-encoding: only identity is supported, not {encoding:?}")))
        }
        None => Ok(()),
    }
}

/// A response with this body.
pub(super) fn respond<B>(body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes, Error = Status> + Send + 'static,
{
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// The trailers of a response.
///
/// # Errors
/// If the status cannot be written as headers.
pub(super) fn trailers(status: &Status) -> Result<Frame<Bytes>, Status> {
    let mut trailers = HeaderMap::new();
    status.add_header(&mut trailers)?;
    Ok(Frame::trailers(trailers))
}

/// The messages that a caller sends.
pub(super) struct Requests<M> {
    body: Body,
    /// The last received data, not yet read: usually whole messages, which are read in place.
    rest: Bytes,
    /// The start of an incomplete message, received before `rest`. It is copied: a slice would keep all data in memory
    /// that was received together with it.
    joined: BytesMut,
    /// Rejects a large message that takes far more memory when it is decoded.
    check: fn(&[u8]) -> Result<(), Status>,
    message: PhantomData<fn() -> M>,
}

impl<M: Message + Default> Requests<M> {
    pub(super) fn new(body: Body) -> Self {
        Self::checked(body, |_| Ok(()))
    }

    /// Requests of which a large one is checked before it is decoded.
    pub(super) fn checked(body: Body, check: fn(&[u8]) -> Result<(), Status>) -> Self {
        Self { body, rest: Bytes::new(), joined: BytesMut::new(), check, message: PhantomData }
    }

    /// The next message; `None` if the caller sends no more. Cancel safe.
    ///
    /// # Errors
    /// If it cannot be read: then no later message can be.
    pub(super) async fn next(&mut self) -> Option<Result<M, Status>> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<M, Status>>> {
        loop {
            if let Some(read) = self.read().transpose() {
                return Poll::Ready(Some(read));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.add(data);
                    }
                }
                Some(Err(status)) => return Poll::Ready(Some(Err(status))),
                None if self.is_empty() => return Poll::Ready(None),
                None => return Poll::Ready(Some(Err(Status::internal("the stream ends within a message")))),
            }
        }
    }

    /// Adds received data, when there is no whole message.
    fn add(&mut self, data: Bytes) {
        if self.joined.is_empty() {
            self.rest = data;
        } else {
            self.joined.extend_from_slice(&data);
        }
    }

    fn is_empty(&self) -> bool {
        self.rest.is_empty() && self.joined.is_empty()
    }

    /// Keeps the received start of a message of this length, as far as it is known.
    fn keep(&mut self, len: usize) {
        let rest = std::mem::take(&mut self.rest);
        self.joined.reserve(len.saturating_sub(self.joined.len()).max(rest.len()));
        self.joined.extend_from_slice(&rest);
    }

    /// Reads a message, if it has been received completely.
    fn read(&mut self) -> Result<Option<M>, Status> {
        let is_joined = !self.joined.is_empty();
        let come = if is_joined { &self.joined[..] } else { &self.rest[..] };
        let Some([compressed, len @ ..]) = come.first_chunk::<PREFIX>() else {
            self.keep(0);
            return Ok(None);
        };
        if *compressed != 0 {
            return Err(Status::internal("a message is compressed, but the call has no grpc-encoding"));
        }
        let len = usize::try_from(u32::from_be_bytes(*len)).unwrap_or(usize::MAX);
        if len > MESSAGE {
            return Err(Status::out_of_range(format!("message: at most {MESSAGE} bytes, not {len}")));
        }
        if come.len() < PREFIX + len {
            self.keep(PREFIX + len);
            return Ok(None);
        }
        let mut message = if is_joined {
            let mut joined = std::mem::take(&mut self.joined);
            let message = joined.split_to(PREFIX + len).freeze();
            // Copied, so that a byte of the next message does not keep all of this one in memory.
            self.rest = Bytes::copy_from_slice(&joined);
            message
        } else {
            self.rest.split_to(PREFIX + len)
        };
        message.advance(PREFIX);
        if message.len() > LARGE {
            (self.check)(&message)?;
        }
        codec::decode(message).map(Some)
    }
}

/// Rejects a message with too many changes, or with too many fields in what it declares.
pub(super) fn check_declarations(message: &[u8]) -> Result<(), Status> {
    let (mut changes, mut fields) = (0, 0);
    // A Hello has declarations, with claims, with fields; in Changes, each declaration is in a change.
    each_field(message, |tag, content| {
        each_field(content, |_, part| {
            changes += usize::from(tag == CHANGES_TAG);
            fields += 1;
            each_field(part, |_, item| {
                fields += 1;
                each_field(item, |_, claim| {
                    fields += 1;
                    each_field(claim, |_, _| fields += 1);
                });
            });
        });
    });
    if changes > CHANGES {
        return Err(invalid("changes.changes", format!("1 to {CHANGES} changes, not {changes}")));
    }
    if fields > FIELDS {
        return Err(invalid("changes", format!("at most {FIELDS} fields in all, not {fields}")));
    }
    Ok(())
}

/// Calls `found` for each field of a message, up to the first unreadable one, with the field's tag, and its content if
/// it is length-delimited.
fn each_field<'a>(mut message: &'a [u8], mut found: impl FnMut(u32, &'a [u8])) {
    while let Ok((tag, kind)) = decode_key(&mut message) {
        let mut value: &[u8] = &[];
        if kind == WireType::LengthDelimited {
            let len = decode_varint(&mut message).ok().and_then(|len| usize::try_from(len).ok());
            let Some((bytes, rest)) = len.and_then(|len| message.split_at_checked(len)) else { return };
            (value, message) = (bytes, rest);
        } else if skip_field(kind, tag, &mut message, DecodeContext::default()).is_err() {
            return;
        }
        found(tag, value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use tenure_proto::v1::connect_request::Kind;
    use tenure_proto::v1::{self, ConnectRequest, change};
    use tonic::Code;

    use super::*;

    /// A body that arrives in these pieces.
    struct Pieces(VecDeque<Bytes>);

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
        }
    }

    fn requests(wire: &[u8], piece: usize) -> Requests<ConnectRequest> {
        Requests::new(Body::new(Pieces(wire.chunks(piece).map(Bytes::copy_from_slice).collect())))
    }

    fn changes(changes: Vec<v1::Change>) -> ConnectRequest {
        ConnectRequest { kind: Some(Kind::Changes(v1::Changes { changes })) }
    }

    fn sent() -> Vec<ConnectRequest> {
        let withdraw = |number| v1::Change { kind: Some(change::Kind::Withdraw(number)), ..v1::Change::default() };
        (0..5).map(|many| changes((0..many).map(withdraw).collect())).collect()
    }

    #[tokio::test]
    async fn messages_are_read_in_pieces_of_any_size() {
        let mut wire = BytesMut::new();
        sent().iter().for_each(|message| put(&mut wire, message));
        for piece in 1..=wire.len() {
            let mut requests = requests(&wire, piece);
            for message in sent() {
                assert_eq!(requests.next().await.expect("not the end").expect("readable"), message);
            }
            assert!(requests.next().await.is_none());
            assert!(requests.is_empty(), "no bytes are left");
        }
    }

    #[tokio::test]
    async fn message_that_is_far_larger_when_decoded_is_rejected() {
        let many = |count: usize| changes(vec![v1::Change::default(); count]);
        let names = |count: usize| {
            let claim = v1::DeclaredClaim { names: vec![String::new(); count], ..v1::DeclaredClaim::default() };
            let declaration = v1::Declaration { claims: vec![claim], ..v1::Declaration::default() };
            changes(vec![v1::Change { kind: Some(change::Kind::Declare(declaration)), ..v1::Change::default() }])
        };
        let cases = [(many(LARGE), false), (names(FIELDS + 1), false), (names(LARGE), true)];
        for (message, is_accepted) in cases {
            let mut wire = BytesMut::new();
            put(&mut wire, &message);
            let body = Body::new(Pieces([wire.freeze()].into()));
            let read = Requests::<ConnectRequest>::checked(body, check_declarations).next().await.expect("not the end");
            let code = read.err().map(|status| status.code());
            assert_eq!(code, (!is_accepted).then_some(Code::InvalidArgument));
        }
    }

    #[test]
    fn empty_declarations_and_changes_are_counted() {
        let checked = |kind| {
            let message = ConnectRequest { kind: Some(kind) }.encode_to_vec();
            check_declarations(&message).err().map(|status| status.code())
        };
        let changes = |count| Kind::Changes(v1::Changes { changes: vec![v1::Change::default(); count] });
        let hello = |count| {
            Kind::Hello(v1::Hello { declared: vec![v1::Declaration::default(); count], ..v1::Hello::default() })
        };
        assert_eq!([checked(changes(CHANGES)), checked(hello(FIELDS))], [None; 2]);
        let refused = [checked(changes(CHANGES + 1)), checked(hello(FIELDS + 1))];
        assert_eq!(refused, [Some(Code::InvalidArgument); 2]);
    }

    #[tokio::test]
    async fn malformed_message_is_rejected() {
        let too_large = u32::try_from(MESSAGE + 1).expect("small").to_be_bytes();
        let cases: [(&[u8], Code); 4] = [
            (&[0, 0, 0, 0, 9, 1], Code::Internal),
            (&[1, 0, 0, 0, 0], Code::Internal),
            (&[0, too_large[0], too_large[1], too_large[2], too_large[3]], Code::OutOfRange),
            (&[0, 0, 0, 0, 1, 0xff], Code::InvalidArgument),
        ];
        for (wire, code) in cases {
            let refused = requests(wire, 2).next().await.expect("not the end").expect_err("unreadable");
            assert_eq!(refused.code(), code, "{wire:?}");
        }
    }
}
