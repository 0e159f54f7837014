//! gRPC messages as they go over the wire, for the streams that are served below the generated code: what is read and written
//! here takes memory only while it is under way. (Each stream of the generated code has 16 KB for itself, and keeps what its
//! largest message took.)

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body::{Body as _, Frame};
use prost::Message;
use tenure_proto::codec;
use tonic::Status;
use tonic::body::Body;

use super::grpc::MAX_MESSAGE;

/// What precedes each message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Writes a message, with what precedes it.
pub(super) fn put(wire: &mut BytesMut, message: &impl Message) {
    let len = message.encoded_len();
    wire.reserve(PREFIX + len);
    wire.put_u8(0);
    // No message comes near 4 GiB: groups and snapshots are told in parts.
    wire.put_u32(u32::try_from(len).unwrap_or(u32::MAX));
    message.encode_raw(wire);
}

/// The messages of what was written by [`put`], without what precedes them.
pub(super) fn messages(mut wire: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let len = u32::from_be_bytes(wire.get(1..PREFIX)?.try_into().ok()?);
        let mut message = wire.split_to(PREFIX + usize::try_from(len).ok()?);
        Some(message.split_off(PREFIX))
    })
}

/// Looks whether a request is for this method, and in no encoding.
///
/// # Errors
/// If it is not.
pub(super) fn check(request: &Request<Body>, method: &str) -> Result<(), Status> {
    if request.uri().path() != method {
        return Err(Status::unimplemented(""));
    }
    match request.headers().get("grpc-encoding").filter(|encoding| *encoding != "identity") {
        Some(encoding) => {
            Err(Status::unimplemented(format!("no encoding but identity is supported, not {encoding:?}")))
        }
        None => Ok(()),
    }
}

/// An answer with this body.
pub(super) fn respond<B>(body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes, Error = Status> + Send + 'static,
{
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// The last part of an answer.
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
    /// What came last and is not read yet: as a rule whole messages, which are read where they are.
    rest: Bytes,
    /// What came in several pieces, before `rest`. However small they are, each is copied a few times at the most.
    joined: BytesMut,
    message: PhantomData<fn() -> M>,
}

impl<M: Message + Default> Requests<M> {
    pub(super) fn new(body: Body) -> Self {
        Self { body, rest: Bytes::new(), joined: BytesMut::new(), message: PhantomData }
    }

    /// The next one; none if the caller sends no more. May be dropped and called again.
    ///
    /// # Errors
    /// If it cannot be read: then nothing after it can.
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

    /// Adds what has come.
    fn add(&mut self, data: Bytes) {
        let before = std::mem::replace(&mut self.rest, data);
        if !before.is_empty() {
            self.joined.extend_from_slice(&before);
        }
        if !self.joined.is_empty() {
            self.joined.extend_from_slice(&std::mem::take(&mut self.rest));
        }
    }

    fn is_empty(&self) -> bool {
        self.rest.is_empty() && self.joined.is_empty()
    }

    /// Reads a message, if one is there as a whole.
    fn read(&mut self) -> Result<Option<M>, Status> {
        let is_joined = !self.joined.is_empty();
        let come = if is_joined { &self.joined[..] } else { &self.rest[..] };
        let Some([compressed, len @ ..]) = come.first_chunk::<PREFIX>() else { return Ok(None) };
        if *compressed != 0 {
            return Err(Status::internal("a message is compressed, but the call says that none is"));
        }
        let len = usize::try_from(u32::from_be_bytes(*len)).unwrap_or(usize::MAX);
        if len > MAX_MESSAGE {
            return Err(Status::out_of_range(format!("a message of {len} bytes; at most {MAX_MESSAGE} are taken")));
        }
        if come.len() < PREFIX + len {
            return Ok(None);
        }
        let mut message =
            if is_joined { self.joined.split_to(PREFIX + len).freeze() } else { self.rest.split_to(PREFIX + len) };
        if is_joined && self.joined.is_empty() {
            self.joined = BytesMut::new();
        }
        message.advance(PREFIX);
        codec::decode(message).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use tenure_proto::v1::{CancelCommand, Command, StreamRequest, command};
    use tonic::Code;

    use super::*;

    /// What comes, in these pieces.
    struct Pieces(VecDeque<Bytes>);

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
        }
    }

    fn requests(wire: &[u8], piece: usize) -> Requests<StreamRequest> {
        Requests::new(Body::new(Pieces(wire.chunks(piece).map(Bytes::copy_from_slice).collect())))
    }

    fn sent() -> Vec<StreamRequest> {
        let cancel = |id| {
            let kind = Some(command::Kind::Cancel(CancelCommand { command_id: id + 1 }));
            Command { id, kind, ..Command::default() }
        };
        (0..5).map(|many| StreamRequest { commands: (0..many).map(cancel).collect() }).collect()
    }

    #[tokio::test]
    async fn messages_are_read_in_whatever_pieces_they_come() {
        let mut wire = BytesMut::new();
        sent().iter().for_each(|message| put(&mut wire, message));
        for piece in 1..=wire.len() {
            let mut requests = requests(&wire, piece);
            for message in sent() {
                assert_eq!(requests.next().await.expect("not the end").expect("readable"), message);
            }
            assert!(requests.next().await.is_none());
            assert!(requests.is_empty(), "nothing is left of what was read");
        }
        let read: Vec<_> = messages(wire.freeze()).map(|message| StreamRequest::decode(message).ok()).collect();
        assert!(read.into_iter().eq(sent().into_iter().map(Some)));
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_refused() {
        let too_large = u32::try_from(MAX_MESSAGE + 1).expect("small").to_be_bytes();
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
