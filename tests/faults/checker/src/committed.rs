//! Checks that acknowledged changes are committed, and that rejected ones are not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::{ClaimSpec, Event};

use crate::history::{Call, CallKind, History, Outcome};
use crate::past::{Moment, Past};
use crate::{PRECISION, Violations};

/// Time within which an operation completes that needs servers and the database to be reachable.
const SOON: Duration = Duration::from_secs(20);

/// A grant is committed, for its names and its session, before it is acknowledged.
pub(crate) fn grants_precede_replies(history: &History, past: &Past, found: &mut Violations) {
    let mut grants = BTreeMap::new();
    for (moment, recorded) in past.committed() {
        if let Event::ClaimGranted { spec, .. } | Event::ClaimTransferred { spec, .. } = &recorded.event {
            grants.insert(recorded.revision.0, (moment, spec));
        }
    }
    for (call, token) in history.acquired() {
        let granted = grants.get(&token);
        let fits = granted.is_some_and(|(moment, spec)| {
            !moment.is_after(call.end + PRECISION)
                && *spec.session == *call.session
                && call.names.iter().all(|asked| spec.names.iter().any(|name| **name == **asked))
        });
        if !fits {
            found.add("a grant is committed before its reply", format!("{call:?}: {granted:?}"));
        }
    }
}

/// A release or a handoff is committed before it is acknowledged. If the database loses the commit, the end is
/// committed again within [`SOON`] of the loss.
pub(crate) fn ends_precede_replies(history: &History, past: &Past, found: &mut Violations) {
    let last_ends = past.ends();
    let mut ends = BTreeMap::new();
    for (moment, recorded) in past.committed() {
        if let Event::ClaimEnded { token: Some(token), .. }
        | Event::ClaimLingering { token, .. }
        | Event::ClaimTransferred { from_token: token, .. } = &recorded.event
        {
            ends.entry(token.0).or_insert((moment, recorded.revision.0));
        }
    }
    for call in &history.calls {
        let (CallKind::Release(token) | CallKind::Transfer(token), Outcome::Done) = (call.kind, &call.outcome) else {
            continue;
        };
        let Some((moment, revision)) = ends.get(&token).filter(|(at, _)| !at.is_after(call.end + PRECISION)) else {
            found.add("the end of a hold is committed before its reply", format!("{call:?}: {:?}", ends.get(&token)));
            continue;
        };
        let last_end = last_ends.get(&token).unwrap_or(moment);
        if past.loss_of(*revision).is_some_and(|loss| last_end.is_after(loss.at + SOON)) {
            found.add("a released hold does not remain held", format!("{call:?}, ended again {last_end:?}"));
        }
    }
}

/// A change that was rejected with the reply that nothing was changed did not happen, unless the database lost it and
/// the server therefore found no trace of it.
pub(crate) fn rejections_have_no_effect(history: &History, past: &Past, found: &mut Violations) {
    let rejected: BTreeSet<&str> = history.rejected.iter().map(|session| &**session).collect();
    for (moment, recorded) in past.committed() {
        if let Event::SessionOpened(spec) = &recorded.event
            && rejected.contains(&*spec.id)
            && past.loss_of(recorded.revision.0).is_none()
        {
            found.add("a rejected request has no effect", format!("{} was opened: {moment:?}", spec.id));
        }
    }
}

/// A claim whose caller may have stopped waiting.
struct Wait<'a> {
    spec: &'a ClaimSpec,
    began: Moment,
    ended: Option<Moment>,
    /// Time at which the database lost the commit that ended the claim, if it did. The claim then exists again until
    /// its session ends.
    undone: Option<Duration>,
}

impl Wait<'_> {
    /// Whether the claim outlives the end of the call, or the loss of its end, by more than [`SOON`].
    fn remains_after(&self, call: &Call) -> bool {
        let abandoned = self.undone.map_or(call.end, |undone| undone.max(call.end));
        self.spec.names.iter().any(|name| call.names.iter().any(|asked| **asked == **name))
            && self.began.is_after(call.start)
            && self.began.is_before(call.end)
            && self.ended.is_none_or(|ended| ended.is_after(abandoned + SOON))
    }
}

