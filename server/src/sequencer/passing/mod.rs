//! Passing: a server hands its commands to the one that writes, so that the two need not race for the next revision.
//!
//! Nothing depends on it. The server that is passed to decides in its ordinary batches and appends by compare-and-set like
//! everybody; who passes learns from the log alone what has become of its commands, and with nobody to pass to each server
//! appends for itself.
//!
//! What is passed and to whom:
//! - Of the servers that wrote a short while ago, the one with the lowest number is to write, and the others pass to it if they
//!   have a link to it. By the number, since "who was last" would change with each race, and so make the next one. If nobody
//!   has written for a while, whoever has a command writes, and so becomes the one.
//! - A server that finds only its own commands in what another one writes for it, writes them itself.
//! - A passed command is never passed on. Who has it decides and appends, however often others are first.
//! - What the home's own timers ask for is not passed, nor what is rare: for these the home appends itself, after it has waited
//!   for a moment for what it has passed.
//! - Commands keep their order: what was passed to one server comes to its end before anything goes to another.
//!
//! What is answered: the verdict on a pass tells at which revision each command was decided. The server that passed it decides
//! the command once more on its own table at that very revision, on its way through the batch that it was told of or has read:
//! the core is deterministic, so the same events come of it, which is compared, and the outcome is the one that counted. If
//! the table is past that revision already, the command is decided as a client's retry would be: what yields no events is
//! answered, and anything else is a new command.
//!
//! What is believed of a peer: that a batch is in the log which it says it has appended there, if it goes on exactly where the
//! table stands. It may refer to what the table shows there, for that is the same on both sides; if it does not fit, the log is
//! read. Everything else is read from the store. A server that believed a batch of a database that lost it since is
//! where the one is that appended it, and finds out in the same way.
//!
//! A pass must never take effect after its server has answered the command otherwise. So:
//! - A pass carries the revision that its server was at. Who has it decides it only if its own table is not behind that, shows
//!   no batch of that server after it (and no adoption of what that server was the home of), and knows all batches since;
//!   only while it holds its own lease; and only if that server was alive at the last heartbeat. The compare-and-set makes this
//!   exact: whatever the table does not show yet, the append trips over.
//! - Before a server appends, it takes back all that it has passed without a verdict, and decides it again in its own batch, on
//!   top of what came of it meanwhile. That batch voids the passes: whoever still has one is not allowed to decide it.
//! - A server whose patience with a pass ends takes it back, and answers nobody before such a batch is committed. If deciding
//!   again yields no events, it appends one that only says so ([`Event::PassesVoided`](tenure_core::Event)).
//! - If that fails, what was passed is answered as of unknown outcome, and the next batch still has to void it.

mod followers;
mod give;
mod hear;
mod pauses;
mod replay;
mod report;
mod take;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tenure_core::{Request, Revision, ServerId, Text};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::work::Work;
use crate::cluster::membership::MemberView;
pub(super) use followers::Followers;
pub use pauses::LongestPauses;
pub(super) use pauses::record_pauses;
pub use report::{Packed, Report};
pub(super) use take::Taken;

/// For so long a server waits for the verdict on a pass: some appends of a slow database, and far less than a call may take.
const PATIENCE: Duration = Duration::from_millis(300);

/// For so long it waits for outstanding verdicts before it appends for itself: an append or two.
const SETTLING: Duration = Duration::from_millis(20);

/// A server that has not written for this long is not passed to: there is nobody to race with.
const IDLE: Duration = Duration::from_millis(100);

/// A server that did not do its part is not passed to for this long.
const SHUNNED: Duration = Duration::from_secs(1);

/// The most passes without a verdict. More would only be smaller.
const MOST_GIVEN: usize = 4;

/// After so many batches in a row with nothing in them but this server's own commands, it had better write them itself.
const ALONE: usize = 32;

/// How many words from peers wait for the sequencer before they are held back.
const HEARD: usize = 64;

/// Commands for another server to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Distinguishes it from every other pass of this server in this namespace.
    pub number: u64,
    /// The revision that this server was at.
    pub after: Revision,
    /// The commands, in order, whose home is this server. Perhaps none: then only the verdict is wanted.
    pub requests: Vec<Request>,
    /// What only this server knows of holds that they end.
    pub pauses: LongestPauses,
    /// The `traceparent` of those that are traced, by their places among the commands.
    pub traces: Vec<(usize, String)>,
}

/// What a server tells those who follow it.
#[derive(Clone, Debug)]
pub struct News {
    /// A batch that it has committed.
    pub batch: Option<Report>,
    /// What came of passes.
    pub verdicts: Vec<Verdict>,
    /// Up to where it has seen the rows sum up the log.
    pub rows: Revision,
    /// The events of the batch as they travel, once somebody has needed that: the same for all followers.
    pub packed: Arc<OnceLock<Bytes>>,
}

