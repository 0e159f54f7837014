//! Sessions that are renewed only while there is progress. Without it, no command is sent that would renew them: no
//! keep-alive, no attach, no acquire. They then expire like any session that is not renewed.

use std::collections::BTreeMap;
use std::time::Duration;

use super::session::Live;
use crate::clock::Moment;
use crate::connection::ClaimKey;
use crate::progress::Progress;
use crate::session_id::SessionId;
use crate::validity::renewal_period;

/// How often progress is checked between two renewals, while there is none ...
const LOOKS_PER_PERIOD: u32 = 8;
/// ... and the shortest interval of these checks.
const SHORTEST_LOOK: Duration = Duration::from_millis(5);

/// The progress that the renewal of a session depends on: all of it.
#[derive(Debug)]
pub(super) struct Needed {
    opened: Moment,
    by_session: Option<Progress>,
    by_holds: BTreeMap<ClaimKey, Progress>,
}

impl Needed {
    /// For a session that was opened at this moment.
    pub(super) fn new(opened: Moment, by_session: Option<Progress>) -> Self {
        Self { opened, by_session, by_holds: BTreeMap::new() }
    }

    /// Adds the progress of a hold, from its grant on.
    pub(super) fn by_hold(&mut self, claim: ClaimKey, progress: Progress) {
        self.by_holds.insert(claim, progress);
    }

    /// Removes the progress of a hold that has ended, or whose release is to be sent.
    pub(super) fn by_hold_no_more(&mut self, claim: ClaimKey) {
        self.by_holds.remove(&claim);
    }

    fn is_missing(&self, now: Moment) -> bool {
        // The progress of a hold began with its grant.
        let mut holds = self.by_holds.values();
        self.by_session.as_ref().is_some_and(|progress| progress.is_stalled_at(self.opened, now))
            || holds.any(|progress| progress.is_stalled_at(Moment::default(), now))
    }
}

impl Live {
    /// Whether no command may be sent that renews the session.
    pub(super) fn is_held_back(&self, id: &SessionId, now: Moment) -> bool {
        let is_stalled = self.needed.is_missing(now);
        if self.presence.set_stalled(is_stalled) {
            if is_stalled {
                tracing::warn!(session = %id, "there is no progress: the session is not renewed");
            } else {
                tracing::info!(session = %id, "there is progress again: the session is renewed");
            }
        }
        is_stalled
    }

    /// If no command may be sent that renews the session: when to check again.
    pub(super) fn held_back_until(&self, id: &SessionId, now: Moment) -> Option<Moment> {
        let pause = || (renewal_period(self.presence.window()) / LOOKS_PER_PERIOD).max(SHORTEST_LOOK);
        self.is_held_back(id, now).then(|| now.after(pause()))
    }
}
