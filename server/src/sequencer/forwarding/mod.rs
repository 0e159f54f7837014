//! Forwarding: a server sends its frequent commands to the one that writes, so that the two do not race for the next
//! revision.
//!
//! It is an optimization, never an authority. The writer decides forwarded commands in its ordinary batches, which it
//! appends by compare-and-set. The other server learns from the log alone what has become of its commands, and without
//! a link to the writer it appends for itself.
//!
//! What is forwarded, and to which server:
//! - Of the servers that wrote a short while ago, the one with the lowest id is the writer. "The last one" would change
//!   with every race, and so cause the next one. If no server has written for a while, the next one with a command
//!   writes.
//! - A server whose commands are the only ones in the writer's batches writes them itself.
//! - A forwarded command is never forwarded again. Its receiver decides and appends it, after conflicts as well.
//! - Rare commands and those of the home's timers are not forwarded: the home appends them, after it has waited a
//!   moment for the results of what is in flight.
//! - Commands keep their order: a forward is decided only if none of those that were in flight before it was rejected.
//!
//! How callers are answered: the writer sends every batch that it commits to its followers, with the numbers of the
//! forwards that were decided by then. The forwarding server applies the batch and decides those commands again. A
//! command that yields no events now has the result that it was to have: its claim is held, or was released before. One
//! that does yield events is a new command, as a client's retry would be, and part of this server's next batch. So a
//! forward may take effect more than once before its caller is answered (at least once), and results are never sent.
//!
//! What is believed of a peer: that the batches it sends are in the log, if they continue exactly where the table is.
//! Everything else is read from the store.
//!
//! A forward must have no effect once its caller has been answered otherwise. Therefore:
//! - A forward names the revision that its server was at. The writer decides it only if its table has reached that, and
//!   shows no later batch of that server (nor the adoption of what it was the home of), only while the writer holds its
//!   lease, and only if that server was alive at the last heartbeat. What the table does not show yet makes the append
//!   fail.
//! - Before a server appends, it takes back all that is in flight, and decides it in its own batch, which makes every
//!   earlier forward void.
//! - If that yields no events, it appends one that only makes them void
//!   ([`Event::ForwardsVoided`](tenure_core::Event)), unless the commands void themselves: see [`is_settled`].
//! - A server waits for results for a bounded time. If it cannot append then, it answers that the outcome is unknown,
//!   and its next batch still has to void what was in flight.

mod accept;
mod conclude;
mod followers;
mod pauses;
mod send;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tenure_core::{Absence, Command, Outcome, Request, Revision, ServerId, Text};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::batch::Decision;
use super::work::Work;
use crate::cluster::membership::MemberView;
use crate::store::Batch;
pub(super) use accept::Accepted;
pub(super) use followers::Followers;
pub(super) use pauses::record_pauses;

/// How long a server waits for the result of a forward: several appends of a slow database, and far less than a call
/// may take.
const PATIENCE: Duration = Duration::from_millis(300);

/// How long it waits for outstanding results before it appends for itself: one or two appends.
const SETTLING: Duration = Duration::from_millis(20);

/// Nothing is forwarded to a server that has not written for this long: there is no race to avoid.
const IDLE: Duration = Duration::from_millis(100);

/// How long nothing is forwarded to a server that has failed to reply.
const SUSPENSION: Duration = Duration::from_secs(1);

/// The maximum number of forwards in flight. More would only be smaller.
const IN_FLIGHT: usize = 4;

/// After so many consecutive batches with this server's commands only, it writes them itself.
const ALONE: usize = 32;

/// How many events of links wait for the sequencer before the links are held back.
const EVENTS: usize = 64;

/// Commands for another server to decide.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Forward {
    /// Greater than that of every earlier forward of this server in this namespace.
    pub number: u64,
    /// The number of the oldest forward in flight, which may be this one.
    pub oldest: u64,
    /// The revision that this server was at.
    pub after: Revision,
    /// The commands, in order, whose home is this server. May be empty, if only the revision is needed.
    pub requests: Vec<Request>,
    /// The longest pauses between renewals during holds that they end, which only this server knows, by claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<(Revision, Duration)>,
    /// The `traceparent` of those that are traced, by their indexes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<(usize, String)>,
}

/// What a server sends to its followers after a commit, or when it has decided a forward.
#[derive(Clone, Debug)]
pub struct CommitNotice {
    /// The batch that it has committed.
    pub batch: Option<Arc<Batch>>,
    /// The JSON of the batch's events, as in the log. Encoded at first use, once for all followers.
    pub encoded: Arc<OnceLock<Bytes>>,
    /// The forwards of the follower that were decided.
    pub decided: Vec<u64>,
    /// Those that were not, and never will be: later than all that were decided.
    pub rejected: Vec<u64>,
    /// The revision at which this is final.
    pub at: Revision,
    /// The revision up to which the rows sum up the log, as far as that server knows.
    pub rows: Revision,
    /// Whether it has decided other commands together with the follower's.
    pub is_shared: bool,
}

