//! Why a stream ends by this server's doing.

use std::sync::Arc;

use futures::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use crate::auth::{Caller, Unidentified};

/// Why it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::grpc) enum Ending {
    /// This server starts over or stops.
    Node,
    /// This server is about to stop.
    Draining,
    /// It is not known any more who the client is.
    Unidentified(Unidentified),
    /// A namespace has closed it: the client did not read, or the state was loaded anew.
    Closed,
}

/// The first that comes true. (A set of one: to look at it costs next to nothing until there is something to see. Cancellation
/// itself would be looked at under a lock that all streams share, with every message.)
pub(in crate::grpc) fn first_ending(
    node: CancellationToken,
    draining: CancellationToken,
    closed: CancellationToken,
    caller: Arc<Caller>,
) -> FuturesUnordered<impl Future<Output = Ending> + Send> {
    let is_identified = caller.is_identified();
    let first = async move {
        tokio::select! {
            biased;
            () = node.cancelled() => Ending::Node,
            () = draining.cancelled() => Ending::Draining,
            () = closed.cancelled() => Ending::Closed,
            why = caller.as_ref().clone().revoked(), if is_identified => Ending::Unidentified(why),
        }
    };
    FuturesUnordered::from_iter([first])
}
