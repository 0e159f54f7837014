//! The registry of the callers of Acquire: those that wait for a claim, and those that have yet to return its grant.

use std::collections::HashMap;
use std::mem::replace;

use tenure_core::{Claim, EndReason, Revision};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::local::{LocalState, SharedLocalState};

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The claim is held.
    Granted(Claim),
    /// The claim has ended.
    Ended(EndReason),
}

/// A caller's registration for one claim. If all of them are dropped before one is acknowledged, the claim may be
/// unknown to any client, and the home cancels it after a while.
pub struct PendingGrant {
    local: SharedLocalState,
    claim: Revision,
    stage: Stage,
    acknowledged: bool,
}

enum Stage {
    /// Waits for the end of its wait.
    Waiting { number: u64, end: oneshot::Receiver<WaitEnd> },
    /// Has a grant to return.
    Granted,
    /// Has nothing left to do.
    Over,
}

impl PendingGrant {
    /// The claim.
    #[must_use]
    pub fn claim(&self) -> Revision {
        self.claim
    }

    /// Waits until the claim is granted or has ended. `None`: request it again, since an earlier caller's cancellation
    /// has ended it.
    pub async fn wait(&mut self) -> Option<WaitEnd> {
        let Stage::Waiting { end, .. } = &mut self.stage else { return None };
        let end = end.await.ok();
        self.stage = Stage::after(end.as_ref());
        end
    }

    /// Announces that the caller will end the wait. `false` if a later caller still waits for the claim.
    pub(crate) fn cancel(&self) -> bool {
        match self.stage {
            Stage::Waiting { number, .. } => self.local.lock().waiters.cancel(self.claim, number),
            Stage::Granted | Stage::Over => true,
        }
    }

    /// Marks the reply as returned: no other caller has to return it.
    pub fn acknowledge(mut self) {
        self.acknowledged = true;
    }

    fn deregister(&mut self, local: &mut LocalState) {
        let (registry, claim) = (&mut local.waiters, self.claim);
        let mut is_last = false;
        if let Stage::Waiting { number, end } = &mut self.stage {
            // Checked under the lock, so that no notification comes in between.
            match end.try_recv() {
                Err(TryRecvError::Empty) => is_last = registry.remove_waiter(claim, *number),
                end => self.stage = Stage::after(end.ok().as_ref()),
            }
        }
        match replace(&mut self.stage, Stage::Over) {
            Stage::Granted if self.acknowledged => registry.acknowledge(claim),
            Stage::Granted => is_last = registry.remove_grant(claim),
            Stage::Waiting { .. } | Stage::Over => {}
        }
        // Another caller must wait for the claim or return its grant.
        if is_last && !self.acknowledged {
            local.mark_abandoned(claim);
        }
    }
}

impl Drop for PendingGrant {
    fn drop(&mut self) {
        if !matches!(self.stage, Stage::Over) {
            let local = self.local.clone();
            self.deregister(&mut local.lock());
        }
    }
}

impl Stage {
    fn after(end: Option<&WaitEnd>) -> Self {
        match end {
            Some(WaitEnd::Granted(_)) => Self::Granted,
            Some(WaitEnd::Ended(_)) | None => Self::Over,
        }
    }
}

/// A caller to register for the claim of its Acquire.
pub(super) enum Registration {
    /// The claim waits.
    Waiting(Revision),
    /// The claim is held.
    Granted {
        /// The claim.
        claim: Revision,
        /// Whether no earlier reply can have returned the grant.
        is_new: bool,
    },
}

/// The callers that are registered for claims.
#[derive(Default)]
pub(super) struct WaiterRegistry {
    waiting: HashMap<Revision, Vec<Waiter>>,
    /// The grants that have yet to be returned, and by how many callers.
    granted: HashMap<Revision, usize>,
    count: u64,
}

struct Waiter {
    number: u64,
    /// The caller is about to end the wait, on behalf of earlier callers as well.
    is_cancelled: bool,
    end: oneshot::Sender<WaitEnd>,
}

