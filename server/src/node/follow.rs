//! Following what other servers append.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Revision, Text};

use crate::node::Node;

/// How often the log is looked at when no other server is known to live.
const ALONE: Duration = Duration::from_secs(1);

/// Looks for what other servers append: when the database tells, and from time to time.
pub async fn run(node: Arc<Node>) {
    if node.store().exclusive() {
        return;
    }
    loop {
        let pause = if node.membership().live() { node.options().poll_interval } else { ALONE };
        tokio::select! {
            () = node.store().hint() => {}
            () = tokio::time::sleep(pause) => {}
        }
        let before: HashMap<Text, Revision> =
            node.namespaces().all().iter().map(|open| (open.name().clone(), *open.hub().head().borrow())).collect();
        let heads = match node.store().heads().await {
            Ok(heads) => heads,
            Err(error) => {
                tracing::debug!(%error, "cannot look at the log");
                continue;
            }
        };
        for (name, revision) in heads {
            match node.namespaces().get(&name).await {
                // What came here meanwhile is no news, and no loss.
                Ok(namespace) if is_known(before.get(&name), revision, *namespace.hub().head().borrow()) => {}
                Ok(namespace) => namespace.catch_up(revision),
                Err(error) => tracing::debug!(%error, namespace = %name, "cannot open"),
            }
        }
    }
}

/// Whether a namespace was shown at this revision here while its head was being asked for.
fn is_known(before: Option<&Revision>, head: Revision, after: Revision) -> bool {
    head == after || head <= after && before.is_some_and(|before| head >= *before)
}
