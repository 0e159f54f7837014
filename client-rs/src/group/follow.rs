//! Following a group on behalf of a member.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time;

use super::model::{Group, GroupEvent, GroupEventKind, Standing};
use crate::client::Client;
use crate::error::LostReason;
use crate::link::backoff::Backoff;
use crate::presence::SessionPresence;
use crate::watch::{WatchEvent, WatchOptions};

/// Keeps where a member stands up to date, until the membership is lost or nobody wants to know any more.
pub(super) struct Follower {
    pub(super) client: Client,
    pub(super) presence: Arc<SessionPresence>,
    pub(super) name: String,
    pub(super) number: u64,
    pub(super) standing: watch::Sender<Standing>,
}

impl Follower {
    pub(super) async fn run(self) {
        let lost = tokio::select! {
            biased;
            () = self.standing.closed() => return,
            reason = self.presence.lost() => reason,
            reason = self.follow() => reason,
        };
        self.standing.send_modify(|standing| standing.lost = Some(lost));
    }

    /// Takes over what the watch tells. Answers why the membership is over.
    async fn follow(&self) -> LostReason {
        let mut backoff = Backoff::of_roles();
        loop {
            let mut watch = self.client.watch(WatchOptions::groups([self.name.as_str()]));
            while let Some(told) = watch.next().await {
                let (groups, events) = match told {
                    Ok(WatchEvent::Snapshot { groups, .. }) => (groups, Vec::new()),
                    Ok(WatchEvent::Events { groups, group_events, .. }) => (groups, group_events),
                    Ok(WatchEvent::Progress { .. } | WatchEvent::HistoryGone { .. }) => continue,
                    Err(error) => {
                        tracing::warn!(group = self.name, %error, "the group cannot be watched");
                        break;
                    }
                };
                backoff.reset();
                if let Some(reason) = events.iter().find_map(|event| self.left(event)) {
                    return reason;
                }
                if let Some(group) = groups.into_iter().find(|group| group.name == self.name) {
                    if group.member(self.number).is_none() {
                        return LostReason::Forgotten;
                    }
                    self.take_over(group);
                }
            }
            if self.client.remote.is_closed() {
                return LostReason::Closed;
            }
            time::sleep(backoff.next_pause()).await;
        }
    }

    /// Why this member left, if that is what happened.
    fn left(&self, event: &GroupEvent) -> Option<LostReason> {
        let is_own = event.member.as_ref().is_some_and(|member| member.number == self.number);
        let reason = event.end_reason.filter(|_| event.kind == GroupEventKind::Left && is_own)?;
        Some(LostReason::Ended { reason, operator: None, note: None })
    }

    fn take_over(&self, group: Group) {
        self.standing.send_if_modified(|standing| {
            let is_new = *standing.group != group;
            if is_new {
                standing.group = Arc::new(group);
            }
            is_new
        });
    }
}
