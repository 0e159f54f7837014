//! Tests of history with synthetic logs.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::testing::{TTL, claim_spec, session_spec};
use tenure_core::{Claim, ClaimSpec, ClaimState, EndReason, Event, Eviction, Recorded, Revision, ServerId};

use super::assembly::Assembly;
use super::{Cursor, Entry, HoldRecord, Loss};
use crate::store::Batch;

fn spec(session: &str, opened: u64, names: &[&str]) -> Arc<ClaimSpec> {
    Arc::new(claim_spec(session, opened, names))
}

fn lingering_spec(session: &str, opened: u64) -> Arc<ClaimSpec> {
    Arc::new(ClaimSpec { min_hold: TTL.into(), ..claim_spec(session, opened, "a") })
}

fn opened(id: &str) -> Event {
    Event::SessionOpened(Arc::new(session_spec(id)))
}

fn granted(claim: u64, spec: &Arc<ClaimSpec>) -> Event {
    Event::ClaimGranted { claim: Revision(claim), spec: spec.clone() }
}

fn ended(claim: u64, token: u64, spec: &Arc<ClaimSpec>, reason: EndReason) -> Event {
    let (claim, token, spec) = (Revision(claim), (token > 0).then_some(Revision(token)), spec.clone());
    let eviction = (reason == EndReason::Evicted).then(|| Eviction { operator: "ops".into(), note: "stuck".into() });
    let (still_held, longest_pause) = (Vec::new(), Some(Duration::from_secs(3)));
    Event::ClaimEnded { claim, token, spec, reason, eviction, still_held, longest_pause }
}

fn lingering(claim: u64, token: u64, spec: &Arc<ClaimSpec>) -> Event {
    let (claim, token, spec, reason) = (Revision(claim), Revision(token), spec.clone(), EndReason::Released);
    Event::ClaimLingering { claim, token, spec, reason, home: ServerId(1), still_held: Vec::new(), longest_pause: None }
}

/// Batches of these events, in order, stamped with 100 times their last revision.
fn log(batches: Vec<Vec<Event>>) -> Vec<Batch> {
    let mut previous = 0;
    let batch = |events: Vec<Event>| {
        let first = previous + 1;
        let events: Vec<Recorded> =
            (first..).zip(events).map(|(revision, event)| Recorded { revision: Revision(revision), event }).collect();
        let before = Revision(previous);
        previous += events.len() as u64;
        let at_ms = 100 * previous as i64;
        Batch { namespace: "default".into(), previous: before, events, server: ServerId(1), number: previous, at_ms }
    };
    batches.into_iter().map(batch).collect()
}

/// A page of the history of `a` that begins at this cursor, with at most `within` batches examined.
fn page(log: &[Batch], from: Cursor, lasting: &[Claim], size: usize, within: usize) -> (Vec<Entry>, Option<Cursor>) {
    let until = from.until;
    let mut page = Assembly::new("a".into(), from);
    lasting.iter().for_each(|claim| page.lasts(claim, None));
    let back: Vec<&Batch> = log.iter().rev().filter(|batch| batch.revision() <= until).collect();
    back.iter().take(within).for_each(|batch| page.look_back(batch));
    while let Some(wanted) = page.wanted(size) {
        let holding = |batch: &&Batch| batch.previous < wanted && wanted <= batch.revision();
        log.iter().filter(holding).for_each(|batch| page.learn(batch));
        page.dropped(wanted, wanted);
    }
    page.finish(size, back.get(within).map(|batch| batch.revision()))
}

/// The whole history of `a`, in pages of this size.
fn all(log: &[Batch], size: usize, within: usize) -> Vec<Entry> {
    let mut next = Some(Cursor::at(Revision(1_000)));
    let mut entries = Vec::new();
    while let Some(cursor) = next {
        assert!(entries.len() <= 100, "the pages do not end");
        let (some, rest) = page(log, cursor, &[], size, within);
        assert!(some.len() <= size);
        entries.extend(some);
        // Encoded and parsed as in a page token.
        next = rest.map(|rest| rest.to_string().parse().expect("parsed"));
    }
    entries
}

