//! Checks sessions that make sequential plain calls: a call that acquires nothing leaves no claim.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::{ClaimSpec, Event};

use crate::history::{Call, CallKind, History, Outcome};
use crate::past::{Moment, Past};
use crate::{PRECISION, Violations};

/// A claim of such a session.
struct TrackedClaim<'a> {
    spec: &'a Arc<ClaimSpec>,
    began: Moment,
    ended: Option<Moment>,
}

impl TrackedClaim<'_> {
    /// Whether the claim existed at the reply to the call, or began later but before the session's next acquire. If
    /// the session has no next call, a late claim is accepted: the program may have sent a request and died before it
    /// recorded it.
    fn remains_after(&self, call: &Call, next: Option<&Call>) -> bool {
        let is_for_call = call.names.iter().any(|asked| self.spec.names.iter().any(|name| **name == **asked));
        let existed =
            self.began.is_before(call.end) && self.ended.is_none_or(|ended| ended.is_after(call.end + PRECISION));
        let began_late =
            self.began.is_after(call.end + PRECISION) && next.is_some_and(|next| self.began.is_before(next.start));
        is_for_call && (existed || began_late)
    }
}

/// After a reply that nothing was acquired, or that a call was cancelled, the session has no claim until its next
/// acquire. Sessions with commits that the database has lost are skipped.
pub(crate) fn unsuccessful_calls_leave_no_claim(history: &History, past: &Past, found: &mut Violations) {
    let mut calls: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in history.calls.iter().filter(|call| matches!(call.kind, CallKind::PlainAcquire | CallKind::Cancel)) {
        calls.entry(&call.session).or_default().push(call);
    }
    let mut claims: BTreeMap<u64, TrackedClaim<'_>> = BTreeMap::new();
    for (moment, recorded) in past.committed() {
        let (spec, begins, ends) = match &recorded.event {
            Event::ClaimQueued(spec) => (spec, Some(recorded.revision), None),
            Event::ClaimGranted { claim, spec } => (spec, Some(*claim), None),
            Event::ClaimTransferred { from, claim, spec, .. } => (spec, Some(*claim), Some(*from)),
            Event::ClaimEnded { claim, spec, .. } => (spec, None, Some(*claim)),
            // If it is lost, the server that has the call is not known to wait for the claim.
            Event::ClaimAwaited { claim, .. } => match claims.get(&claim.0) {
                Some(awaited) => (awaited.spec, None, None),
                None => continue,
            },
            _ => continue,
        };
        if past.loss_of(recorded.revision.0).is_some() {
            calls.remove(&*spec.session);
        }
        if let Some(ended) = ends.and_then(|claim| claims.get_mut(&claim.0)) {
            ended.ended = Some(moment);
        }
        if let Some(claim) = begins {
            claims.entry(claim.0).or_insert_with(|| TrackedClaim { spec, began: moment, ended: None });
        }
    }
    let mut by_session: BTreeMap<&str, Vec<&TrackedClaim<'_>>> = BTreeMap::new();
    for claim in claims.values() {
        by_session.entry(&claim.spec.session).or_default().push(claim);
    }
    for (session, calls) in calls {
        let Some(claims) = by_session.get(session) else { continue };
        for (index, call) in calls.iter().enumerate() {
            if !matches!(call.outcome, Outcome::Busy | Outcome::Done) {
                continue;
            }
            let next = calls[index + 1..].iter().find(|next| next.kind == CallKind::PlainAcquire);
            if let Some(left) = claims.iter().find(|claim| claim.remains_after(call, next.copied())) {
                let TrackedClaim { spec, began, ended } = left;
                let seen = format!("{call:?}: {spec:?}: {began:?}, {ended:?}");
                found.add("an unsuccessful plain call leaves no claim", seen);
            }
        }
    }
}
