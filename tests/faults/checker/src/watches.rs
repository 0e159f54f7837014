//! Checks that watches deliver every event exactly once and in order.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use tenure_core::{ClaimSpec, Event};

use crate::Violations;
use crate::history::{History, WatchItem};
use crate::holders::Holds;
use crate::past::Past;

/// Lock and kind of each delivered event.
type Delivered = Vec<(String, Cow<'static, str>)>;

/// The events that a watch of everything delivers for one recorded event.
fn delivered(event: &Event) -> Delivered {
    let (spec, kind) = match event {
        Event::ClaimQueued(spec) => (spec, "queued"),
        Event::ClaimGranted { spec, .. } => (spec, "granted"),
        Event::ClaimLingering { spec, .. } => (spec, "lingering"),
        Event::ClaimEnded { spec, .. } => (spec, "ended"),
        Event::ClaimUpdated { spec, .. } => (spec, "updated"),
        Event::TransferStarted { spec, .. } => (spec, "transfer_started"),
        Event::TransferCancelled { spec, .. } => (spec, "transfer_cancelled"),
        Event::ClaimTransferred { from_spec, spec, .. } => return delivered_for_transfer(from_spec, spec),
        _ => return Vec::new(),
    };
    spec.names.iter().map(|name| (name.to_string(), kind.into())).collect()
}

/// Locks of both claims come first, then locks of `from` only, then locks of `to` only.
fn delivered_for_transfer(from: &ClaimSpec, to: &ClaimSpec) -> Delivered {
    let both = from.names.iter().filter(|name| to.names.contains(name)).map(|name| (name, "transferred"));
    let ended = from.names.iter().filter(|name| !to.names.contains(name)).map(|name| (name, "ended"));
    let granted = to.names.iter().filter(|name| !from.names.contains(name)).map(|name| (name, "granted"));
    both.chain(ended).chain(granted).map(|(name, kind)| (name.to_string(), kind.into())).collect()
}

fn expected(past: &Past) -> BTreeMap<u64, Delivered> {
    let committed = past.committed().map(|(_, recorded)| recorded).chain(past.surviving());
    let delivered = committed.map(|recorded| (recorded.revision.0, delivered(&recorded.event)));
    delivered.filter(|(_, delivered)| !delivered.is_empty()).collect()
}

/// Each watch delivers everything committed after its snapshot, or reports that it cannot.
pub(crate) fn deliver_every_event(history: &History, past: &Past, found: &mut Violations) {
    let all = expected(past);
    for items in history.watches.values() {
        let mut at: Option<u64> = None;
        for item in items {
            let (revision, events) = match item {
                WatchItem::Gone => {
                    at = None;
                    continue;
                }
                WatchItem::Snapshot { revision, .. } => {
                    at = Some(at.unwrap_or(0).max(*revision));
                    continue;
                }
                WatchItem::Progress(revision) => (*revision, &[][..]),
                WatchItem::Events { revision, events } => (*revision, events.as_slice()),
            };
            let Some(before) = at.replace(revision) else {
                found.add("watches begin with a snapshot", format!("{item:?}"));
                continue;
            };
            if revision < before {
                found.add("revisions of a watch do not fall", format!("{before}, then {item:?}"));
                continue;
            }
            if past.losses.iter().any(|loss| {
                loss.after < before && past.jump_after(loss).is_some_and(|jump| before < jump && jump <= revision)
            }) {
                found.add("watches report that the database lost events", format!("{before}, then {item:?}"));
                continue;
            }
            let expected = all.range((Bound::Excluded(before), Bound::Included(revision)));
            let expected: Vec<_> = expected
                .flat_map(|(revision, delivered)| {
                    delivered.iter().map(|(name, kind)| (*revision, name.clone(), kind.clone()))
                })
                .collect();
            if *events != *expected {
                found.add("watches deliver every event once", format!("after {before}: {item:?}, not {expected:?}"));
            }
        }
    }
}

/// A snapshot lists the holders at its revision.
pub(crate) fn snapshots_list_the_holders(history: &History, past: &Past, found: &mut Violations) {
    let mut snapshots: BTreeMap<u64, BTreeSet<BTreeSet<(String, u64)>>> = BTreeMap::new();
    for item in history.watches.values().flatten() {
        if let WatchItem::Snapshot { revision, holders } = item {
            snapshots.entry(*revision).or_default().insert(holders.iter().cloned().collect());
        }
    }
    let mut holds = Holds::default();
    let mut events = past.surviving().peekable();
    for (revision, listed) in snapshots {
        while let Some(recorded) = events.next_if(|recorded| recorded.revision.0 <= revision) {
            holds.apply(recorded.revision.0, &recorded.event);
        }
        if past.loss_of(revision).is_some() {
            continue;
        }
        let held = holds.tokens();
        for listed in listed.iter().filter(|listed| **listed != held) {
            found.add("snapshots list the holders", format!("at {revision}: {listed:?}, not {held:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(last: WatchItem) -> usize {
        let first = WatchItem::Snapshot { revision: 7, holders: Vec::new() };
        let (watch, mut found) = ("one".to_owned(), Violations::default());
        let watches = [(watch, vec![first, last])].into();
        deliver_every_event(&History { watches, ..History::default() }, &Past::default(), &mut found);
        found.0.len()
    }

    #[test]
    fn progress_may_be_repeated_but_events_may_not() {
        assert_eq!(violations(WatchItem::Progress(7)), 0);
        let events = vec![(7, "job".to_owned(), "granted".into())];
        assert_eq!(violations(WatchItem::Events { events, revision: 7 }), 1);
    }
}
