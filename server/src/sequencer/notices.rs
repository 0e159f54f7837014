//! Notices: the messages that clients' streams receive without a request.

use std::collections::HashMap;

use tenure_core::{Claim, EndReason, Eviction, StreamId, Text};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A message to a client's stream that was not requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A session that is attached to the stream has ended.
    SessionEnded {
        /// The session.
        session: Text,
        /// Why it ended.
        reason: EndReason,
    },
    /// A hold of such a session has ended.
    HoldEnded {
        /// The claim before its end.
        claim: Claim,
        /// Why it ended.
        reason: EndReason,
        /// The eviction, if that is the reason.
        eviction: Option<Eviction>,
    },
    /// The holder in such a session is requested to transfer its claim.
    TransferRequested {
        /// The claim, with the transfer.
        claim: Claim,
        /// The operator who requests it, if one does.
        by: Option<Eviction>,
    },
    /// Such a session has moved to another stream.
    SessionMoved {
        /// The session.
        session: Text,
    },
}

/// Which side ended a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The client: it ended the stream, or its connection broke. The disconnect grace of its sessions begins.
    Disconnect,
    /// This server: it drains, starts over, or aborts the stream. Sessions are not affected.
    Closed,
}

/// Where a stream receives notices. A stream that is full does not read them, and is closed.
#[derive(Clone)]
pub struct NoticeSender {
    sender: mpsc::Sender<Box<Notice>>,
    closed: CancellationToken,
}

impl NoticeSender {
    /// A buffer for `capacity` notices, and its receiver.
    #[must_use]
    pub fn new(capacity: usize) -> (Self, mpsc::Receiver<Box<Notice>>) {
        let (sender, receiver) = mpsc::channel(capacity);
        (Self { sender, closed: CancellationToken::new() }, receiver)
    }

    /// Cancelled when a namespace has closed the stream.
    #[must_use]
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }
}

/// The open streams; `None` for those that were closed here, but have not ended yet.
#[derive(Default)]
pub(super) struct Streams(pub(super) HashMap<StreamId, Option<NoticeSender>>);

impl Streams {
    /// Closes every stream: the clients reconnect and check what they still hold.
    pub(super) fn close_all(&mut self) {
        for notices in self.0.values_mut().filter_map(Option::take) {
            notices.closed.cancel();
        }
    }

    /// Sends a notice to a stream, if there is one, or closes it if it is full.
    pub(super) fn notify(&mut self, stream: Option<StreamId>, notice: Notice) {
        let Some(notices) = stream.and_then(|stream| self.0.get_mut(&stream)) else { return };
        if notices.as_ref().is_some_and(|open| open.sender.try_send(Box::new(notice)).is_err())
            && let Some(closed) = notices.take()
        {
            closed.closed.cancel();
        }
    }
}
