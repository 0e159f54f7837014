//! Work: the requests that are carried out in one batch, and the replies to them.

use tenure_core::{Command, Request, Revision, Text};

use super::backpressure::text_bytes;
use super::passing::Taken;
use super::spans;
use super::{Decisions, Message, Outcomes, Reader, Refusal, Reply, Tag, Told, reject};
use crate::telemetry::traces::Traced;

/// Maximum commands in one batch, except for the last request added to it.
const COMMANDS: usize = 4_096;

/// Maximum bytes of the texts of the commands in one batch: well below what databases take in one statement.
const BYTES: usize = 2 * 1024 * 1024;

/// The source of a command.
pub(super) enum Asker {
    /// The home, because the command is due.
    Home,
    /// A call, and the span of the command.
    Call(Reply, Traced),
    /// A stream, by its index in the work.
    Stream(usize, Tag, Traced),
    /// Another server, which forwarded it, by the index in [`Work::taken`].
    Peer(usize, Traced),
}

impl Asker {
    /// Whether a caller is present to receive a grant.
    pub(super) fn is_caller(&self) -> bool {
        !matches!(self, Self::Home | Self::Peer(..))
    }

    /// The span of the command.
    pub(super) fn passage(&self) -> &Traced {
        static NONE: Traced = Traced::none();
        match self {
            Self::Home => &NONE,
            Self::Call(_, passage) | Self::Stream(_, _, passage) | Self::Peer(_, passage) => passage,
        }
    }
}

/// The requests to carry out in one batch.
#[derive(Default)]
pub(super) struct Work {
    pub(super) requests: Vec<(Request, Asker)>,
    pub(super) readers: Vec<Reader>,
    pub(super) tellings: Tellings,
    /// Work that other servers have forwarded.
    pub(super) taken: Vec<Taken>,
    /// If this was forwarded to another server: the revision of this server when it first was.
    pub(super) passed_after: Option<Revision>,
    /// The head that was seen, if another server may have appended.
    pub(super) catch_up: Option<Revision>,
    /// Bytes of the texts of the commands.
    bytes: usize,
}

/// Replies to streams, sent together when the batch is done.
#[derive(Default)]
pub(super) struct Tellings(Vec<(Outcomes, Vec<(Tag, Told)>)>);

impl Tellings {
    /// Replies to the source of a command. If the caller is gone, the reply is dropped, and its registration records
    /// that.
    pub(super) fn tell(&mut self, asker: Asker, told: Told) {
        spans::told(asker.passage(), &told);
        match asker {
            Asker::Home | Asker::Peer(..) => {}
            Asker::Call(reply, _) => {
                let _ = reply.send(told);
            }
            Asker::Stream(place, tag, _) => self.0[place].1.push((tag, told)),
        }
    }

    /// Sends the replies to the streams.
    pub(super) fn send(self, namespace: &Text) {
        for (outcomes, told) in self.0 {
            let _ = outcomes.unbounded_send(Decisions { namespace: namespace.clone(), told });
        }
    }
}

impl Work {
    pub(super) fn push(&mut self, request: Message) {
        match request {
            Message::Decide { request, reply, passage } => self.add(request, Asker::Call(reply, passage)),
            Message::DecideAll { requests, outcomes } => {
                let place = self.tellings.0.len();
                self.tellings.0.push((outcomes, Vec::with_capacity(requests.len())));
                for (tag, request, passage) in requests {
                    self.add(request, Asker::Stream(place, tag, passage));
                }
            }
            Message::Read(reader) => self.readers.push(reader),
            Message::Take { server, pass } => {
                let (taken, requests) = Taken::new(server, pass);
                self.taken.push(taken);
                for (request, passage) in requests {
                    self.add(request, Asker::Peer(self.taken.len() - 1, passage));
                }
            }
            Message::CatchUp(head) => self.catch_up = Some(head),
            Message::Follow { .. } => {}
        }
    }

    /// Adds a command that is due.
    pub(super) fn push_due(&mut self, command: Command) {
        self.add(command.into(), Asker::Home);
    }

    /// Appends later work.
    pub(super) fn join(&mut self, later: Self) {
        let (streams, passes) = (self.tellings.0.len(), self.taken.len());
        self.tellings.0.extend(later.tellings.0);
        self.taken.extend(later.taken);
        self.requests.extend(later.requests.into_iter().map(|(request, asker)| match asker {
            Asker::Stream(place, tag, passage) => (request, Asker::Stream(place + streams, tag, passage)),
            Asker::Peer(place, passage) => (request, Asker::Peer(place + passes, passage)),
            asker => (request, asker),
        }));
        self.readers.extend(later.readers);
        self.passed_after = self.passed_after.into_iter().chain(later.passed_after).min();
        self.catch_up = later.catch_up.or(self.catch_up);
        self.bytes += later.bytes;
    }

    fn add(&mut self, request: Request, asker: Asker) {
        self.bytes += text_bytes(&request.command);
        self.requests.push((request, asker));
    }

    /// Due commands go before requests of callers, including those taken back from other servers: no caller is notified
    /// of a claim that is cancelled in the same batch.
    pub(super) fn put_due_first(&mut self) {
        self.requests.sort_by_key(|(_, asker)| !matches!(asker, Asker::Home));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asks_nothing() && self.catch_up.is_none()
    }

    /// Whether no caller or timer waits for any part of it.
    pub(super) fn asks_nothing(&self) -> bool {
        self.requests.is_empty() && self.readers.is_empty() && self.taken.is_empty()
    }

    /// Whether it is enough for one batch: in number, and in what a database takes in one statement.
    pub(super) fn is_full(&self) -> bool {
        self.requests.len() + self.readers.len() >= COMMANDS || self.bytes >= BYTES
    }
}

impl Message {
    /// Rejects the request.
    pub(super) fn refuse(self, namespace: &Text, refusal: &Refusal) {
        match self {
            // A caller that is gone needs no reply.
            Self::Decide { reply, passage, .. } => drop(reply.send(reject(&passage, refusal.clone()))),
            Self::DecideAll { requests, outcomes } => {
                let told = requests.into_iter().map(|(tag, _, passage)| (tag, reject(&passage, refusal.clone())));
                let decisions = Decisions { namespace: namespace.clone(), told: told.collect() };
                drop(outcomes.unbounded_send(decisions));
            }
            Self::Read(reader) => reader(Err(refusal.clone())),
            // The server that forwarded it sees that it no longer follows.
            Self::Take { .. } | Self::Follow { .. } | Self::CatchUp(_) => {}
        }
    }
}
