//! What a stream has to say, on its way out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use tenure_proto::v1;

use crate::grpc::framing;

/// So much is gathered, in bytes, before it is sent. One message may be larger.
const FULL: usize = 32 * 1024;

/// Messages, encoded: written by the connection, and taken by the body that runs it.
#[derive(Clone, Default)]
pub(super) struct Outbox(Arc<Mutex<BytesMut>>);

impl Outbox {
    /// Adds a message with these answers.
    pub(super) fn put(&self, answers: Vec<v1::Answer>) {
        framing::put(&mut self.lock(), &v1::StreamResponse { answers });
    }

    /// All that is there.
    pub(super) fn take(&self) -> Bytes {
        std::mem::take(&mut *self.lock()).freeze()
    }

    /// Waits until there is room: until the body has sent what is there. It runs the connection again after that, so nobody
    /// is woken.
    pub(super) async fn has_room(&self) {
        std::future::poll_fn(|_| {
            if self.lock().len() < FULL { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, BytesMut> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
