//! Follows the events that other servers append.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Revision, Text};

use crate::node::Node;

/// The polling interval while no other server is known to be live.
const ALONE: Duration = Duration::from_secs(1);

/// Checks for events of other servers, on notifications of the database and periodically.
pub async fn run(node: Arc<Node>) {
    if node.store.exclusive() {
        return;
    }
    loop {
        let pause = if node.membership.live() { node.options.poll_interval } else { ALONE };
        tokio::select! {
            () = node.store.hint() => {}
            () = tokio::time::sleep(pause) => {}
        }
        let before: HashMap<Text, Revision> =
            node.namespaces.all().iter().map(|open| (open.name().clone(), *open.hub().head().borrow())).collect();
        let heads = match node.store.heads().await {
            Ok(heads) => heads,
            Err(error) => {
                tracing::debug!(%error, "cannot read the log's heads");
                continue;
            }
        };
        for (name, revision) in heads {
            match node.namespaces.get(&name).await {
                // A revision that arrived meanwhile is not new, and no notification was missed.
                Ok(namespace) if is_known(before.get(&name), revision, *namespace.hub().head().borrow()) => {}
                Ok(namespace) => namespace.catch_up(revision),
                Err(error) => tracing::debug!(%error, namespace = %name, "cannot open a namespace"),
            }
        }
    }
}

/// Whether a namespace reached this revision here while its head was being read.
fn is_known(before: Option<&Revision>, head: Revision, after: Revision) -> bool {
    head == after || head <= after && before.is_some_and(|before| head >= *before)
}
