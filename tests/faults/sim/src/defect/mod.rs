//! Deliberate defects. The simulation enables one and must find it, which shows what it would detect.
//!
//! Servers and clients have none of them: a [store](store) misleads the servers, [another writer](log) tampers with the
//! log, a [proxy](wire) alters messages between clients and servers, or a [clock](clock) runs at a wrong rate.

pub mod clock;
pub mod log;
pub mod store;
pub mod wire;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A deliberate defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A batch with an unknown commit result counts as committed.
    UnknownIsCommitted,
    /// A batch that was too late, and so conflicts, counts as committed.
    ConflictIsCommitted,
    /// A batch with an unknown commit result counts as not committed.
    UnknownIsRejected,
    /// A batch that was not committed counts as committed.
    RejectedIsCommitted,
    /// A batch counts as committed, and its events are published, before it is committed.
    PublishedEarly,
    /// Only the newest of several batches of the log is applied.
    PollSkips,
    /// A server that learns that the database lost history keeps the lost events in its table.
    LossKept,
    /// No server learns that the database lost history: a hold from before is confirmed with its old token.
    OldTokenAfterLoss,
    /// A server is considered dead while it may still accept renewals.
    MarkedDeadEarly,
    /// A server accepts renewals after its lease: it does not learn that its heartbeats are no longer written.
    LeaseIgnored,
    /// A waiter for an exclusive lock is granted it beside the holder.
    GrantBesideHolder,
    /// A waiter for a shared lock is granted it beside an exclusive holder.
    SharedBesideHolder,
    /// A waiter for permits is granted them above the limit.
    PermitsAboveLimit,
    /// The last waiter is granted first.
    LastWaiterFirst,
    /// A waiter whose session ends continues to wait.
    WaiterOutlivesSession,
    /// A holder whose session ends continues to hold.
    HolderOutlivesSession,
    /// A wait by a plain call does not end at a server other than the session's home.
    WaitEndsAtHome,
    /// A renewal does not extend the session.
    RenewalForgotten,
    /// A session that moves to another server has no time left there.
    NoFreshTtl,
    /// After the database lost history, sessions end as if no other server had renewed them.
    NoFreshTtlAfterLoss,
    /// The due end of a session takes effect although the session has moved before it.
    ExpiryAfterMove,
    /// What a disconnected client waits for does not end when the reattach time has passed.
    AbandonForgotten,
    /// The session's home cancels claims whose calls are at other servers.
    CancelledAtHome,
    /// A plain call takes effect although it is decided after the commit of its cancel, which a server received it
    /// before.
    CancelOvertaken,
    /// A caller that lost a lock by the end of its session releases the next holder's hold.
    ReleaseOfAnyHold,
    /// A hold is valid for twice as long as it may be, by a slow clock of the client.
    ValidTooLong,
    /// A session ends earlier than the client knows: it is valid for half of what its state says.
    ValidityOverstated,
    /// The client does not apply the disconnect grace.
    GraceForgotten,
    /// A disconnect grace is half of what the client knows.
    GraceCutShort,
    /// A granted waiter gets the number of its claim as its token.
    TokenIsClaimId,
    /// A renewal is accepted regardless of the session's time and home.
    RenewalUnchecked,
    /// The reply to a release is sent before the release is decided.
    ReleasedEarly,
    /// What a client withdraws is reported as ended before the withdrawal is decided.
    WithdrawnEarly,
    /// A claim is reported as held with the token of another one.
    TokenOfAnother,
    /// A keep-alive is acknowledged regardless of the client's home and epoch, and of the time of its sessions.
    KeepAliveUnchecked,
    /// A session that was paused and resumed on an earlier stream counts as paused: keep-alives do not renew it.
    ResumeForgotten,
    /// A claim is made twice, as if its number had not been used.
    NumberUsedTwice,
    /// A declaration of an earlier stream is accepted on a later one, after what it made has ended.
    LateChange,
    /// A Hello of an earlier stream is accepted instead of a later one.
    LateHello,
    /// A Hello makes a known claim again that has been withdrawn.
    HelloRevives,
    /// A Hello does not keep known claims that wait.
    HelloDropsWaiter,
    /// A Hello keeps what it does not state.
    HelloKeepsUnstated,
    /// A resumed watch begins one event too late.
    WatchResumesTooFar,
    /// A resumed watch lacks its first message.
    WatchSkips,
}

impl Defect {
    /// Every defect.
    pub const ALL: [Self; 44] = [
        Self::UnknownIsCommitted,
        Self::ConflictIsCommitted,
        Self::UnknownIsRejected,
        Self::RejectedIsCommitted,
        Self::PublishedEarly,
        Self::PollSkips,
        Self::LossKept,
        Self::OldTokenAfterLoss,
        Self::MarkedDeadEarly,
        Self::LeaseIgnored,
        Self::GrantBesideHolder,
        Self::SharedBesideHolder,
        Self::PermitsAboveLimit,
        Self::LastWaiterFirst,
        Self::WaiterOutlivesSession,
        Self::HolderOutlivesSession,
        Self::WaitEndsAtHome,
        Self::RenewalForgotten,
        Self::NoFreshTtl,
        Self::NoFreshTtlAfterLoss,
        Self::ExpiryAfterMove,
        Self::AbandonForgotten,
        Self::CancelledAtHome,
        Self::CancelOvertaken,
        Self::ReleaseOfAnyHold,
        Self::ValidTooLong,
        Self::ValidityOverstated,
        Self::GraceForgotten,
        Self::GraceCutShort,
        Self::TokenIsClaimId,
        Self::RenewalUnchecked,
        Self::ReleasedEarly,
        Self::WithdrawnEarly,
        Self::TokenOfAnother,
        Self::KeepAliveUnchecked,
        Self::ResumeForgotten,
        Self::NumberUsedTwice,
        Self::LateChange,
        Self::LateHello,
        Self::HelloRevives,
        Self::HelloDropsWaiter,
        Self::HelloKeepsUnstated,
        Self::WatchResumesTooFar,
        Self::WatchSkips,
    ];
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}

/// Parses the name of a defect.
///
/// # Errors
/// If the name is unknown: the list of known names.
pub fn parse(name: &str) -> Result<Defect, String> {
    let names = || Defect::ALL.map(|defect| defect.to_string()).join(", ");
    Defect::ALL.into_iter().find(|defect| defect.to_string() == name).ok_or_else(|| format!("none of {}", names()))
}

/// Locks a mutex, also after a panic of an earlier holder.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
