//! Work: what is carried out in one batch, and who is told what came of it.

use tenure_core::{Command, Request, Revision, Text};

use super::backpressure::text_bytes;
use super::passing::Taken;
use super::spans;
use super::{Decisions, Message, Outcomes, Reader, Refusal, Reply, Tag, Told, reject};
use crate::telemetry::traces::Traced;

/// The most commands in one batch, but for the last request that is taken into it.
const COMMANDS: usize = 4_096;

/// The most that the texts of the commands of one batch take, in bytes: well below what databases take in one statement.
const BYTES: usize = 2 * 1024 * 1024;

/// Who asked for a command.
pub(super) enum Asker {
    /// The home: it was due by itself.
    Home,
    /// A call, and the span of the command's way.
    Call(Reply, Traced),
    /// A stream, by its place in the work.
    Stream(usize, Tag, Traced),
    /// Another server, which passed it, by the place of the pass in the work.
    Peer(usize, Traced),
}

impl Asker {
    /// Whether somebody is there to receive what is granted.
    pub(super) fn is_caller(&self) -> bool {
        !matches!(self, Self::Home | Self::Peer(..))
    }

    /// The span of the command's way.
    pub(super) fn passage(&self) -> &Traced {
        static NONE: Traced = Traced::none();
        match self {
            Self::Home => &NONE,
            Self::Call(_, passage) | Self::Stream(_, _, passage) | Self::Peer(_, passage) => passage,
        }
    }
}

/// What to do in one batch.
#[derive(Default)]
pub(super) struct Work {
    pub(super) requests: Vec<(Request, Asker)>,
    pub(super) readers: Vec<Reader>,
    pub(super) tellings: Tellings,
    /// What other servers have passed.
    pub(super) taken: Vec<Taken>,
    /// If this was passed to another server: the revision that this server was at, when it was for the first time.
    pub(super) passed_after: Option<Revision>,
    /// The head that was seen, if another server may have appended.
    pub(super) catch_up: Option<Revision>,
    /// What the commands attach, in bytes.
    bytes: usize,
}

/// What the streams are told when the batch is done: all at once.
#[derive(Default)]
pub(super) struct Tellings(Vec<(Outcomes, Vec<(Tag, Told)>)>);

impl Tellings {
    /// Tells whoever asked for a command what came of it. One that has gone is noticed by what it is to be told, which
    /// is dropped.
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

    /// Tells the streams.
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

    /// Adds what is due by itself.
    pub(super) fn push_due(&mut self, command: Command) {
        self.add(command.into(), Asker::Home);
    }

    /// Adds what was to be done after this.
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

    /// What is due by itself is decided before what callers ask for, taken back from other servers or not: no caller is told that a
    /// claim is there which is given up in the same batch.
    pub(super) fn put_due_first(&mut self) {
        self.requests.sort_by_key(|(_, asker)| !matches!(asker, Asker::Home));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asks_nothing() && self.catch_up.is_none()
    }

    /// Whether nobody waits for anything in it.
    pub(super) fn asks_nothing(&self) -> bool {
        self.requests.is_empty() && self.readers.is_empty() && self.taken.is_empty()
    }

    /// Whether what is there is enough for one batch: in number, and in what a database takes in one statement.
    pub(super) fn is_full(&self) -> bool {
        self.requests.len() + self.readers.len() >= COMMANDS || self.bytes >= BYTES
    }
}

impl Message {
    /// Turns away whoever asked.
    pub(super) fn refuse(self, namespace: &Text, refusal: &Refusal) {
        match self {
            // A caller that has gone needs no answer.
            Self::Decide { reply, passage, .. } => drop(reply.send(reject(&passage, refusal.clone()))),
            Self::DecideAll { requests, outcomes } => {
                let told = requests.into_iter().map(|(tag, _, passage)| (tag, reject(&passage, refusal.clone())));
                let decisions = Decisions { namespace: namespace.clone(), told: told.collect() };
                drop(outcomes.unbounded_send(decisions));
            }
            Self::Read(reader) => reader(Err(refusal.clone())),
            // Who passed it sees that it is let go.
            Self::Take { .. } | Self::Follow { .. } | Self::CatchUp(_) => {}
        }
    }
}
