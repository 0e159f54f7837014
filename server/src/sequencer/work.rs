//! Work: the requests that are carried out in one batch, and the replies to them.

use opentelemetry::Context;
use tenure_core::{Command, Rejection, Request, Revision};
use tokio::sync::oneshot;

use super::backpressure::text_bytes;
use super::forwarding::Accepted;
use super::spans;
use super::{Message, Reader, Replies, Reply, ReplySender, Tag, reject};

/// Maximum commands in one batch, except for the last request added to it.
const COMMANDS: usize = 4_096;

/// Maximum bytes of the texts of the commands in one batch: well below what databases take in one statement.
const BYTES: usize = 2 * 1024 * 1024;

/// The source of a command.
pub(super) enum Source {
    /// The home, because the command is due.
    Home,
    /// A call, and the span of the command.
    Call(oneshot::Sender<Reply>, Context),
    /// A stream, by its index in the work.
    Stream(usize, Tag, Context),
    /// Another server, which forwarded it, by the index in [`Work::forwards`].
    Peer(usize, Context),
}

impl Source {
    /// Whether a caller is present to receive a grant.
    pub(super) fn is_caller(&self) -> bool {
        !matches!(self, Self::Home | Self::Peer(..))
    }

    /// The span of the command, if a caller requested it.
    pub(super) fn span(&self) -> Option<&Context> {
        match self {
            Self::Home => None,
            Self::Call(_, span) | Self::Stream(_, _, span) | Self::Peer(_, span) => Some(span),
        }
    }
}

/// The requests to carry out in one batch.
#[derive(Default)]
pub(super) struct Work {
    pub(super) requests: Vec<(Request, Source)>,
    pub(super) readers: Vec<Reader>,
    pub(super) replies: BatchReplies,
    /// What other servers have forwarded.
    pub(super) forwards: Vec<Accepted>,
    /// If this was forwarded to another server: the revision of this server when it first was.
    pub(super) forwarded_after: Option<Revision>,
    /// Whether another server may still decide it.
    pub(super) is_unsettled: bool,
    /// The head that was seen, if another server may have appended.
    pub(super) catch_up: Option<Revision>,
    /// Bytes of the texts of the commands.
    bytes: usize,
}

/// Replies to streams, sent together when the batch is done.
#[derive(Default)]
pub(super) struct BatchReplies(Vec<(ReplySender, Replies)>);

impl BatchReplies {
    /// Replies to the source of a command. If the caller is gone, the reply is dropped, and its registration records
    /// that.
    pub(super) fn reply(&mut self, source: Source, reply: Reply) {
        if let Some(span) = source.span() {
            spans::replied(span, &reply);
        }
        match source {
            Source::Home | Source::Peer(..) => {}
            Source::Call(sender, _) => {
                let _ = sender.send(reply);
            }
            Source::Stream(index, tag, _) => self.0[index].1.push((tag, reply)),
        }
    }

    pub(super) fn send(self) {
        for (sender, replies) in self.0 {
            let _ = sender.unbounded_send(replies);
        }
    }
}

impl Work {
    pub(super) fn push(&mut self, request: Message) {
        match request {
            Message::Decide { request, reply, span } => self.add(request, Source::Call(reply, span)),
            Message::DecideAll { requests, replies } => {
                let index = self.replies.0.len();
                self.replies.0.push((replies, Vec::with_capacity(requests.len())));
                for (tag, request, span) in requests {
                    self.add(request, Source::Stream(index, tag, span));
                }
            }
            Message::Read(reader) => self.readers.push(reader),
            Message::Forward { server, forward } => {
                let (forward, requests) = Accepted::new(server, forward);
                self.forwards.push(forward);
                for (request, span) in requests {
                    self.add(request, Source::Peer(self.forwards.len() - 1, span));
                }
            }
            Message::CatchUp(head) => self.catch_up = Some(head),
            Message::Follow { .. } => {}
        }
    }

    pub(super) fn push_due(&mut self, command: Command) {
        self.add(command.into(), Source::Home);
    }

    /// Appends later work.
    pub(super) fn append(&mut self, later: Self) {
        let (streams, forwards) = (self.replies.0.len(), self.forwards.len());
        self.replies.0.extend(later.replies.0);
        self.forwards.extend(later.forwards);
        self.requests.extend(later.requests.into_iter().map(|(request, source)| match source {
            Source::Stream(index, tag, span) => (request, Source::Stream(index + streams, tag, span)),
            Source::Peer(index, span) => (request, Source::Peer(index + forwards, span)),
            source => (request, source),
        }));
        self.readers.extend(later.readers);
        self.forwarded_after = self.forwarded_after.into_iter().chain(later.forwarded_after).min();
        self.is_unsettled |= later.is_unsettled;
        self.catch_up = later.catch_up.or(self.catch_up);
        self.bytes += later.bytes;
    }

    fn add(&mut self, request: Request, source: Source) {
        self.bytes += text_bytes(&request.command);
        self.requests.push((request, source));
    }

    /// Due commands go before requests of callers, including those taken back from other servers: no caller is notified
    /// of a claim that is cancelled in the same batch.
    pub(super) fn put_due_first(&mut self) {
        self.requests.sort_by_key(|(_, source)| !matches!(source, Source::Home));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.has_no_requests() && self.catch_up.is_none()
    }

    /// Whether no caller or timer waits for any part of it.
    pub(super) fn has_no_requests(&self) -> bool {
        self.requests.is_empty() && self.readers.is_empty() && self.forwards.is_empty()
    }

    /// Whether it is enough for one batch: in number, and in what a database takes in one statement.
    pub(super) fn is_full(&self) -> bool {
        self.requests.len() + self.readers.len() >= COMMANDS || self.bytes >= BYTES
    }
}

impl Message {
    pub(super) fn reject(self, rejection: &Rejection) {
        match self {
            // A caller that is gone needs no reply.
            Self::Decide { reply, span, .. } => drop(reply.send(reject(&span, rejection.clone()))),
            Self::DecideAll { requests, replies: sender } => {
                let replies = requests.into_iter().map(|(tag, _, span)| (tag, reject(&span, rejection.clone())));
                drop(sender.unbounded_send(replies.collect()));
            }
            Self::Read(reader) => reader(Err(rejection.clone())),
            // The server that forwarded it sees that it no longer follows.
            Self::Forward { .. } | Self::Follow { .. } | Self::CatchUp(_) => {}
        }
    }
}
