//! Checks sessions that make sequential plain calls: a call that acquires nothing leaves no claim.

use std::collections::BTreeMap;

use tenure_core::{ClaimSpec, Event};

use crate::history::{Call, CallKind, History, Outcome};
use crate::past::{Moment, Past};
use crate::{Found, PRECISION};

/// A claim of such a session.
struct Stake<'a> {
    spec: &'a ClaimSpec,
    began: Moment,
    ended: Option<Moment>,
}

impl Stake<'_> {
    /// Whether the claim existed when the call was answered, or began later but before the session's next acquire. If
    /// the session has no next call, a late claim is accepted: the program may have sent a request and died before it
    /// recorded it.
    fn is_left_of(&self, call: &Call, next: Option<&Call>) -> bool {
        let is_of = call.names.iter().any(|asked| self.spec.names.iter().any(|name| **name == **asked));
        let was_there =
            self.began.is_before(call.end) && self.ended.is_none_or(|ended| ended.is_after(call.end + PRECISION));
        let came_late =
            self.began.is_after(call.end + PRECISION) && next.is_some_and(|next| self.began.is_before(next.start));
        is_of && (was_there || came_late)
    }
}

/// After a reply that nothing was acquired, or that a call was cancelled, the session has no claim until its next
/// acquire. Sessions with commits that the database has lost are skipped.
pub(crate) fn leave_nothing(history: &History, past: &Past, found: &mut Found) {
    let mut calls: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in history.calls.iter().filter(|call| matches!(call.kind, CallKind::PlainAcquire | CallKind::Cancel)) {
        calls.entry(&call.session).or_default().push(call);
    }
    let mut stakes: BTreeMap<u64, Stake<'_>> = BTreeMap::new();
    for (moment, recorded) in past.committed() {
        let (spec, begins, ends) = match &recorded.event {
            Event::ClaimQueued(spec) => (spec, Some(recorded.revision), None),
            Event::ClaimGranted { claim, spec } => (spec, Some(*claim), None),
            Event::ClaimTransferred { from, claim, spec, .. } => (spec, Some(*claim), Some(*from)),
            Event::ClaimEnded { claim, spec, .. } => (spec, None, Some(*claim)),
            _ => continue,
        };
        if past.loss_of(recorded.revision.0).is_some() {
            calls.remove(&*spec.session);
        }
        if let Some(ended) = ends.and_then(|claim| stakes.get_mut(&claim.0)) {
            ended.ended = Some(moment);
        }
        if let Some(claim) = begins {
            stakes.entry(claim.0).or_insert_with(|| Stake { spec, began: moment, ended: None });
        }
    }
    let mut of_sessions: BTreeMap<&str, Vec<&Stake<'_>>> = BTreeMap::new();
    for stake in stakes.values() {
        of_sessions.entry(&stake.spec.session).or_default().push(stake);
    }
    for (session, calls) in calls {
        let Some(stakes) = of_sessions.get(session) else { continue };
        for (place, call) in calls.iter().enumerate() {
            if !matches!(call.outcome, Outcome::Busy | Outcome::Done) {
                continue;
            }
            let next = calls[place + 1..].iter().find(|next| next.kind == CallKind::PlainAcquire);
            if let Some(left) = stakes.iter().find(|stake| stake.is_left_of(call, next.copied())) {
                let Stake { spec, began, ended } = left;
                let seen = format!("{call:?}: {spec:?}: {began:?}, {ended:?}");
                found.add("a plain call of which nothing came leaves nothing", seen);
            }
        }
    }
}
