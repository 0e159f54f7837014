//! What a stream has to say, on its way out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use prost::Message;
use tenure_proto::v1;

use crate::grpc::framing;
use crate::limits;

/// So much is gathered, in bytes, before it is sent. One message may be larger.
const FULL: usize = 32 * 1024;

/// Messages, encoded: written by the connection, and taken by the body that runs it.
#[derive(Clone, Default)]
pub(in crate::grpc) struct Outbox(Arc<Mutex<BytesMut>>);

impl Outbox {
    /// Adds these answers, in as many messages as it takes.
    pub(in crate::grpc) fn put(&self, answers: Vec<v1::Answer>) {
        put(&mut self.lock(), answers);
    }

    /// Adds a message.
    pub(in crate::grpc) fn message(&self, message: &impl Message) {
        framing::put(&mut self.lock(), message);
    }

    /// All that is there.
    pub(in crate::grpc) fn take(&self) -> Bytes {
        std::mem::take(&mut *self.lock()).freeze()
    }

    /// Waits until there is room: until the body has sent what is there. It runs the connection again after that, so nobody
    /// is woken.
    pub(in crate::grpc) async fn has_room(&self) {
        std::future::poll_fn(|_| {
            if self.lock().len() < FULL { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, BytesMut> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn put(wire: &mut BytesMut, mut answers: Vec<v1::Answer>) {
    let half = answers.len() / 2;
    if half > 0 && answers.iter().map(v1::Answer::encoded_len).sum::<usize>() > limits::PAGE {
        let others = answers.split_off(half);
        put(wire, answers);
        put(wire, others);
    } else {
        framing::put(wire, &v1::StreamResponse { answers });
    }
}
