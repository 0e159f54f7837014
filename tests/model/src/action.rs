//! What can happen.

use crate::table::{Client, Node};

/// A server, by its place, whatever its life.
pub type Server = u8;

/// One step of a client, a server, or the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Time passes, for all.
    Tick,
    /// A server's clock runs ahead.
    RunAhead(Server),

    /// A client asks for the lock.
    Acquire(Client, Server),
    /// A client attaches to a stream.
    Attach(Client, Server),
    /// A client renews its session, at once.
    Renew(Client, Server),
    /// A client renews its session, and the request and the answer may take long.
    RenewSlowly(Client, Server),
    /// A client gives the lock back.
    Release(Client),
    /// A client hears an answer.
    Hear(Client),
    /// A client hears of its grant.
    HearGrant(Client),
    /// A client notices that the server is gone that it is attached to, or has asked.
    Notice(Client),

    /// A server takes a client's request.
    Handle(Client),
    /// A server has looked at the head before it answers a call to renew.
    Confirm(Client),
    /// A server follows the log; if history was lost, it jumps.
    Follow(Server),
    /// A server tells a client on its stream of its grant.
    Tell(Server, Client),
    /// A session's time is up at its home.
    End(Server, Client),
    /// A server sends a heartbeat, which is committed and answered at once.
    Heartbeat(Server),
    /// A server sends a heartbeat, which may take long.
    HeartbeatSlowly(Server),
    /// A slow heartbeat is committed and answered.
    HeartbeatArrives(Server),
    /// A server marks another one dead.
    MarkDead(Server, Node),
    /// A server adopts the sessions of a dead one.
    Adopt(Server, Node),
    /// A server tries again an append whose outcome is unknown.
    Retry(Server),

    /// The database carries out an append, and answers.
    Append(Node),
    /// The database carries out an append, and the answer is lost.
    AppendUntold(Node),
    /// An append is lost on its way to the database, and nobody knows.
    AppendLost(Node),
    /// The server waits for the answer no longer, and the append is still under way.
    AppendSlow(Node),
    /// The database refuses an append.
    Refuse(Node),
    /// A heartbeat is committed, and the answer is lost.
    HeartbeatUntold(Server),
    /// A heartbeat is lost on its way to the database.
    HeartbeatLost(Server),
    /// Another database takes over, without so many of the last batches.
    FailOver(u8),
    /// A client dies.
    CrashClient(Client),
    /// A server dies.
    CrashServer(Server),
    /// A server starts again.
    Restart(Server),
}
