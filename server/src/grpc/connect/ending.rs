//! The reasons for which this server ends a stream.

use std::sync::Arc;

use futures::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use crate::auth::{Caller, Unidentified};

/// The reason for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// This server restarts its node, or stops.
    Node,
    /// This server is about to stop.
    Draining,
    /// The client's identity is not valid any more.
    Unidentified(Unidentified),
}

/// The first reason. (A set of one future: polling it costs next to nothing until it is woken. The cancellation tokens
/// themselves would be polled with every message, under a lock that all streams share.)
pub(super) fn first_ending(
    node: CancellationToken,
    draining: CancellationToken,
    caller: Arc<Caller>,
) -> FuturesUnordered<impl Future<Output = Ending> + Send> {
    let is_identified = caller.is_identified();
    let first = async move {
        tokio::select! {
            biased;
            () = node.cancelled() => Ending::Node,
            () = draining.cancelled() => Ending::Draining,
            why = caller.as_ref().clone().revoked(), if is_identified => Ending::Unidentified(why),
        }
    };
    FuturesUnordered::from_iter([first])
}
