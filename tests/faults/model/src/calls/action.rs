//! Defines the actions of the model of plain calls.

use super::table::{Client, Command, Id, Server};

/// A call, by index among the calls in progress.
pub type CallIndex = usize;

/// One step of a client, a server, or the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A client sends an Acquire, which waits if the flag is set, and a server receives it.
    Acquire(Client, Server, bool),
    /// A client releases its hold at any server.
    Release(Client, Server),
    /// A client cancels its Acquires at any server, and receives the reply.
    Cancel(Client, Server),
    /// A client renews its session at a server that is not its home.
    Renew(Client, Server),
    /// A client abandons a call, and the call's server notices.
    Leave(CallIndex),
    /// A client receives the reply to a call.
    Deliver(CallIndex),
    /// The reply to a call is lost.
    Lose(CallIndex),

    /// A server follows the log by one batch.
    Follow(Server),
    /// A server decides an Acquire.
    Decide(CallIndex),
    /// A server forwards an Acquire, or the end of a wait, to another server, which decides it on behalf of the first.
    Forward(CallIndex, Server),
    /// A wait times out.
    TimeOut(CallIndex),
    /// A server ends a wait that has timed out.
    EndWait(CallIndex),
    /// A call has a grant, and returns it unless the grant must be acknowledged first.
    Return(CallIndex),
    /// A server acknowledges a grant that was made for a call at another server.
    Acknowledge(CallIndex),
    /// A call notices that its claim is awaited at another server, and sends its Acquire again.
    Resend(CallIndex),
    /// A server decides a command whose call has ended or does not need the outcome.
    Command(Server, Command),
    /// A server cancels a claim that has had no call for the reattach time.
    Abandon(Server, Id),
    /// A server adopts the sessions and waits of a dead server.
    Adopt(Server, Server),

    /// A session expires.
    Expire(Client),
    /// A server crashes.
    Crash(Server),
    /// A server reloads its table as it was after this many of the retained batches.
    Reload(Server, u8),
}
