//! Follows a group on behalf of a member.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time;

use super::standing::Standing;
use crate::backoff::Backoff;
use crate::connection::Connection;
use crate::error::LostReason;
use crate::model::{GroupEvent, GroupEventKind, WatchEvent};
use crate::options::WatchOptions;
use crate::presence::SessionPresence;
use crate::watch::Watch;

/// Keeps a member's standing up to date, until the membership is lost or all receivers are dropped.
pub(super) async fn follow(connection: Connection, presence: Arc<SessionPresence>, standing: watch::Sender<Standing>) {
    let lost = tokio::select! {
        biased;
        () = standing.closed() => return,
        reason = presence.lost() => reason,
        reason = update(&connection, &standing) => reason,
    };
    standing.send_modify(|standing| standing.lost = Some(lost));
}

/// Updates the group by a watch. Returns why the membership is over.
async fn update(connection: &Connection, standing: &watch::Sender<Standing>) -> LostReason {
    let Standing { number, group: joined, .. } = standing.borrow().clone();
    let mut backoff = Backoff::of_roles();
    loop {
        let mut watch = Watch::start(connection, WatchOptions::groups([joined.name.as_str()]));
        while let Some(item) = watch.next().await {
            let (groups, events) = match item {
                Ok(WatchEvent::Snapshot { groups, .. }) => (groups, Vec::new()),
                Ok(WatchEvent::Events { groups, group_events, .. }) => (groups, group_events),
                Ok(WatchEvent::Progress { .. } | WatchEvent::HistoryGone { .. }) => continue,
                Err(error) => {
                    tracing::warn!(group = joined.name, %error, "the group cannot be watched");
                    break;
                }
            };
            backoff.reset();
            if let Some(reason) = events.iter().find_map(|event| left(number, event)) {
                return reason;
            }
            if let Some(group) = groups.into_iter().find(|group| group.name == joined.name) {
                if group.member(number).is_none() {
                    return LostReason::Forgotten;
                }
                standing.send_if_modified(|standing| {
                    let is_new = *standing.group != group;
                    standing.group = Arc::new(group);
                    is_new
                });
            }
        }
        if connection.is_closed() {
            return LostReason::Closed;
        }
        time::sleep(backoff.next_pause()).await;
    }
}

/// Why the member of this number left, if it did.
fn left(number: u64, event: &GroupEvent) -> Option<LostReason> {
    let is_own = event.member.as_ref().is_some_and(|member| member.number == number);
    let reason = event.end_reason.filter(|_| event.kind == GroupEventKind::Left && is_own)?;
    Some(LostReason::Ended { reason, operator: None, note: None })
}
