//! Deliberate defects. The simulation enables one and must find it, which shows what it would detect. Programs built
//! without the feature `defects` have none.

/// A deliberate defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A held lock is granted once more.
    GrantBesideHolder,
    /// An exclusively held lock is shared with others.
    SharedBesideHolder,
    /// One permit more than the limit is granted.
    OnePermitTooMany,
    /// A granted waiter gets its place in the queue as its token.
    TokenFromPlace,
    /// The last waiter is granted first.
    LastComesFirst,
    /// A waiter whose session ends goes on waiting.
    WaiterOutlivesSession,
    /// A holder whose session ends goes on holding.
    HolderOutlivesSession,
    /// A renewal does not extend the session.
    RenewalForgotten,
    /// A renewal is accepted regardless of the session's time and home.
    RenewalUnchecked,
    /// A session that moves to this server has no time left.
    NoFreshTtl,
    /// A server accepts renewals after its lease.
    LeaseIgnored,
    /// Watchers are notified of a batch before it is committed.
    PublishedEarly,
    /// A batch with an unknown commit result counts as committed.
    UnknownIsCommitted,
    /// A batch that was too late, and so conflicts, counts as committed.
    ConflictIsCommitted,
    /// A batch with an unknown commit result counts as not committed.
    UnknownIsRefused,
    /// A batch that was not committed counts as committed.
    RefusedIsCommitted,
    /// Only the newest of several batches of the log is applied.
    PollSkips,
    /// A resumed watch begins one event too late.
    WatchSkips,
    /// A server is considered dead while it may still accept renewals.
    ImpatientWithOthers,
    /// A disconnect grace is cut short.
    GraceCutShort,
    /// After the database lost history, sessions end as if no other server had renewed them.
    NoFreshTtlAfterLoss,
    /// Due commands are carried out regardless of later commits.
    DueForEver,
    /// A server loads its table only once while the database fails over repeatedly.
    LoadsOnce,
    /// A hold from before the database lost history is confirmed with its old token.
    OldTokenAfterLoss,
    /// A caller that lost a lock by the end of its session releases the next holder's hold.
    ReleaseOfAnyHold,
    /// The session's home cancels claims whose calls are at other servers.
    CancelledAtHome,
    /// A wait by a plain call ends only at the session's home.
    WaitEndsAtHome,
    /// A plain call takes effect although it is decided after the commit of its cancel, which a server received it
    /// before.
    CancelOvertaken,
}

impl Defect {
    /// Every defect.
    pub const ALL: [Self; 28] = [
        Self::GrantBesideHolder,
        Self::SharedBesideHolder,
        Self::OnePermitTooMany,
        Self::TokenFromPlace,
        Self::LastComesFirst,
        Self::WaiterOutlivesSession,
        Self::HolderOutlivesSession,
        Self::RenewalForgotten,
        Self::RenewalUnchecked,
        Self::NoFreshTtl,
        Self::LeaseIgnored,
        Self::PublishedEarly,
        Self::UnknownIsCommitted,
        Self::ConflictIsCommitted,
        Self::UnknownIsRefused,
        Self::RefusedIsCommitted,
        Self::PollSkips,
        Self::WatchSkips,
        Self::ImpatientWithOthers,
        Self::GraceCutShort,
        Self::NoFreshTtlAfterLoss,
        Self::DueForEver,
        Self::LoadsOnce,
        Self::OldTokenAfterLoss,
        Self::ReleaseOfAnyHold,
        Self::CancelledAtHome,
        Self::WaitEndsAtHome,
        Self::CancelOvertaken,
    ];

    /// Whether this defect is enabled.
    #[cfg(not(feature = "defects"))]
    #[inline]
    #[must_use]
    pub const fn is_here(self) -> bool {
        false
    }

    /// Whether this defect is enabled.
    #[cfg(feature = "defects")]
    #[must_use]
    pub fn is_here(self) -> bool {
        HERE.load(std::sync::atomic::Ordering::Relaxed) == self as usize + 1
    }

    /// Enables this defect.
    #[cfg(feature = "defects")]
    pub fn bring(self) {
        HERE.store(self as usize + 1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// The number of the enabled defect, from 1; 0 if none is enabled.
#[cfg(feature = "defects")]
static HERE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
