//! Flaws that the model can be given: what the checker must notice.

use std::fmt::Debug;

/// A way in which the protocol would be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// Callers are answered before the append is known to be committed.
    PublishedEarly,
    /// An append with an unknown outcome counts as not made.
    UnknownIsRefused,
    /// An append with an unknown outcome counts as made.
    UnknownIsCommitted,
    /// Nobody finds out what became of an append with an unknown outcome.
    UnknownIsForgotten,
    /// An append that came too late counts as made.
    ConflictIsCommitted,
    /// The store appends at whatever revision it is.
    AppendWithoutCondition,
    /// Whoever says that a session's time is up need not be its home.
    EndWhereverItsHome,
    /// Sessions that are adopted have no time left.
    NoFreshTtl,
    /// Nobody adopts.
    NoAdoption,
    /// A server answers renewals after its lease.
    LeaseIgnored,
    /// A server is taken for dead while it may still answer renewals.
    ImpatientWithOthers,
    /// A server is marked dead though it has sent a heartbeat since.
    DeadWithoutCondition,
    /// A server that was marked dead goes on sending heartbeats.
    DeadHeartbeatsOn,
    /// Sessions age while their home cannot take renewals.
    AgesWithoutLease,
    /// A session whose time is up at its home is renewed all the same.
    RenewalRevives,
    /// A session whose time is up at its home lives on when the home has its lease back.
    FreshTtlRevives,
    /// A renewal by a call is answered without a look at the log's head.
    CallWithoutBarrier,
    /// A client counts from the receipt of an answer.
    ValidFromReceipt,
    /// A client counts a session as valid again when an answer comes late.
    LateAnswerRevives,
    /// A client makes no allowance for clocks that run faster.
    DriftIgnored,
    /// Tokens come from a sequence in the database.
    TokenFromSequence,
    /// After a failover the revision does not jump.
    NoJump,
    /// After a failover the revision jumps by one.
    ShortJump,
    /// A lock that is given up is granted to nobody.
    WaiterForgotten,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 24] = [
        Self::PublishedEarly,
        Self::UnknownIsRefused,
        Self::UnknownIsCommitted,
        Self::UnknownIsForgotten,
        Self::ConflictIsCommitted,
        Self::AppendWithoutCondition,
        Self::EndWhereverItsHome,
        Self::NoFreshTtl,
        Self::NoAdoption,
        Self::LeaseIgnored,
        Self::ImpatientWithOthers,
        Self::DeadWithoutCondition,
        Self::DeadHeartbeatsOn,
        Self::AgesWithoutLease,
        Self::RenewalRevives,
        Self::FreshTtlRevives,
        Self::CallWithoutBarrier,
        Self::ValidFromReceipt,
        Self::LateAnswerRevives,
        Self::DriftIgnored,
        Self::TokenFromSequence,
        Self::NoJump,
        Self::ShortJump,
        Self::WaiterForgotten,
    ];
}

/// The flaw of this name.
///
/// # Errors
/// The names that exist, if this is none.
pub fn parse(name: &str) -> Result<Flaw, String> {
    named(&Flaw::ALL, name)
}

/// The one of these whose name this is.
pub(crate) fn named<F: Copy + Debug>(all: &[F], name: &str) -> Result<F, String> {
    let names = || all.iter().map(|flaw| format!("{flaw:?}")).collect::<Vec<_>>().join(", ");
    all.iter().find(|flaw| format!("{flaw:?}") == name).copied().ok_or_else(|| format!("none of {}", names()))
}
