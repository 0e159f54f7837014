//! What can happen.

use super::table::{Client, Command, Id, Server};

/// A call, by its place among those that are under way.
pub type Place = usize;

/// One step of a client, a server, or the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A client sends an Acquire, which waits if need be or not, and a server receives it.
    Acquire(Client, Server, bool),
    /// A client releases its hold, at any server.
    Release(Client, Server),
    /// A client cancels its Acquires, at any server, and receives the reply.
    Cancel(Client, Server),
    /// A client renews its session, at a server that is not its home.
    Renew(Client, Server),
    /// A client leaves a call, which its server notices.
    Leave(Place),
    /// A client receives the answer to a call.
    Deliver(Place),
    /// The answer to a call is lost.
    Lose(Place),

    /// A server follows the log by one batch.
    Follow(Server),
    /// A server decides an Acquire.
    Decide(Place),
    /// A server passes an Acquire, or the end of a wait, to another one, which decides it for the first one.
    Pass(Place, Server),
    /// The time of a wait is up.
    TimeOut(Place),
    /// A server ends a wait whose time is up.
    EndWait(Place),
    /// A call has a grant, and returns it unless it has to be acknowledged first.
    Return(Place),
    /// A server acknowledges a grant that was made for a call at another server.
    Acknowledge(Place),
    /// A call notices that its claim is awaited at another server, and asks again.
    AskAgain(Place),
    /// A server decides a command whose call has gone, or need not know the outcome.
    Command(Server, Command),
    /// A server cancels a claim that no call has attended to for the reattach time.
    Abandon(Server, Id),
    /// A server adopts what a dead one looked after.
    Adopt(Server, Server),

    /// A session expires.
    Expire(Client),
    /// A server crashes.
    Crash(Server),
    /// A server loads its table anew, as it was after so many batches of those that are kept.
    Reload(Server, u8),
}
