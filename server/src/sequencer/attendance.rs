//! Attendances: who is there for a claim, while it waits and while its grant is being handed over.

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
    /// The claim is over.
    Ended(EndReason),
}

/// A caller's presence at the desk for one claim. If all of them are dropped before any is satisfied, they leave a claim that
/// nobody may know of, which the home gives up after a while.
pub struct Attendance {
    desk: SharedDesk,
    claim: Revision,
    stage: Stage,
    satisfied: bool,
}

enum Stage {
    /// Until it is told.
    Waiting { number: u64, told: oneshot::Receiver<WaitEnd> },
    /// Has a grant to hand over.
    Receiving,
    /// There is nothing more to attend to.
    Over,
}

impl Attendance {
    /// The claim.
    #[must_use]
    pub fn claim(&self) -> Revision {
        self.claim
    }

    /// Waits until the claim is granted or over. `None`: ask again, for an earlier caller's giving up has ended it.
    pub async fn wait(&mut self) -> Option<WaitEnd> {
        let Stage::Waiting { told, .. } = &mut self.stage else { return None };
        let end = told.await.ok();
        self.stage = Stage::after(end.as_ref());
        end
    }

    /// The caller is about to give up its wait. False: another has come for the claim since, and waits on.
    pub(crate) fn retire(&self) -> bool {
        match self.stage {
            Stage::Waiting { number, .. } => self.desk.lock().callers.retire(self.claim, number),
            Stage::Receiving | Stage::Over => true,
        }
    }

    /// The answer has been handed over, so the claim needs no more attention.
    pub fn satisfied(mut self) {
        self.satisfied = true;
    }

    /// The same, with the desk locked already. What is left is to be dropped without that lock.
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
            // Looked at under the lock, so that nobody tells anything in between.
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

/// The callers that attend to claims.
#[derive(Default)]
pub(super) struct Callers {
    waiting: HashMap<Revision, Vec<Waiting>>,
    /// The grants that are being handed over, and by how many.
    receiving: HashMap<Revision, usize>,
    count: u64,
}

struct Waiting {
    number: u64,
    /// It is about to give up, on behalf of those who came before as well.
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

    /// Whether anybody is there who has not handed over the claim's grant yet.
    pub(super) fn attend_to(&self, claim: Revision) -> bool {
        self.waiting.contains_key(&claim) || self.receiving.contains_key(&claim)
    }

    /// The claims that are waited for.
    pub(super) fn waited_for(&self) -> Vec<Revision> {
        self.waiting.keys().copied().collect()
    }

    /// Tells all who wait for a claim that it is granted. False: somebody waited, but nobody is there any more.
    pub(super) fn granted(&mut self, claim: &Claim) -> bool {
        let Some(callers) = self.waiting.remove(&claim.id) else { return true };
        let tell = |caller: Waiting| caller.tell.send(WaitEnd::Granted(claim.clone())).is_ok();
        let told = callers.into_iter().map(tell).filter(|told| *told).count();
        if told > 0 {
            *self.receiving.entry(claim.id).or_default() += told;
        }
        told > 0
    }

    /// Tells all who wait for a claim that it is over: except those who came for it after the one whose giving up has ended it,
    /// for they have not given up.
    pub(super) fn ended(&mut self, claim: Revision, reason: EndReason) {
        self.receiving.remove(&claim);
        let mut gave_up = false;
        for caller in self.waiting.remove(&claim).into_iter().flatten() {
            if !gave_up {
                // Who does not wait any more need not know.
                let _ = caller.tell.send(WaitEnd::Ended(reason));
            }
            gave_up |= caller.retires;
        }
    }

    /// Marks a caller as about to give up. False: another has come since, and waits on.
    fn retire(&mut self, claim: Revision, number: u64) -> bool {
        let Some(callers) = self.waiting.get_mut(&claim) else { return true };
        let Some(place) = callers.iter().position(|caller| caller.number == number) else { return true };
        callers[place].retires = true;
        callers[place + 1..].iter().all(|later| later.retires)
    }

    /// A caller does not wait any more. True: it was the last one.
    pub(super) fn depart(&mut self, claim: Revision, number: u64) -> bool {
        let Some(callers) = self.waiting.get_mut(&claim) else { return true };
        callers.retain(|caller| caller.number != number);
        if callers.is_empty() {
            self.waiting.remove(&claim);
        }
        !self.waiting.contains_key(&claim)
    }

    /// The grant was handed over.
    pub(super) fn received(&mut self, claim: Revision) {
        self.receiving.remove(&claim);
    }

    /// One that was to hand over the grant cannot. True: so nobody has, and nobody will.
    pub(super) fn failed_to_receive(&mut self, claim: Revision) -> bool {
        let Some(count) = self.receiving.get_mut(&claim) else { return false };
        *count -= 1;
        let nobody = *count == 0;
        if nobody {
            self.receiving.remove(&claim);
        }
        nobody
    }

    /// Forgets the grants of claims that are no more.
    pub(super) fn retain_grants(&mut self, is_there: impl Fn(Revision) -> bool) {
        self.receiving.retain(|claim, _| is_there(*claim));
    }
}