impl WaiterRegistry {
    pub(super) fn register_waiting(&mut self, local: SharedLocalState, claim: Revision) -> PendingGrant {
        let (sender, end) = oneshot::channel();
        self.count += 1;
        let number = self.count;
        self.waiting.entry(claim).or_default().push(Waiter { number, is_cancelled: false, end: sender });
        PendingGrant { local, claim, stage: Stage::Waiting { number, end }, acknowledged: false }
    }

    pub(super) fn register_granted(&mut self, local: SharedLocalState, claim: Revision) -> PendingGrant {
        *self.granted.entry(claim).or_default() += 1;
        PendingGrant { local, claim, stage: Stage::Granted, acknowledged: false }
    }

    /// Whether a caller has yet to return the claim's grant.
    pub(super) fn contains(&self, claim: Revision) -> bool {
        self.waiting.contains_key(&claim) || self.granted.contains_key(&claim)
    }

    /// The claims that callers wait for.
    pub(super) fn waiting_claims(&self) -> Vec<Revision> {
        self.waiting.keys().copied().collect()
    }

    /// Notifies all callers that wait for a claim of its grant. `false` if callers waited, but none is left.
    pub(super) fn grant(&mut self, claim: &Claim) -> bool {
        let Some(waiters) = self.waiting.remove(&claim.id) else { return true };
        let notify = |waiter: Waiter| waiter.end.send(WaitEnd::Granted(claim.clone())).is_ok();
        let notified = waiters.into_iter().map(notify).filter(|notified| *notified).count();
        if notified > 0 {
            *self.granted.entry(claim.id).or_default() += notified;
        }
        notified > 0
    }

    /// Notifies the callers that wait for a claim of its end, except those that came after the one whose cancellation
    /// has ended it: they have not cancelled.
    pub(super) fn end(&mut self, claim: Revision, reason: EndReason) {
        self.granted.remove(&claim);
        let mut is_cancelled = false;
        for waiter in self.waiting.remove(&claim).into_iter().flatten() {
            if !is_cancelled {
                // A caller that no longer waits needs no notification.
                let _ = waiter.end.send(WaitEnd::Ended(reason));
            }
            is_cancelled |= waiter.is_cancelled;
        }
    }

    /// Marks a caller as about to end the wait. `false` if a later caller still waits.
    fn cancel(&mut self, claim: Revision, number: u64) -> bool {
        let Some(waiters) = self.waiting.get_mut(&claim) else { return true };
        let Some(index) = waiters.iter().position(|waiter| waiter.number == number) else { return true };
        waiters[index].is_cancelled = true;
        waiters[index + 1..].iter().all(|later| later.is_cancelled)
    }

    /// Removes a caller that no longer waits. Returns whether none is left.
    fn remove_waiter(&mut self, claim: Revision, number: u64) -> bool {
        let Some(waiters) = self.waiting.get_mut(&claim) else { return true };
        waiters.retain(|waiter| waiter.number != number);
        let is_empty = waiters.is_empty();
        if is_empty {
            self.waiting.remove(&claim);
        }
        is_empty
    }

    /// Records that the grant was returned.
    pub(super) fn acknowledge(&mut self, claim: Revision) {
        self.granted.remove(&claim);
    }

    /// Records that a caller cannot return the grant. Returns whether none has done so, and none will.
    fn remove_grant(&mut self, claim: Revision) -> bool {
        let Some(count) = self.granted.get_mut(&claim) else { return false };
        *count -= 1;
        let is_lost = *count == 0;
        if is_lost {
            self.granted.remove(&claim);
        }
        is_lost
    }

    /// Removes the grants of claims that no longer exist.
    pub(super) fn retain_grants(&mut self, exists: impl Fn(Revision) -> bool) {
        self.granted.retain(|claim, _| exists(*claim));
    }
}
