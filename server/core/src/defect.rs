//! Deliberate defects. The simulation switches one on and must find it: so it is known what it would notice. Programs that are
//! built without the feature `defects` have none.

/// A way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A lock that is held is granted once more.
    GrantBesideHolder,
    /// A lock that one holds for itself is shared with others.
    SharedBesideHolder,
    /// One permit more than there are is given out.
    OnePermitTooMany,
    /// A waiter that is granted has its place in the queue as its token.
    TokenFromPlace,
    /// Whoever came last is granted first.
    LastComesFirst,
    /// A waiter of a session that ends goes on waiting.
    WaiterOutlivesSession,
    /// A holder of a session that ends goes on holding.
    HolderOutlivesSession,
    /// A renewal does not put off the end of a session.
    RenewalForgotten,
    /// A renewal is answered whatever the session's time and home.
    RenewalUnchecked,
    /// A session that moves here has no time left.
    NoFreshTtl,
    /// A server answers renewals after its lease.
    LeaseIgnored,
    /// Watchers are told of a batch before it is committed.
    PublishedEarly,
    /// A batch of which it is not known whether it was committed counts as committed.
    UnknownIsCommitted,
    /// A batch that came too late counts as committed.
    ConflictIsCommitted,
    /// A batch of which it is not known whether it was committed counts as not committed.
    UnknownIsRefused,
    /// A batch that was not committed counts as committed.
    RefusedIsCommitted,
    /// Only the newest of several batches of the log is taken over.
    PollSkips,
    /// A watch that is resumed begins one event too late.
    WatchSkips,
    /// A server is taken for dead while it may still answer renewals.
    ImpatientWithOthers,
    /// A disconnect grace is cut short.
    GraceCutShort,
    /// After the database lost history, sessions end as if nobody else had renewed them.
    NoFreshTtlAfterLoss,
    /// What was due is done, whatever was committed meanwhile.
    DueForEver,
    /// A server loads its table once only while the database fails over again and again.
    LoadsOnce,
    /// A hold from before the database lost history is confirmed with its old token.
    OldTokenAfterLoss,
    /// Who lost a lock by the end of its session releases the next one's hold.
    ReleaseOfAnyHold,
    /// The session's home cancels claims whose calls are at other servers.
    CancelledAtHome,
    /// A wait by a plain call ends only at the session's home.
    WaitEndsAtHome,
    /// A plain call that a server received before its cancel was committed, and that is decided after it, takes effect.
    CancelOvertaken,
}

impl Defect {
    /// All of them.
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

    /// Whether this program has it.
    #[cfg(not(feature = "defects"))]
    #[inline]
    #[must_use]
    pub const fn is_here(self) -> bool {
        false
    }

    /// Whether this program has it.
    #[cfg(feature = "defects")]
    #[must_use]
    pub fn is_here(self) -> bool {
        HERE.load(std::sync::atomic::Ordering::Relaxed) == self as usize + 1
    }

    /// From now on this program has it.
    #[cfg(feature = "defects")]
    pub fn bring(self) {
        HERE.store(self as usize + 1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// The number of the one that is here, from 1.
#[cfg(feature = "defects")]
static HERE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