fn holds(entries: Vec<Entry>) -> Vec<HoldRecord> {
    entries
        .into_iter()
        .map(|entry| match entry {
            Entry::Hold(hold) => hold,
            Entry::Lost(loss) => panic!("{loss:?}"),
        })
        .collect()
}

fn tokens(entries: Vec<Entry>) -> Vec<u64> {
    holds(entries).iter().map(|hold| hold.token.0).collect()
}

#[test]
fn hold_has_all_facts_of_its_events() {
    let (ann, bob) = (spec("ann", 1, &["a", "b"]), spec("bob", 3, &["a"]));
    let log = log(vec![
        vec![opened("ann"), granted(2, &ann)],
        vec![opened("bob")],
        vec![Event::ClaimQueued(bob.clone())],
        vec![ended(2, 2, &ann, EndReason::Evicted), granted(4, &bob)],
        vec![ended(4, 6, &bob, EndReason::Expired)],
    ]);
    let [second, first] = holds(all(&log, 10, 10)).try_into().expect("two holds");
    assert_eq!((second.claim, second.token, second.spec), (Revision(4), Revision(6), bob));
    assert_eq!((second.queued_ms, second.granted_ms, second.ttl), (Some(400), Some(600), Some(TTL)));
    let end = second.end.expect("ended");
    assert_eq!((end.at_ms, end.reason, end.eviction), (700, EndReason::Expired, None));
    assert_eq!(end.longest_pause, Some(Duration::from_secs(3)));
    assert_eq!(
        (first.claim, first.token, first.queued_ms, first.granted_ms),
        (Revision(2), Revision(2), Some(200), Some(200))
    );
    let end = first.end.expect("ended");
    assert_eq!((end.at_ms, end.reason), (600, EndReason::Evicted));
    assert_eq!(end.eviction.map(|by| (by.operator, by.note)), Some(("ops".into(), "stuck".into())));
}

#[test]
fn other_locks_and_waits_without_a_grant_are_not_listed() {
    let (ann, bob) = (spec("ann", 1, &["b"]), spec("bob", 2, &["a"]));
    let log = log(vec![
        vec![opened("ann"), opened("bob")],
        vec![granted(3, &ann), ended(3, 3, &ann, EndReason::Released)],
        vec![Event::ClaimQueued(bob.clone()), ended(5, 0, &bob, EndReason::Closed)],
    ]);
    assert_eq!(all(&log, 10, 10), []);
}

#[test]
fn pages_of_any_size_give_the_same_list() {
    let ann = spec("ann", 1, &["a"]);
    let mut batches = vec![vec![opened("ann")]];
    for first in (2..60).step_by(4) {
        // Two holds, begun and ended within one commit and across two.
        batches.push(vec![
            granted(first, &ann),
            ended(first, first, &ann, EndReason::Released),
            granted(first + 2, &ann),
        ]);
        batches.push(vec![ended(first + 2, first + 2, &ann, EndReason::Released)]);
    }
    let log = log(batches);
    let whole = all(&log, 100, 100);
    assert_eq!(tokens(whole.clone()), (1..=30).rev().map(|half| 2 * half).collect::<Vec<u64>>());
    for (size, within) in [(1, 100), (2, 100), (7, 3), (3, 1), (100, 2)] {
        assert_eq!(all(&log, size, within), whole, "{size} at once, {within} batches at once");
    }
}

#[test]
fn beginning_of_a_long_hold_is_looked_up_by_its_revision() {
    let ann = spec("ann", 1, &["a"]);
    let log = log(vec![
        vec![opened("ann")],
        vec![granted(2, &ann)],
        vec![opened("x")],
        vec![opened("y")],
        vec![ended(2, 2, &ann, EndReason::Released)],
    ]);
    let (entries, next) = page(&log, Cursor::at(Revision(1_000)), &[], 5, 1);
    let [hold] = holds(entries).try_into().expect("one hold");
    assert_eq!((hold.granted_ms, hold.queued_ms, hold.ttl), (Some(200), Some(200), Some(TTL)));
    assert!(next.is_some(), "there may be more");
}

