//! The history of a lock's holders.

use std::time::{Duration, SystemTime};

use tenure_proto::v1;
use tenure_proto::v1::history_entry::Kind;

use crate::convert::{from_wire, optional, time_from_wire};
use crate::model::{EndReason, Metadata};

/// An entry in the history of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "nearly all entries are holds")]
pub enum HistoryEntry {
    /// A hold of the lock, ended or not.
    Hold(HoldRecord),
    /// The database lost a part of the history, for example by a failover to an outdated copy. Holds of that time are
    /// missing, and the end of a hold that spans it may be too late.
    Lost {
        /// The last revision before the loss.
        after_revision: u64,
        /// The first revision after it.
        revision: u64,
        /// When it was detected, by the wall clock of the server that did.
        time: Option<SystemTime>,
    },
}

/// A hold, from its grant to its end. Facts that are no longer in history are unknown. Times are by the wall clocks of
/// the servers that wrote them, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRecord {
    /// The claim's id: the revision of the event that created it.
    pub claim_id: u64,
    /// All names of the claim, in byte order.
    pub names: Vec<String>,
    /// The fencing token.
    pub token: u64,
    /// The session that held it.
    pub session_id: String,
    /// The session's owner label.
    pub owner: String,
    /// The labels of the claim.
    pub metadata: Metadata,
    /// The claim's priority among waiters.
    pub priority: i32,
    /// When it was requested.
    pub queued: Option<SystemTime>,
    /// When it was granted.
    pub granted: Option<SystemTime>,
    /// How long the claim waited for the grant: zero if it did not.
    pub waited: Option<Duration>,
    /// How long it was held, or has been held until now.
    pub held: Option<Duration>,
    /// The longest time without a renewal of the session during the hold. Close to the TTL: the hold was nearly lost.
    /// Returned only by the server that receives the session's renewals.
    pub longest_pause: Option<Duration>,
    /// For a current hold: how long ago the session was renewed. Returned only by the server that receives its
    /// renewals.
    pub since_renewal: Option<Duration>,
    /// The TTL that the session was opened with.
    pub ttl: Option<Duration>,
    /// How it ended. `None`: it is current.
    pub end: Option<HoldEnd>,
}

/// How a hold ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldEnd {
    /// When, by the wall clock of the server that wrote it.
    pub time: SystemTime,
    /// The reason.
    pub reason: EndReason,
    /// The operator who ended it, if one did.
    pub operator: Option<String>,
    /// The operator's note.
    pub note: Option<String>,
}

impl HistoryEntry {
    /// `None` for a kind that this version does not know.
    pub(crate) fn from_proto(entry: v1::HistoryEntry) -> Option<Self> {
        Some(match entry.kind? {
            Kind::Hold(hold) => Self::Hold(hold.into()),
            Kind::Loss(loss) => Self::Lost {
                after_revision: loss.after_revision,
                revision: loss.revision,
                time: time_from_wire(loss.time),
            },
        })
    }
}

impl From<v1::HoldRecord> for HoldRecord {
    fn from(hold: v1::HoldRecord) -> Self {
        let end = time_from_wire(hold.ended_time).map(|time| HoldEnd {
            time,
            reason: EndReason::from_proto(hold.end_reason),
            operator: optional(hold.operator),
            note: optional(hold.note),
        });
        Self {
            claim_id: hold.claim_id,
            names: hold.names,
            token: hold.token,
            session_id: hold.session_id,
            owner: hold.owner,
            metadata: hold.metadata,
            priority: hold.priority,
            queued: time_from_wire(hold.queued_time),
            granted: time_from_wire(hold.granted_time),
            waited: hold.waited.map(from_wire),
            held: hold.held.map(from_wire),
            longest_pause: hold.longest_pause.map(from_wire),
            since_renewal: hold.since_renewal.map(from_wire),
            ttl: hold.ttl.map(from_wire),
            end,
        }
    }
}
