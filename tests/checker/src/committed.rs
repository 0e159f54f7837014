//! What was answered is committed, and what was refused is not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{ClaimSpec, Event};

use crate::history::{CallKind, History, Outcome};
use crate::past::{Moment, Past};
use crate::{Found, PRECISION};

/// In which time something is done for which servers and the database have to be reached.
const SOON: Duration = Duration::from_secs(20);

/// A grant is committed, for these names and this session, when it is answered.
pub(crate) fn grants(history: &History, past: &Past, found: &mut Found) {
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
            found.add("a grant is committed before it is answered", format!("{call:?}: {granted:?}"));
        }
    }
}

/// A release or a handoff is committed when it is answered. If the database loses that, it is done again before long.
pub(crate) fn releases(history: &History, past: &Past, found: &mut Found) {
    let left = past.ends();
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
            found.add("an end is committed before it is answered", format!("{call:?}: {:?}", ends.get(&token)));
            continue;
        };
        let again = left.get(&token).unwrap_or(moment);
        if past.loss_of(*revision).is_some_and(|loss| again.is_after(loss.at + SOON)) {
            found.add("what was given back does not stay", format!("{call:?}, again {again:?}"));
        }
    }
}

/// What was refused, so that nothing was done, was not done: or it is lost, and the server found nothing of it any more.
pub(crate) fn refusals(history: &History, past: &Past, found: &mut Found) {
    let refused: BTreeSet<&str> = history.refused.iter().map(|refused| &**refused).collect();
    for (moment, recorded) in past.committed() {
        if let Event::SessionOpened(spec) = &recorded.event
            && refused.contains(&*spec.id)
            && past.loss_of(recorded.revision.0).is_none()
        {
            found.add("what was refused has no effect", format!("{} was opened: {moment:?}", spec.id));
        }
    }
}

/// Who has given up waiting has soon nothing of it.
pub(crate) fn busy(history: &History, past: &Past, found: &mut Found) {
    let mut claims = BTreeMap::new();
    for (moment, recorded) in past.committed() {
        match &recorded.event {
            _ if past.loss_of(recorded.revision.0).is_some() => {}
            Event::ClaimQueued(spec) => drop(claims.insert(recorded.revision.0, (spec, moment, None))),
            Event::ClaimGranted { claim, spec } => drop(claims.entry(claim.0).or_insert((spec, moment, None))),
            Event::ClaimEnded { claim: over, .. } | Event::ClaimTransferred { from: over, .. } => {
                if let Some((_, _, ended)) = claims.get_mut(&over.0) {
                    *ended = Some(moment);
                }
            }
            _ => {}
        }
    }
    let mut by_session: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (spec, began, ended) in claims.values() {
        by_session.entry(&spec.session).or_default().push((*spec, *began, *ended));
    }
    for call in history.calls.iter().filter(|call| call.outcome == Outcome::Busy) {
        let is_left = |(spec, began, ended): &&(&Arc<ClaimSpec>, Moment, Option<Moment>)| {
            spec.names.iter().any(|name| call.names.iter().any(|asked| **asked == **name))
                && began.is_after(call.start)
                && began.is_before(call.end)
                && ended.is_none_or(|ended| ended.is_after(call.end + SOON))
        };
        if let Some(left) = by_session.get(&*call.session).into_iter().flatten().find(is_left) {
            found.add("who gave up waiting has nothing", format!("{call:?}: {left:?}"));
        }
    }
}
