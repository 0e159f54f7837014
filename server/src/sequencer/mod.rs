//! The sequencer: the one place where a namespace's commands are put in order.
//!
//! It gathers what has arrived into a batch, has the table decide each command, and appends the events to the store if the
//! namespace is still at the revision that the decisions were made on. Only when the append is known to be committed are
//! callers answered and watchers told. If another server was first, it takes over what it missed and decides again. To spare
//! itself that, it passes commands on to a server that writes already: see [`passing`].

mod attendance;
mod backpressure;
mod batch;
mod desk;
mod granted;
mod metrics;
mod namespace;
pub mod passing;
mod replica;
mod rows;
mod run;
mod spans;
mod tally;
mod waits;
mod work;

use futures::channel::mpsc::UnboundedSender;
use tenure_core::{Command, EndReason, Outcome, Rejection, Request, Revision, ServerId, Table, Text};
use tokio::sync::{mpsc, oneshot};

use crate::telemetry::traces::Traced;
pub use attendance::{Attendance, WaitEnd};
use backpressure::Load;
pub use desk::{Notice, Notices, StreamEnd};
pub use granted::View;
pub use metrics::Counts;
pub use namespace::Namespace;
use passing::{News, Pass};
pub use run::{Settings, start};

/// Why a namespace does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The command may not do that.
    #[error("{0}")]
    Rejected(Rejection),
    /// It is not known whether the change was made.
    #[error("the database did not answer in time: it is not known whether the change was made")]
    OutcomeUnknown,
    /// The store cannot be reached; nothing was changed.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// Too much waits already; nothing was changed.
    #[error("this server has more to do than it can: try again later")]
    Overloaded,
    /// This server's lease has run out.
    #[error("this server has lost touch with the database for so long that it may not answer renewals")]
    LeaseLost,
    /// This server is shutting down.
    #[error("this server is shutting down")]
    Draining,
}

/// A command's outcome, committed.
pub struct Decided {
    /// What came of it.
    pub outcome: Outcome,
    /// The revision at which it was so: that of the command's last event, or that at which it was decided without one.
    pub revision: Revision,
    /// The caller's presence at the desk, if the command made a new claim, or found one waiting or granted to nobody's
    /// knowledge.
    pub attendance: Option<Attendance>,
}

/// What came of a command.
pub type Told = Result<Decided, Refusal>;

/// What a stream knows a command by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The client's number, which may be used again once the command is answered.
    pub id: u64,
    /// The stream's own number, which is not.
    pub count: u64,
}

/// What came of a stream's commands in one batch.
pub struct Decisions {
    /// The namespace.
    pub namespace: Text,
    /// What came of each.
    pub told: Vec<(Tag, Told)>,
}

/// Where a stream takes the decisions on its commands. Unbounded, since a stream bounds what it has under way; and without
/// room that is kept for them, since most streams are quiet.
pub type Outcomes = UnboundedSender<Decisions>;

type Reply = oneshot::Sender<Told>;
type Reader = Box<dyn FnOnce(Result<&Table, Refusal>) + Send>;

/// What a sequencer is asked.
enum Message {
    /// Decide this and make it durable.
    Decide { request: Request, reply: Reply, passage: Traced },
    /// The same with each of these.
    DecideAll { requests: Vec<(Tag, Request, Traced)>, outcomes: Outcomes },
    /// Show the table as it is at the log's head.
    Read(Reader),
    /// Decide what another server passed.
    Take { server: ServerId, pass: Pass },
    /// Tell another server of all that is committed here from now on.
    Follow { server: ServerId, reply: oneshot::Sender<mpsc::Receiver<News>> },
    /// Another server may have appended: the head is here.
    CatchUp(Revision),
}

impl Message {
    /// What waits in it.
    fn load(&self) -> Load {
        match self {
            Self::Decide { request, .. } => Load::of([&request.command]),
            Self::DecideAll { requests, .. } => Load::of(requests.iter().map(|(_, request, _)| &request.command)),
            Self::Read(_) | Self::Take { .. } | Self::Follow { .. } | Self::CatchUp(_) => Load::default(),
        }
    }

    /// Whether it comes before what others want anew: a session without a stream is renewed by nobody.
    fn is_pressing(&self) -> bool {
        matches!(self, Self::Decide { request, .. } if matches!(request.command, Command::AttachSession { .. }))
    }
}

/// What somebody is told whose command is not even decided.
fn reject(passage: &Traced, refusal: Refusal) -> Told {
    let told = Err(refusal);
    spans::told(passage, &told);
    told
}

impl Refusal {
    /// For a session whose time is up, though its end may not be in the log yet.
    #[must_use]
    pub fn over(session: &str, reason: EndReason) -> Self {
        Self::Rejected(Rejection::SessionEnded { session: session.into(), reason })
    }
}