/// A claim whose caller stopped waiting ends within [`SOON`].
pub(crate) fn abandoned_waits_end(history: &History, past: &Past, found: &mut Violations) {
    let mut claims: BTreeMap<u64, Wait<'_>> = BTreeMap::new();
    for (moment, recorded) in past.committed() {
        let loss = past.loss_of(recorded.revision.0);
        match &recorded.event {
            Event::ClaimEnded { claim, .. } | Event::ClaimTransferred { from: claim, .. } => {
                if let Some(wait) = claims.get_mut(&claim.0) {
                    match loss {
                        Some(loss) => wait.undone = Some(loss.at),
                        None => wait.ended = Some(moment),
                    }
                }
            }
            _ if loss.is_some() => {}
            Event::ClaimQueued(spec) => {
                claims.insert(recorded.revision.0, Wait { spec, began: moment, ended: None, undone: None });
            }
            Event::ClaimGranted { claim, spec } => {
                claims.entry(claim.0).or_insert(Wait { spec, began: moment, ended: None, undone: None });
            }
            _ => {}
        }
    }
    let mut by_session: BTreeMap<&str, Vec<&Wait<'_>>> = BTreeMap::new();
    for wait in claims.values() {
        by_session.entry(&wait.spec.session).or_default().push(wait);
    }
    for call in history.calls.iter().filter(|call| call.outcome == Outcome::Busy) {
        let mut waits = by_session.get(&*call.session).into_iter().flatten();
        if let Some(left) = waits.find(|wait| wait.remains_after(call)) {
            let Wait { spec, began, ended, undone } = left;
            found.add(
                "an abandoned wait leaves no claim",
                format!("{call:?}: {spec:?}: {began:?}, {ended:?}, {undone:?}"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::{EndReason, Revision};

    use super::*;
    use crate::past::{Commit, Loss};
    use crate::testing::{self, SECOND, commit};

    /// The call starts at second 1 and gets the reply "busy" at second 3; its claim waits from second 2 on.
    fn abandoned_call() -> History {
        History { calls: vec![testing::acquire(SECOND, 3 * SECOND, Outcome::Busy)], ..History::default() }
    }

    /// The claim ends at each of these times, under these revisions. A loss removes revision 3.
    fn is_broken(ends: &[(Duration, u64)], losses: Vec<Loss>) -> bool {
        let mut commits = vec![commit(2 * SECOND, 2, Event::ClaimQueued(testing::claim()))];
        let ended = || testing::claim_ended(2, EndReason::Released);
        commits.extend(ends.iter().map(|(at, revision)| commit(*at, *revision, ended())));
        let is_left = |commit: &&Commit| losses.is_empty() || commit.batch.revision() != Revision(3);
        let log = commits.iter().filter(is_left).map(|commit| commit.batch.clone()).collect();
        let mut found = Violations::default();
        abandoned_waits_end(&abandoned_call(), &Past { commits, log, losses }, &mut found);
        !found.0.is_empty()
    }

    #[test]
    fn claim_of_an_abandoned_wait_ends_within_the_bound() {
        assert!(!is_broken(&[(3 * SECOND, 3)], Vec::new()));
        assert!(is_broken(&[], Vec::new()) && is_broken(&[(4 * SECOND + SOON, 3)], Vec::new()));
    }

    #[test]
    fn claim_restored_by_a_loss_ends_within_the_bound() {
        let lost_at = 10 * SECOND;
        let loss = || vec![Loss { at: lost_at, after: 2 }];
        assert!(!is_broken(&[(3 * SECOND, 3), (9 * SECOND + SOON, 9)], loss()));
        assert!(
            is_broken(&[(3 * SECOND, 3), (11 * SECOND + SOON, 9)], loss()) && is_broken(&[(3 * SECOND, 3)], loss())
        );
    }
}
