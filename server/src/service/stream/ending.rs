//! Why a stream ends by this server's doing.

use futures::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

/// Why it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// This server starts over or stops.
    Node,
    /// This server is about to stop.
    Draining,
    /// A namespace has closed it: the client did not read, or the state was loaded anew.
    Closed,
}

/// The first that comes true. (A set of one: to look at it costs next to nothing until there is something to see. Cancellation
/// itself would be looked at under a lock that all streams share, with every message.)
pub(super) fn first_ending(
    node: CancellationToken,
    draining: CancellationToken,
    closed: CancellationToken,
) -> FuturesUnordered<impl Future<Output = Ending> + Send> {
    let first = async move {
        tokio::select! {
            biased;
            () = node.cancelled() => Ending::Node,
            () = draining.cancelled() => Ending::Draining,
            () = closed.cancelled() => Ending::Closed,
        }
    };
    FuturesUnordered::from_iter([first])
}
