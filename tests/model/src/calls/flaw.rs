//! Deliberate flaws of the protocol of plain calls, which the checker must find.

/// A way in which the protocol would be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// The home of a session cancels grants that were not returned, wherever their call is.
    CancelledAtHome,
    /// A wait ends only at the home of its session. Elsewhere the call returns without a grant, and the claim stays.
    WaitEndsAtHome,
    /// An Acquire that was received before a cancel is decided after it all the same.
    CancelForgotten,
    /// A cancel that directly follows another one is not recorded, though an Acquire may have been received in between.
    RepeatedCancelSkipped,
    /// A call that another server has decided takes a grant for new, though an earlier call may have returned it
    /// meanwhile.
    PassedGrantIsNew,
    /// A grant that was made for a call at another server is returned without an acknowledgement.
    NoAcknowledge,
    /// An earlier call, whose claim is awaited elsewhere, sends its Acquire again, which takes the claim back or makes
    /// a new one.
    AsksAgain,
    /// A call that returns while its claim waits on for another one does not count as gone, though the other one may
    /// have gone first.
    WaitLeftBehind,
    /// The waits of a dead server are not adopted.
    WaitsNotAdopted,
    /// A server that loads its table anew judges the waits before it has followed the log to its head.
    JudgedBehind,
    /// Such a server answers calls whose claims that table does not have yet as if they had ended.
    EndedBehind,
    /// Such a server forgets which claims, that the table does not have yet, no call attends to.
    ForgottenBehind,
    /// Such a server takes a move of a wait that it sees again, on its way to the head, for a new one.
    MovesSeenAgain,
    /// A server that loads its table anew goes on to cancel a grant that was acknowledged meanwhile.
    AcknowledgedCancelled,
    /// A server that loads its table anew does not look what was granted meanwhile.
    GrantMissed,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::CancelledAtHome,
        Self::WaitEndsAtHome,
        Self::CancelForgotten,
        Self::RepeatedCancelSkipped,
        Self::PassedGrantIsNew,
        Self::NoAcknowledge,
        Self::AsksAgain,
        Self::WaitLeftBehind,
        Self::WaitsNotAdopted,
        Self::JudgedBehind,
        Self::EndedBehind,
        Self::ForgottenBehind,
        Self::MovesSeenAgain,
        Self::AcknowledgedCancelled,
        Self::GrantMissed,
    ];
}

/// The flaw of this name.
///
/// # Errors
/// The names that exist, if this is none.
pub fn parse(name: &str) -> Result<Flaw, String> {
    crate::flaw::named(&Flaw::ALL, name)
}