/// An event of a link to another server.
#[derive(Debug)]
pub enum LinkEvent {
    /// It is open: notices of everything that the other server commits follow.
    Open,
    /// A notice.
    Notice(CommitNotice),
    /// It is closed, or could not be opened.
    Closed,
}

/// A link to open.
#[derive(Debug)]
pub struct LinkRequest {
    /// The server that forwards.
    pub from: ServerId,
    /// The other server.
    pub to: ServerId,
    /// How to reach it.
    pub member: MemberView,
    /// The namespace.
    pub namespace: Text,
    /// Less than the numbers of all forwards on this link, and greater than those of earlier links.
    pub number: u64,
    /// Where its events go, with its number.
    pub events: mpsc::Sender<(u64, LinkEvent)>,
}

/// The connections to other servers.
pub trait Peers: Send + Sync + 'static {
    /// Opens a link in the background, within a few seconds or not at all. It closes when the returned sender is dropped.
    fn link(&self, request: LinkRequest) -> mpsc::Sender<Forward>;
}

/// A link to another server.
struct Link {
    number: u64,
    forwards: mpsc::Sender<Forward>,
    is_open: bool,
}

/// A forward without a result.
struct InFlight {
    target: ServerId,
    number: u64,
    work: Work,
    until: Instant,
}

/// What one namespace of this server exchanges with other servers.
pub(super) struct Forwarder {
    links: HashMap<ServerId, Link>,
    /// Servers that have failed to reply, and until when nothing is forwarded to them.
    suspended: HashMap<ServerId, Instant>,
    /// The forwards without a result, in order: all to the same server.
    in_flight: VecDeque<InFlight>,
    /// Work that was in flight, and is to be decided here.
    pub(super) returned: Option<Work>,
    /// Whether commands were answered with an unknown outcome that no batch of this server has made void yet.
    pub(super) must_void: bool,
    /// The number of consecutive batches of the other server with commands of this server only.
    pub(super) alone: usize,
    /// The number of the last link or forward.
    count: u64,
    /// The events of links, by the links' numbers.
    pub(super) events: mpsc::Receiver<(u64, LinkEvent)>,
    event_sender: mpsc::Sender<(u64, LinkEvent)>,
    pub(super) followers: Followers,
}

impl Forwarder {
    /// No links yet. `count` is greater than all numbers that this server has used before.
    pub(super) fn new(count: u64) -> Self {
        let (event_sender, events) = mpsc::channel(EVENTS);
        Self {
            links: HashMap::new(),
            suspended: HashMap::new(),
            in_flight: VecDeque::new(),
            returned: None,
            must_void: false,
            alone: 0,
            count,
            events,
            event_sender,
            followers: Followers::default(),
        }
    }

    /// When the oldest forward in flight is taken back.
    pub(super) fn until(&self) -> Option<Instant> {
        self.in_flight.front().map(|oldest| oldest.until)
    }

    /// The server that all forwards in flight were sent to.
    fn target(&self) -> Option<ServerId> {
        self.in_flight.front().map(|oldest| oldest.target)
    }

    /// Takes back all that is in flight. It may still be decided, until this server has appended.
    pub(super) fn take_back(&mut self) {
        for InFlight { mut work, .. } in std::mem::take(&mut self.in_flight) {
            work.is_unsettled = true;
            self.return_work(work);
        }
    }

    /// Adds to what is to be decided here.
    fn return_work(&mut self, work: Work) {
        self.returned.get_or_insert_default().append(work);
    }

    fn suspend(&mut self, server: ServerId) {
        self.links.remove(&server);
        self.suspended.insert(server, Instant::now() + SUSPENSION);
    }
}

/// Whether forwards of this work can change nothing any more, after these decisions, which have yielded no events. That
/// is so for changes that a client has declared: each number is used once, so what exists or has ended is not made
/// again. A claim that was not made, since its locks are not free, could still be.
pub(super) fn is_settled(work: &Work, decisions: &[Decision]) -> bool {
    work.requests.iter().zip(decisions).all(|((request, _), decision)| match (&request.command, &decision.outcome) {
        (Command::Change { .. }, Ok(Outcome::Reconciled { absent, .. })) => {
            absent.iter().all(|(_, absence)| matches!(absence, Absence::Ended(_)))
        }
        // Its epoch is over, or it is of another identity.
        (Command::Change { .. }, Err(_)) => true,
        _ => false,
    })
}
