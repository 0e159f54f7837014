//! Attendances: the callers registered for a claim, while it waits and while its grant is being handed over.

use std::collections::HashMap;

use tenure_core::{Claim, EndReason, Revision};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::desk::{Desk, SharedDesk};

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The claim is held.
    Granted(Claim),
    /// The claim has ended.
    Ended(EndReason),
}

/// A caller's registration for one claim. If all registrations are dropped before one is satisfied, the claim may be
/// unknown to any caller, and the home cancels it after a while.
pub struct Attendance {
    desk: SharedDesk,
    claim: Revision,
    stage: Stage,
    satisfied: bool,
}

enum Stage {
    /// Waits to be notified.
    Waiting { number: u64, told: oneshot::Receiver<WaitEnd> },
    /// Has a grant to hand over.
    Receiving,
    /// Has nothing left to do.
    Over,
}

impl Attendance {
    /// The claim.
    #[must_use]
    pub fn claim(&self) -> Revision {
        self.claim
    }

    /// Waits until the claim is granted or has ended. `None`: request it again, since an earlier caller's cancellation
    /// has ended it.
    pub async fn wait(&mut self) -> Option<WaitEnd> {
        let Stage::Waiting { told, .. } = &mut self.stage else { return None };
        let end = told.await.ok();
        self.stage = Stage::after(end.as_ref());
        end
    }

    /// Announces that the caller will cancel its wait. `false` if a later caller still waits for the claim.
    pub(crate) fn retire(&self) -> bool {
        match self.stage {
            Stage::Waiting { number, .. } => self.desk.lock().callers.retire(self.claim, number),
            Stage::Receiving | Stage::Over => true,
        }
    }

    /// Marks the reply as handed over: the claim needs no more attention.
    pub fn satisfied(mut self) {
        self.satisfied = true;
    }

    /// Like [`Self::satisfied`], with the desk already locked. Drop the returned value without that lock.
    pub(super) fn settle(mut self, desk: &mut Desk) -> Self {
        self.satisfied = true;
        if let Stage::Receiving = self.stage {
            self.stage = Stage::Over;
            desk.received(self.claim, true);
        }
        self
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        if let Stage::Over = self.stage {
            return;
        }
        let desk = self.desk.clone();
        let mut desk = desk.lock();
        if let Stage::Waiting { number, told } = &mut self.stage {
            // Checked under the lock, so that no notification comes in between.
            match told.try_recv() {
                Err(TryRecvError::Empty) => return desk.depart(self.claim, *number, self.satisfied),
                told => self.stage = Stage::after(told.ok().as_ref()),
            }
        }
        if let Stage::Receiving = self.stage {
            desk.received(self.claim, self.satisfied);
        }
    }
}

impl Stage {
    fn after(told: Option<&WaitEnd>) -> Self {
        match told {
            Some(WaitEnd::Granted(_)) => Self::Receiving,
            Some(WaitEnd::Ended(_)) | None => Self::Over,
        }
    }
}

/// The callers that are registered for claims.
#[derive(Default)]
pub(super) struct Callers {
    waiting: HashMap<Revision, Vec<Waiting>>,
    /// The grants that are being handed over, and by how many callers.
    receiving: HashMap<Revision, usize>,
    count: u64,
}

struct Waiting {
    number: u64,
    /// The caller is about to cancel, on behalf of earlier callers as well.
    retires: bool,
    tell: oneshot::Sender<WaitEnd>,
}

impl Callers {
    pub(super) fn await_grant(&mut self, desk: SharedDesk, claim: Revision) -> Attendance {
        let (tell, told) = oneshot::channel();
        self.count += 1;
        let number = self.count;
        self.waiting.entry(claim).or_default().push(Waiting { number, retires: false, tell });
        Attendance { desk, claim, stage: Stage::Waiting { number, told }, satisfied: false }
    }

    pub(super) fn receive(&mut self, desk: SharedDesk, claim: Revision) -> Attendance {
        *self.receiving.entry(claim).or_default() += 1;
        Attendance { desk, claim, stage: Stage::Receiving, satisfied: false }
    }

    /// Whether a caller has yet to hand over the claim's grant.
    pub(super) fn attend_to(&self, claim: Revision) -> bool {
        self.waiting.contains_key(&claim) || self.receiving.contains_key(&claim)
    }

    /// The claims that callers wait for.
    pub(super) fn waited_for(&self) -> Vec<Revision> {
        self.waiting.keys().copied().collect()
    }

    /// Notifies all callers that wait for a claim of its grant. `false` if callers waited, but none is left.
    pub(super) fn granted(&mut self, claim: &Claim) -> bool {
        let Some(callers) = self.waiting.remove(&claim.id) else { return true };
        let tell = |caller: Waiting| caller.tell.send(WaitEnd::Granted(claim.clone())).is_ok();
        let told = callers.into_iter().map(tell).filter(|told| *told).count();
        if told > 0 {
            *self.receiving.entry(claim.id).or_default() += told;
        }
        told > 0
    }

    /// Notifies the callers that wait for a claim of its end, except those that came after the one whose cancellation
    /// has ended it: they have not cancelled.
    pub(super) fn ended(&mut self, claim: Revision, reason: EndReason) {
        self.receiving.remove(&claim);
        let mut gave_up = false;
        for caller in self.waiting.remove(&claim).into_iter().flatten() {
            if !gave_up {
                // A caller that no longer waits needs no notification.
                let _ = caller.tell.send(WaitEnd::Ended(reason));
            }
            gave_up |= caller.retires;
        }
    }

    /// Marks a caller as about to cancel. `false` if a later caller still waits.
    fn retire(&mut self, claim: Revision, number: u64) -> bool {
        let Some(callers) = self.waiting.get_mut(&claim) else { return true };
        let Some(place) = callers.iter().position(|caller| caller.number == number) else { return true };
        callers[place].retires = true;
        callers[place + 1..].iter().all(|later| later.retires)
    }

    /// Removes a caller that no longer waits. `true` if it was the last one.
    pub(super) fn depart(&mut self, claim: Revision, number: u64) -> bool {
        let Some(callers) = self.waiting.get_mut(&claim) else { return true };
        callers.retain(|caller| caller.number != number);
        if callers.is_empty() {
            self.waiting.remove(&claim);
        }
        !self.waiting.contains_key(&claim)
    }

    /// Records that the grant was handed over.
    pub(super) fn received(&mut self, claim: Revision) {
        self.receiving.remove(&claim);
    }

    /// Records that a caller cannot hand over the grant. `true` if none has done so, and none will.
    pub(super) fn failed_to_receive(&mut self, claim: Revision) -> bool {
        let Some(count) = self.receiving.get_mut(&claim) else { return false };
        *count -= 1;
        let nobody = *count == 0;
        if nobody {
            self.receiving.remove(&claim);
        }
        nobody
    }

    /// Removes the grants of claims that no longer exist.
    pub(super) fn retain_grants(&mut self, is_there: impl Fn(Revision) -> bool) {
        self.receiving.retain(|claim, _| is_there(*claim));
    }
}
