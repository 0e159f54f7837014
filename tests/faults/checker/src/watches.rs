//! Checks that watches deliver every event exactly once and in order.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use tenure_core::{ClaimSpec, Event};

use crate::Found;
use crate::history::{History, Telling};
use crate::holders::Holds;
use crate::past::Past;

/// Lock and kind of each delivered event.
type Told = Vec<(String, Cow<'static, str>)>;

/// The events that a watch of everything delivers for one recorded event.
fn told(event: &Event) -> Told {
    let (spec, kind) = match event {
        Event::ClaimQueued(spec) => (spec, "queued"),
        Event::ClaimGranted { spec, .. } => (spec, "granted"),
        Event::ClaimLingering { spec, .. } => (spec, "lingering"),
        Event::ClaimEnded { spec, .. } => (spec, "ended"),
        Event::ClaimUpdated { spec, .. } => (spec, "updated"),
        Event::TransferStarted { spec, .. } => (spec, "transfer_started"),
        Event::TransferCancelled { spec, .. } => (spec, "transfer_cancelled"),
        Event::ClaimTransferred { from_spec, spec, .. } => return told_of_transfer(from_spec, spec),
        _ => return Vec::new(),
    };
    spec.names.iter().map(|name| (name.to_string(), kind.into())).collect()
}

/// Locks of both claims come first, then locks of `from` only, then locks of `to` only.
fn told_of_transfer(from: &ClaimSpec, to: &ClaimSpec) -> Told {
    let both = from.names.iter().filter(|name| to.names.contains(name)).map(|name| (name, "transferred"));
    let ended = from.names.iter().filter(|name| !to.names.contains(name)).map(|name| (name, "ended"));
    let granted = to.names.iter().filter(|name| !from.names.contains(name)).map(|name| (name, "granted"));
    both.chain(ended).chain(granted).map(|(name, kind)| (name.to_string(), kind.into())).collect()
}

fn expected(past: &Past) -> BTreeMap<u64, Told> {
    let committed = past.committed().map(|(_, recorded)| recorded).chain(past.left());
    let told = committed.map(|recorded| (recorded.revision.0, told(&recorded.event)));
    told.filter(|(_, told)| !told.is_empty()).collect()
}

/// Each watch delivers everything committed after its snapshot, or reports that it cannot.
pub(crate) fn tell_all(history: &History, past: &Past, found: &mut Found) {
    let all = expected(past);
    for tellings in history.watches.values() {
        let mut at: Option<u64> = None;
        for telling in tellings {
            let (revision, events) = match telling {
                Telling::Gone => {
                    at = None;
                    continue;
                }
                Telling::Snapshot { revision, .. } => {
                    at = Some(at.unwrap_or(0).max(*revision));
                    continue;
                }
                Telling::Progress(revision) => (*revision, &[][..]),
                Telling::Events { revision, events } => (*revision, events.as_slice()),
            };
            let Some(before) = at.replace(revision) else {
                found.add("watches begin with a snapshot", format!("{telling:?}"));
                continue;
            };
            if revision < before {
                found.add("watches go forward", format!("{before}, then {telling:?}"));
                continue;
            }
            if past.losses.iter().any(|loss| {
                loss.after < before && past.jump_after(loss).is_some_and(|jump| before < jump && jump <= revision)
            }) {
                found.add("watches tell of what the database lost", format!("{before}, then {telling:?}"));
                continue;
            }
            let expected = all.range((Bound::Excluded(before), Bound::Included(revision)));
            let expected: Vec<_> = expected
                .flat_map(|(revision, told)| told.iter().map(|(name, kind)| (*revision, name.clone(), kind.clone())))
                .collect();
            if *events != *expected {
                found.add("watches tell all that happened", format!("after {before}: {telling:?}, not {expected:?}"));
            }
        }
    }
}

/// A snapshot lists the holders at its revision.
pub(crate) fn begin_with_what_is(history: &History, past: &Past, found: &mut Found) {
    let mut snapshots: BTreeMap<u64, BTreeSet<BTreeSet<(String, u64)>>> = BTreeMap::new();
    for telling in history.watches.values().flatten() {
        if let Telling::Snapshot { revision, holders } = telling {
            snapshots.entry(*revision).or_default().insert(holders.iter().cloned().collect());
        }
    }
    let mut holds = Holds::default();
    let mut events = past.left().peekable();
    for (revision, told) in snapshots {
        while let Some(recorded) = events.next_if(|recorded| recorded.revision.0 <= revision) {
            holds.follow(recorded.revision.0, &recorded.event);
        }
        if past.loss_of(revision).is_some() {
            continue;
        }
        let held = holds.tokens();
        for told in told.iter().filter(|told| **told != held) {
            found.add("snapshots tell what is", format!("at {revision}: {told:?}, not {held:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(last: Telling) -> usize {
        let first = Telling::Snapshot { revision: 7, holders: Vec::new() };
        let (watch, mut found) = ("one".to_owned(), Found::default());
        let watches = [(watch, vec![first, last])].into();
        tell_all(&History { watches, ..History::default() }, &Past::default(), &mut found);
        found.0.len()
    }

    #[test]
    fn it_may_be_said_again_up_to_where_all_is_told_but_not_what() {
        assert_eq!(violations(Telling::Progress(7)), 0);
        let events = vec![(7, "job".to_owned(), "granted".into())];
        assert_eq!(violations(Telling::Events { events, revision: 7 }), 1);
    }
}
