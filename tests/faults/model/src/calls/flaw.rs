//! Defines deliberate flaws of the protocol of plain calls, which the checker must find.

/// A deliberate flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// The home of a session cancels grants that were not returned, wherever their call is.
    CancelledAtHome,
    /// A wait ends only at the home of its session. Elsewhere the call returns without a grant, and the claim stays.
    WaitEndsAtHome,
    /// An Acquire that was received before a cancel is still decided after it.
    CancelForgotten,
    /// A cancel that directly follows another is not recorded, though an Acquire may have been received in between.
    RepeatedCancelSkipped,
    /// A call that another server has decided treats its grant as new, though an earlier call may have returned it in
    /// the meantime.
    ForwardedGrantIsNew,
    /// A grant that was made for a call at another server is returned without an acknowledgement.
    NoAcknowledge,
    /// An earlier call, whose claim is awaited elsewhere, sends its Acquire again, which moves the claim back or makes
    /// a new one.
    AcquireResent,
    /// A call that returns while another call waits for its claim does not count as ended, though the other call may
    /// have ended first.
    WaitLeftBehind,
    /// The waits of a dead server are not adopted.
    WaitsNotAdopted,
    /// A server that reloads its table judges the waits before it has followed the log to its head.
    JudgedBehind,
    /// A server that reloads its table replies to calls whose claims are not in that table yet as if these had ended.
    EndedBehind,
    /// A server that reloads its table forgets which claims are abandoned if these are not in that table yet.
    ForgottenBehind,
    /// A server that reloads its table takes a move of a wait that it replays on its way to the head for a new one.
    MovesSeenAgain,
    /// A server that reloads its table still cancels a grant that was acknowledged in the meantime.
    AcknowledgedCancelled,
    /// A server that reloads its table does not check for grants made in the meantime.
    GrantMissed,
}

impl Flaw {
    /// All flaws.
    pub const ALL: [Self; 15] = [
        Self::CancelledAtHome,
        Self::WaitEndsAtHome,
        Self::CancelForgotten,
        Self::RepeatedCancelSkipped,
        Self::ForwardedGrantIsNew,
        Self::NoAcknowledge,
        Self::AcquireResent,
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

/// Parses the name of a flaw.
///
/// # Errors
/// If the name is unknown: the list of existing names.
pub fn parse(name: &str) -> Result<Flaw, String> {
    crate::flaw::named(&Flaw::ALL, name)
}
