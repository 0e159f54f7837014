//! Follows a group on behalf of a member.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time;

use super::standing::Standing;
use crate::backoff::Backoff;
use crate::connection::Connection;
use crate::error::LostReason;
use crate::latest::Latest;
use crate::model::WatchEvent;
use crate::options::WatchOptions;
use crate::presence::SessionPresence;
use crate::watch::Watch;

/// Keeps a member's standing up to date, until the membership is lost or all receivers are dropped.
pub(super) async fn follow(
    connection: Connection,
    presence: Arc<SessionPresence>,
    mut latest: watch::Receiver<Latest>,
    standing: watch::Sender<Standing>,
) {
    let lost = tokio::select! {
        biased;
        () = standing.closed() => return,
        ended = latest.wait_for(|latest| matches!(latest, Latest::Ended(_))) => {
            ended.ok().and_then(|latest| latest.lost_reason()).unwrap_or(LostReason::Closed)
        }
        reason = presence.lost() => reason,
        () = update(&connection, &standing) => LostReason::Closed,
    };
    standing.send_modify(|standing| standing.lost = Some(lost));
}

/// Updates the group by a watch, until the client is closed.
async fn update(connection: &Connection, standing: &watch::Sender<Standing>) {
    let name = standing.borrow().group.name.clone();
    let mut backoff = Backoff::of_roles();
    while !connection.is_closed() {
        let mut watch = Watch::start(connection, WatchOptions::groups([name.as_str()]));
        while let Some(item) = watch.next().await {
            let groups = match item {
                Ok(WatchEvent::Snapshot { groups, .. } | WatchEvent::Events { groups, .. }) => groups,
                Ok(WatchEvent::Progress { .. } | WatchEvent::HistoryGone { .. }) => continue,
                Err(error) => {
                    tracing::warn!(group = name, %error, "the group cannot be watched");
                    break;
                }
            };
            backoff.reset();
            if let Some(group) = groups.into_iter().find(|group| group.name == name) {
                standing.send_if_modified(|standing| {
                    // A state without this member is from before it joined, or its end is about to be reported.
                    let is_new = *standing.group != group && group.member(standing.number).is_some();
                    if is_new {
                        standing.group = Arc::new(group);
                    }
                    is_new
                });
            }
        }
        time::sleep(backoff.next_pause()).await;
    }
}
