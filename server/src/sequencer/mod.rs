//! The sequencer: puts a namespace's commands in order and commits them.
//!
//! It gathers the commands that have arrived into a batch, has the table decide each, and appends the events to the
//! store if the namespace is still at the revision that the decisions were based on. Callers are answered and watchers
//! notified only when the append is known to be committed. If another server appended first, it applies the events that
//! it missed and decides again. To avoid such conflicts, it forwards commands to a server that already writes: see
//! [`forwarding`].

mod backpressure;
mod batch;
mod clients;
pub mod forwarding;
mod grant_times;
mod local;
mod metrics;
mod namespace;
mod replica;
mod rows;
mod run;
mod spans;
mod tally;
mod wait_times;
mod waiters;
mod work;

use futures::channel::mpsc::UnboundedSender;
use opentelemetry::Context;
use tenure_core::{Command, Outcome, Rejection, Request, Revision, ServerId};
use tokio::sync::{mpsc, oneshot};

use backpressure::Load;
pub use clients::{Closed, ItemState, Mailbox, PendingTransfer, StreamEnd, states_after, waits_after};
use forwarding::{CommitNotice, Forward};
pub use grant_times::View;
pub use metrics::Counts;
pub use namespace::Namespace;
pub use run::{Settings, start};
pub use waiters::{PendingGrant, WaitEnd};

/// The committed outcome of a command.
pub struct CommandResult {
    /// The outcome.
    pub outcome: Outcome,
    /// The revision at which the outcome was true: that of the command's last event, or that at which it was decided
    /// without one.
    pub revision: Revision,
    /// The caller's registration for the claim, if it waits, or if no earlier reply has returned its grant.
    pub pending: Option<PendingGrant>,
}

/// The reply to a command.
pub type Reply = Result<CommandResult, Rejection>;

/// Identifies a command of a stream: a number that the stream never reuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(pub u64);

/// Replies to a stream's commands in one batch.
pub type Replies = Vec<(Tag, Reply)>;

/// Where a stream receives the replies to its commands. Unbounded, since a stream bounds its commands in progress; and
/// without preallocated capacity, since most streams are quiet.
pub type ReplySender = UnboundedSender<Replies>;

type Reader = Box<dyn FnOnce(Result<&View<'_>, Rejection>) + Send>;

enum Message {
    /// Decide a request and make it durable.
    Decide { request: Request, reply: oneshot::Sender<Reply>, span: Context },
    /// Decide several requests and make them durable.
    DecideAll { requests: Vec<(Tag, Request, Context)>, replies: ReplySender },
    /// Read the table at the log's head.
    Read(Reader),
    /// Decide what another server forwarded.
    Forward { server: ServerId, forward: Forward },
    /// Send all that is committed here from now on to another server, on its link with this number.
    Follow { server: ServerId, link: u64, reply: oneshot::Sender<mpsc::Receiver<CommitNotice>> },
    /// Another server may have appended: the head is at this revision.
    CatchUp(Revision),
}

impl Message {
    /// The queued commands in it.
    fn load(&self) -> Load {
        match self {
            Self::Decide { request, .. } => Load::of([&request.command]),
            Self::DecideAll { requests, .. } => Load::of(requests.iter().map(|(_, request, _)| &request.command)),
            Self::Read(_) | Self::Forward { .. } | Self::Follow { .. } | Self::CatchUp(_) => Load::default(),
        }
    }

    /// Whether it precedes new requests: until then a session without a home here is not renewed.
    fn is_urgent(&self) -> bool {
        let renews = |command: &Command| matches!(command, Command::MoveSession { .. } | Command::Connect(_));
        matches!(self, Self::Decide { request, .. } if renews(&request.command))
    }
}

/// The reply to a command that is rejected before it is decided.
fn reject(span: &Context, rejection: Rejection) -> Reply {
    let reply = Err(rejection);
    spans::replied(span, &reply);
    reply
}
