//! Defines deliberate flaws of the protocol, which the checker must find.

use std::fmt::Debug;

/// A deliberate flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// Callers get a reply before the append is known to be committed.
    PublishedEarly,
    /// An append with an unknown outcome counts as not made.
    UnknownIsRejected,
    /// An append with an unknown outcome counts as made.
    UnknownIsCommitted,
    /// An append with an unknown outcome is never resolved.
    UnknownIsForgotten,
    /// An append that conflicted with an earlier one counts as made.
    ConflictIsCommitted,
    /// The store appends regardless of its current revision.
    AppendWithoutCondition,
    /// A server other than its home may report that a session's TTL has elapsed.
    EndWhereverItsHome,
    /// Adopted sessions have no TTL left.
    NoFreshTtl,
    /// Sessions are never adopted.
    NoAdoption,
    /// A server acknowledges renewals after its lease has lapsed.
    LeaseIgnored,
    /// A server is marked dead while it may still acknowledge renewals.
    MarkedDeadEarly,
    /// A server is marked dead though it has sent a heartbeat since.
    DeadWithoutCondition,
    /// A server that was marked dead keeps sending heartbeats.
    DeadHeartbeatsOn,
    /// Sessions age while their home cannot take renewals.
    AgesWithoutLease,
    /// A session is renewed though its TTL has elapsed at its home.
    RenewalRevives,
    /// A session whose TTL has elapsed at its home lives on when the home regains its lease.
    FreshTtlRevives,
    /// A renewal call is answered without reading the log's head.
    CallWithoutBarrier,
    /// A client counts validity from the receipt of a reply.
    ValidFromReceipt,
    /// A client regards a lapsed session as valid again when a late reply arrives.
    LateAnswerRevives,
    /// A client does not allow for clocks that run faster.
    DriftIgnored,
    /// Tokens come from a sequence in the database.
    TokenFromSequence,
    /// The revision does not jump after a failover.
    NoJump,
    /// The revision jumps by one after a failover.
    ShortJump,
    /// A released lock is not granted to the next waiter.
    WaiterForgotten,
}

impl Flaw {
    /// All flaws.
    pub const ALL: [Self; 24] = [
        Self::PublishedEarly,
        Self::UnknownIsRejected,
        Self::UnknownIsCommitted,
        Self::UnknownIsForgotten,
        Self::ConflictIsCommitted,
        Self::AppendWithoutCondition,
        Self::EndWhereverItsHome,
        Self::NoFreshTtl,
        Self::NoAdoption,
        Self::LeaseIgnored,
        Self::MarkedDeadEarly,
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

/// Parses the name of a flaw.
///
/// # Errors
/// If the name is unknown: the list of existing names.
pub fn parse(name: &str) -> Result<Flaw, String> {
    named(&Flaw::ALL, name)
}

/// Finds a flaw by name.
pub(crate) fn named<F: Copy + Debug>(all: &[F], name: &str) -> Result<F, String> {
    let names = || all.iter().map(|flaw| format!("{flaw:?}")).collect::<Vec<_>>().join(", ");
    all.iter().find(|flaw| format!("{flaw:?}") == name).copied().ok_or_else(|| format!("none of {}", names()))
}
