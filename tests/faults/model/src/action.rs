//! Defines the actions of the model.

use crate::table::{Client, Node};

/// A server, by index, across restarts.
pub type Server = u8;

/// One step of a client, a server, or the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Time passes for all.
    Tick,
    /// A server's clock gains a tick.
    RunAhead(Server),

    /// A client requests the lock.
    Acquire(Client, Server),
    /// A client connects to a server, which its session moves to.
    Move(Client, Server),
    /// A client renews its session; request and reply are immediate.
    Renew(Client, Server),
    /// A client renews its session; request and reply may take long.
    RenewSlowly(Client, Server),
    /// A client releases the lock.
    Release(Client),
    /// A client receives a reply.
    ReceiveReply(Client),
    /// A client receives its grant.
    ReceiveGrant(Client),
    /// A client notices that the server of its stream or of its request is down.
    Notice(Client),

    /// A server handles a client's request.
    Handle(Client),
    /// A server reads the log's head and then replies to a renewal call.
    Confirm(Client),
    /// A server follows the log. If history was lost, it jumps.
    Follow(Server),
    /// A server sends a grant on the client's stream.
    SendGrant(Server, Client),
    /// The home ends a session whose TTL has elapsed.
    End(Server, Client),
    /// A server sends a heartbeat, which is committed and answered at once.
    Heartbeat(Server),
    /// A server sends a heartbeat, which may take long.
    HeartbeatSlowly(Server),
    /// A slow heartbeat is committed and answered.
    HeartbeatArrives(Server),
    /// A server marks another server dead.
    MarkDead(Server, Node),
    /// A server adopts the sessions of a dead server.
    Adopt(Server, Node),
    /// A server retries an append whose outcome is unknown.
    Retry(Server),

    /// The database executes an append and responds.
    Append(Node),
    /// The database executes an append, but the response is lost.
    AppendUnanswered(Node),
    /// An append is lost on its way to the database; its outcome is unknown.
    AppendLost(Node),
    /// The server stops waiting for the response while the append is still in progress.
    AppendSlow(Node),
    /// The database rejects an append.
    Reject(Node),
    /// A heartbeat is committed, but the response is lost.
    HeartbeatUnanswered(Server),
    /// A heartbeat is lost on its way to the database.
    HeartbeatLost(Server),
    /// The database fails over to a copy that lacks this many of the last batches.
    FailOver(u8),
    /// A client crashes.
    CrashClient(Client),
    /// A server crashes.
    CrashServer(Server),
    /// A server restarts.
    Restart(Server),
}
