//! Following what other servers append, and dropping history that is old enough.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_core::{Revision, Text};

use crate::node::Node;
use crate::store::StoreError;

/// How often the log is looked at when no other server is known to live.
const ALONE: Duration = Duration::from_secs(1);

/// How often history is trimmed.
const TRIM: Duration = Duration::from_secs(60);

/// Looks for what other servers append: when the database tells, and from time to time.
pub async fn follow(node: Arc<Node>) {
    if node.store().exclusive() {
        return;
    }
    loop {
        let pause = if node.others().live() { node.options().poll_interval } else { ALONE };
        tokio::select! {
            () = node.store().hint() => {}
            () = tokio::time::sleep(pause) => {}
        }
        let before: HashMap<Text, Revision> =
            node.open_namespaces().iter().map(|open| (open.name().clone(), *open.hub().head().borrow())).collect();
        let heads = match node.store().heads().await {
            Ok(heads) => heads,
            Err(error) => {
                tracing::debug!(%error, "cannot look at the log");
                continue;
            }
        };
        for (name, revision) in heads {
            match node.namespace(&name).await {
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

/// Drops history that is older than it is to be kept.
pub async fn trim(node: Arc<Node>) {
    loop {
        tokio::time::sleep(TRIM).await;
        node.close_idle();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let before = now.saturating_sub(node.options().history_retention);
        let before_ms = i64::try_from(before.as_millis()).unwrap_or(i64::MAX);
        for namespace in node.open_namespaces() {
            if let Err(error) = trim_until(&node, namespace.name(), before_ms).await {
                tracing::warn!(%error, namespace = %namespace.name(), "cannot trim history");
            }
        }
    }
}

/// Drops all that is old enough: the store drops only so much at a time.
async fn trim_until(node: &Node, namespace: &str, before_ms: i64) -> Result<(), StoreError> {
    let mut gone = node.store().trim(namespace, before_ms).await?;
    loop {
        let more = node.store().trim(namespace, before_ms).await?;
        if more <= gone {
            return Ok(());
        }
        gone = more;
    }
}
