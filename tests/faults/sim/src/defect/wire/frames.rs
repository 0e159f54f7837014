//! Reads and writes the messages in the bodies of gRPC calls.

use std::sync::{Arc, Mutex};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::StreamExt;
use futures::channel::mpsc::UnboundedReceiver;
use futures::future::ready;
use futures::stream;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use prost::Message;
use tonic::Status;
use tonic::body::Body;

use crate::defect::lock;

/// Size of the prefix of each gRPC message: whether it is compressed, and its length.
pub(super) const PREFIX: usize = 5;

/// A body with other messages: `alter` returns those that replace a message.
pub(super) fn altered<M, A, R>(body: Body, alter: A) -> Body
where
    M: Message + Default,
    A: FnMut(M) -> R + Send + 'static,
    R: IntoIterator<Item = M>,
{
    let (mut unread, alter) = (BytesMut::new(), Arc::new(Mutex::new(alter)));
    Body::new(body.map_frame(move |frame| {
        frame.map_data(|data| {
            unread.extend_from_slice(&data);
            let mut written = BytesMut::new();
            while let Some(message) = next(&mut unread) {
                lock(&alter)(message).into_iter().for_each(|message| put(&mut written, &message));
            }
            written.freeze()
        })
    }))
}

/// A body with further messages, which are sent as soon as they are there.
pub(super) fn with_further<M: Message + 'static>(body: Body, further: UnboundedReceiver<M>) -> Body {
    let frames = BodyStream::new(body).map(Some).chain(stream::once(ready(None)));
    let further = further.map(|message| Some(Ok(Frame::data(written(&message)))));
    // It ends when the body does.
    let frames = stream::select(frames, further).take_while(|frame| ready(frame.is_some())).filter_map(ready);
    Body::new(StreamBody::new(frames))
}

/// Takes the next message, once it is complete.
fn next<M: Message + Default>(unread: &mut BytesMut) -> Option<M> {
    let len = u32::from_be_bytes(unread.get(1..PREFIX)?.try_into().ok()?) as usize;
    if unread.len() < PREFIX + len {
        return None;
    }
    unread.advance(PREFIX);
    Some(M::decode(unread.split_to(len)).expect("a message of this type"))
}

fn put(written: &mut BytesMut, message: &impl Message) {
    written.put_u8(0);
    written.put_u32(u32::try_from(message.encoded_len()).expect("a short message"));
    message.encode(written).expect("enough space");
}

fn written(message: &impl Message) -> Bytes {
    let mut written = BytesMut::new();
    put(&mut written, message);
    written.freeze()
}

/// A successful reply to a plain call.
pub(super) fn reply(message: &impl Message) -> Response<Body> {
    let trailers = HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))]);
    let mut response = Response::new(whole(written(message), trailers));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// A body that is complete.
pub(super) fn whole(body: Bytes, trailers: HeaderMap) -> Body {
    let frames = [Frame::data(body), Frame::trailers(trailers)];
    Body::new(StreamBody::new(stream::iter(frames.map(Ok::<_, Status>))))
}