/// What came of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The pass.
    pub number: u64,
    /// The revision that each command was decided at, committed if it yielded events. `None`: it was not decided, and never
    /// will be.
    pub decided: Option<Vec<Revision>>,
    /// The revision that the log was at when all of them were decided, or later.
    pub at: Revision,
}

/// What comes of a link.
#[derive(Debug)]
pub enum Word {
    /// It is open: all that the other server commits from now on is told.
    Open,
    /// News.
    News(News),
    /// It is broken, or could not be made: nothing more comes.
    Broken,
}

/// A word of a link.
#[derive(Debug)]
pub struct Heard {
    /// The number that the link was made with.
    pub link: u64,
    /// The word.
    pub word: Word,
}

/// A link to be made.
#[derive(Debug)]
pub struct Linking {
    /// The server that passes.
    pub from: ServerId,
    /// The server that is passed to.
    pub to: ServerId,
    /// How that one is reached.
    pub member: MemberView,
    /// The namespace.
    pub namespace: Text,
    /// Its number, for [`Heard`].
    pub link: u64,
    /// Where its words go: `Open` once, if it comes to that, and `Broken` at the end.
    pub heard: mpsc::Sender<Heard>,
}

/// The ways to other servers.
pub trait Peers: Send + Sync + 'static {
    /// Makes a link, in the background. Trying takes a few seconds at the most.
    fn link(&self, linking: Linking) -> Box<dyn Giver>;
}

/// This server's end of a link, which ends when this is dropped.
pub trait Giver: Send + Sync + 'static {
    /// Sends a pass, without waiting. False: it was not sent.
    fn give(&self, pass: Pass) -> bool;
}

/// A link to another server.
struct Link {
    number: u64,
    giver: Box<dyn Giver>,
    is_open: bool,
}

/// A pass without a verdict.
struct Given {
    number: u64,
    work: Work,
    until: Instant,
}

/// What one namespace of this server has to do with the other servers.
pub(super) struct Passing {
    links: HashMap<ServerId, Link>,
    /// Until when servers are not passed to.
    shunned: HashMap<ServerId, Instant>,
    /// What was passed, in order: all to the same server.
    given: VecDeque<Given>,
    given_to: ServerId,
    /// What was taken back, to be decided here.
    owed: Option<Work>,
    /// Whether something was taken back that no batch of this server has voided yet.
    pub(super) unsettled: bool,
    /// How many batches of the other server there were in a row with nothing but what was passed from here.
    alone: usize,
    count: u64,
    words: (mpsc::Sender<Heard>, mpsc::Receiver<Heard>),
    pub(super) followers: Followers,
}

impl Default for Passing {
    fn default() -> Self {
        Self {
            links: HashMap::new(),
            shunned: HashMap::new(),
            given: VecDeque::new(),
            given_to: ServerId::default(),
            owed: None,
            unsettled: false,
            alone: 0,
            count: 0,
            words: mpsc::channel(HEARD),
            followers: Followers::default(),
        }
    }
}

impl Passing {
    /// The next word of a link.
    pub(super) async fn word(&mut self) -> Option<Heard> {
        self.words.1.recv().await
    }

    /// When the patience with the oldest pass ends.
    pub(super) fn until(&self) -> Option<Instant> {
        self.given.front().map(|given| given.until)
    }

    /// What was taken back and is to be decided here.
    pub(super) fn owed(&mut self) -> Option<Work> {
        self.owed.take()
    }

    /// This server has committed a batch: whatever it had passed before is void.
    pub(super) fn settled(&mut self) {
        self.unsettled = false;
    }

    /// Others have commands as well.
    pub(super) fn not_alone(&mut self) {
        self.alone = 0;
    }

    /// Takes back all that was passed: nothing of it is answered before a batch of this server is committed.
    fn take_back(&mut self) {
        self.unsettled |= !self.given.is_empty();
        for given in std::mem::take(&mut self.given) {
            self.owe(given.work);
        }
    }

    /// To be decided here, after what is owed already.
    fn owe(&mut self, work: Work) {
        match &mut self.owed {
            Some(owed) => owed.append(work),
            None => self.owed = Some(work),
        }
    }

    /// What was passed and is not waited for any more.
    pub(super) fn forsaken(&mut self) -> Option<Work> {
        self.take_back();
        self.owed.take()
    }

    fn shun(&mut self, server: ServerId) {
        self.links.remove(&server);
        self.shunned.insert(server, Instant::now() + SHUNNED);
    }
}
