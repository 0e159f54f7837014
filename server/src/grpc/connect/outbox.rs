//! The messages of a stream that have yet to be sent.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use prost::Message;

use crate::grpc::framing;

/// This many bytes are collected before they are sent. One message may be larger.
const FULL: usize = 32 * 1024;

/// Messages, encoded: written by the connection, and taken by the body that runs it.
#[derive(Clone, Default)]
pub(super) struct Outbox(Arc<Mutex<BytesMut>>);

impl Outbox {
    /// Adds a message.
    pub(super) fn put(&self, message: &impl Message) {
        framing::put(&mut self.lock(), message);
    }

    /// Takes everything.
    pub(super) fn take(&self) -> Bytes {
        std::mem::take(&mut *self.lock()).freeze()
    }

    /// Waits until there is room: until the body has sent what is there. It then runs the connection again, so that no
    /// waker is needed.
    pub(super) async fn has_room(&self) {
        poll_fn(|_| if self.lock().len() < FULL { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn lock(&self) -> MutexGuard<'_, BytesMut> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