#[test]
fn times_in_dropped_history_are_unknown() {
    let bob = spec("bob", 1, &["a"]);
    let whole = log(vec![
        vec![opened("bob")],
        vec![Event::ClaimQueued(bob.clone())],
        vec![granted(2, &bob)],
        vec![ended(2, 3, &bob, EndReason::Released)],
    ]);
    let known = |from: usize| {
        let [hold] = holds(all(&whole[from..], 5, 5)).try_into().expect("one hold");
        (hold.token.0, hold.ttl, hold.queued_ms, hold.granted_ms)
    };
    assert_eq!(known(1), (3, None, Some(200), Some(300)));
    assert_eq!(known(2), (3, None, None, Some(300)));
    assert_eq!(known(3), (3, None, None, None));
}

#[test]
fn current_holds_come_first_and_do_not_count_toward_the_page() {
    let (ann, bob) = (spec("ann", 1, &["a"]), spec("bob", 4, &["a"]));
    let log = log(vec![
        vec![opened("ann"), granted(2, &ann)],
        vec![ended(2, 2, &ann, EndReason::Released)],
        vec![opened("bob"), granted(5, &bob)],
    ]);
    let held = Claim::new(Revision(5), bob, ClaimState::Held { token: Revision(5) });
    let (entries, _) = page(&log, Cursor::at(Revision(5)), &[held], 1, 10);
    let [lasting, over] = holds(entries).try_into().expect("two holds");
    assert_eq!((lasting.token.0, lasting.end, lasting.granted_ms), (5, None, Some(500)));
    assert_eq!(over.token.0, 2);
}

#[test]
fn hold_ends_when_lingering_begins() {
    let ann = lingering_spec("ann", 1);
    let log = log(vec![
        vec![opened("ann"), granted(2, &ann)],
        vec![lingering(2, 2, &ann)],
        vec![ended(2, 2, &ann, EndReason::Released)],
        vec![granted(5, &ann)],
        vec![lingering(5, 5, &ann)],
        vec![ended(5, 5, &ann, EndReason::Evicted)],
        vec![granted(8, &ann)],
        vec![ended(8, 8, &ann, EndReason::Evicted)],
        vec![granted(10, &ann)],
        vec![lingering(10, 10, &ann)],
    ]);
    let expected = [
        (10, 1_100, EndReason::Released),
        (8, 900, EndReason::Evicted),
        (5, 600, EndReason::Released),
        (2, 300, EndReason::Released),
    ];
    let seen = |entries: Vec<Entry>| -> Vec<_> {
        let end = |hold: HoldRecord| hold.end.map(|end| (hold.token.0, end.at_ms, end.reason)).expect("ended");
        holds(entries).into_iter().map(end).collect()
    };
    assert_eq!(seen(all(&log, 100, 100)), expected);
    // Wherever a page ends, no hold is listed twice. An eviction that is on another page than the start of lingering
    // looks like the end of the hold.
    for (size, within) in [(1, 100), (1, 1), (3, 1), (3, 2)] {
        assert_eq!(tokens(all(&log, size, within)), [10, 8, 5, 2], "{size} at once, {within} batches at once");
    }
}

#[test]
fn loss_of_history_is_listed_where_it_happened() {
    let ann = spec("ann", 1, &["a"]);
    let log = log(vec![
        vec![opened("ann"), granted(2, &ann)],
        vec![ended(2, 2, &ann, EndReason::Released)],
        vec![Event::HistoryLost { after: Revision(3) }],
        vec![granted(5, &ann), ended(5, 5, &ann, EndReason::Released)],
    ]);
    let entries = all(&log, 1, 100);
    let loss = Entry::Lost(Loss { after: Revision(3), revision: Revision(4), at_ms: 400 });
    assert_eq!(entries.len(), 3);
    assert_eq!(entries[1], loss);
    assert_eq!(tokens(vec![entries[0].clone(), entries[2].clone()]), [5, 2]);
}
