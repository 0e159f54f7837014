//! What must be true of every history.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{ClaimSpec, EndReason, Event, Mode, Recorded};
use tenure_server::store::Batch;

use crate::history::{Call, CallKind, History, Outcome, Renewal, Sharing, Sighting, Telling};
use crate::world::Commit;

/// Hosts' clocks are read with this precision.
const PRECISION: Duration = Duration::from_millis(3);

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What should have been true.
    pub rule: Cow<'static, str>,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.rule, self.seen)
    }
}

/// Checks a history against what was committed, when, and against the log that is left of it.
#[must_use]
pub fn check(history: &History, commits: &[Commit], log: &[Arc<Batch>]) -> Vec<Violation> {
    let mut found = Found::default();
    tokens_rise(history, &mut found);
    acknowledged_is_durable(history, commits, &mut found);
    holders_agree(log, &mut found);
    valid_holds_are_disjoint(history, &mut found);
    nothing_is_valid_after_its_end(history, commits, &mut found);
    watches_tell_all(history, log, &mut found);
    refused_is_without_effect(history, commits, &mut found);
    renewals_hold(history, commits, &mut found);
    order_of_service(log, &mut found);
    found.0
}

#[derive(Default)]
struct Found(Vec<Violation>);

impl Found {
    fn add(&mut self, rule: &'static str, seen: String) {
        self.0.push(Violation { rule: rule.into(), seen });
    }
}

fn acquired(history: &History) -> impl Iterator<Item = (&Call, u64)> {
    history.calls.iter().filter_map(|call| match call.outcome {
        Outcome::Acquired(token) => Some((call, token)),
        _ => None,
    })
}

fn tokens_rise(history: &History, found: &mut Found) {
    let mut tokens = BTreeSet::new();
    let mut by_name: BTreeMap<&str, Vec<(&Call, u64)>> = BTreeMap::new();
    for (call, token) in acquired(history) {
        if !tokens.insert(token) {
            found.add("no token is given twice", format!("{token} to {}", call.name));
        }
        by_name.entry(&call.name).or_default().push((call, token));
    }
    for calls in by_name.values() {
        for (earlier, first) in calls {
            for (later, second) in calls {
                if earlier.end < later.start && first >= second {
                    found.add(
                        "tokens rise",
                        format!("{}: {first} at {:?}, then {second} at {:?}", earlier.name, earlier.end, later.start),
                    );
                }
            }
        }
    }
}

/// The events that were committed, with when.
fn events(commits: &[Commit]) -> impl Iterator<Item = (Duration, &Recorded)> {
    commits.iter().flat_map(|commit| commit.batch.events.iter().map(|recorded| (commit.at, recorded)))
}

fn acknowledged_is_durable(history: &History, commits: &[Commit], found: &mut Found) {
    let mut grants = BTreeMap::new();
    let mut ends = BTreeMap::new();
    for (at, recorded) in events(commits) {
        match &recorded.event {
            Event::ClaimGranted { spec, .. } => drop(grants.insert(recorded.revision.0, (at, spec.clone()))),
            Event::ClaimTransferred { spec, .. } => drop(grants.insert(recorded.revision.0, (at, spec.clone()))),
            Event::ClaimEnded { token: Some(token), .. } | Event::ClaimLingering { token, .. } => {
                ends.entry(token.0).or_insert(at);
            }
            _ => {}
        }
    }
    for (call, token) in acquired(history) {
        match grants.get(&token) {
            Some((at, spec)) if *at <= call.end + PRECISION && spec.names.iter().any(|name| **name == *call.name) => {}
            other => found
                .add("a grant is committed before it is answered", format!("{call:?}: {:?}", other.map(|(at, _)| at))),
        }
    }
    for call in &history.calls {
        if let (CallKind::Release(token), Outcome::Done) = (call.kind, &call.outcome)
            && ends.get(&token).is_none_or(|at| *at > call.end + PRECISION)
        {
            found.add("a release is committed before it is answered", format!("{call:?}"));
        }
    }
}

fn fits(name: &str, held: &[(u64, Arc<ClaimSpec>)], new: &ClaimSpec) -> bool {
    let others = held.iter().filter(|(_, spec)| spec.names.iter().any(|held| **held == *name));
    let modes: Vec<Mode> = others.map(|(_, spec)| spec.mode).collect();
    match new.mode {
        Mode::Exclusive => modes.is_empty(),
        Mode::Shared => modes.iter().all(|mode| *mode == Mode::Shared),
        Mode::Permits { permits, limit } => {
            let out: u32 = modes.iter().map(|mode| mode.permits()).sum();
            modes.iter().all(|mode| matches!(mode, Mode::Permits { .. })) && out + permits <= limit
        }
    }
}

fn holders_agree(log: &[Arc<Batch>], found: &mut Found) {
    let mut held: Vec<(u64, Arc<ClaimSpec>)> = Vec::new();
    let mut sessions = BTreeSet::new();
    let mut last = 0;
    for recorded in log.iter().flat_map(|batch| &batch.events) {
        if recorded.revision.0 <= last {
            found.add("revisions rise", format!("{last}, then {}", recorded.revision));
        }
        last = recorded.revision.0;
        match &recorded.event {
            Event::SessionOpened(_) => drop(sessions.insert(recorded.revision)),
            Event::SessionEnded { opened, .. } => drop(sessions.remove(opened)),
            Event::ClaimGranted { spec, claim } => {
                if !spec.names.iter().all(|name| fits(name, &held, spec)) {
                    found.add("holders agree", format!("{claim} at {last} beside {held:?}"));
                }
                if !sessions.contains(&spec.opened) {
                    found.add("only open sessions are granted", format!("{claim} at {last}"));
                }
                held.push((claim.0, spec.clone()));
            }
            Event::ClaimTransferred { from, claim, spec, .. } => {
                held.retain(|(held, _)| *held != from.0);
                if !spec.names.iter().all(|name| fits(name, &held, spec)) {
                    found.add("holders agree", format!("{claim} at {last} beside {held:?}"));
                }
                held.push((claim.0, spec.clone()));
            }
            Event::ClaimEnded { claim, .. } => held.retain(|(held, _)| *held != claim.0),
            _ => {}
        }
    }
    if !held.is_empty() {
        found.add("nothing is held when all is over", format!("{held:?}"));
    }
}

fn valid_holds_are_disjoint(history: &History, found: &mut Found) {
    let mut by_name: BTreeMap<&str, BTreeMap<u64, (Sharing, Duration, Duration)>> = BTreeMap::new();
    for Sighting { at, name, token, sharing } in &history.sightings {
        let (_, _, last) = by_name.entry(name).or_default().entry(*token).or_insert((*sharing, *at, *at));
        *last = (*last).max(*at);
    }
    for (name, holds) in by_name {
        for (token, (sharing, _, last)) in &holds {
            for (later, (other, first, _)) in holds.range(token + 1..) {
                let shared = matches!(
                    (sharing, other),
                    (Sharing::Shared, Sharing::Shared) | (Sharing::Permit(_), Sharing::Permit(_))
                );
                if !shared && *first + PRECISION < *last {
                    found.add(
                        "valid holds are disjoint",
                        format!("{name}: {token} until {last:?}, {later} from {first:?}"),
                    );
                }
            }
        }
    }
}

fn nothing_is_valid_after_its_end(history: &History, commits: &[Commit], found: &mut Found) {
    let mut ends = BTreeMap::new();
    for (at, recorded) in events(commits) {
        if let Event::ClaimEnded { token: Some(token), .. } = &recorded.event {
            ends.entry(token.0).or_insert(at);
        }
    }
    for sighting in &history.sightings {
        if ends.get(&sighting.token).is_some_and(|end| *end + PRECISION < sighting.at) {
            found.add("no hold is valid after its end", format!("{sighting:?}, ended {:?}", ends.get(&sighting.token)));
        }
    }
}

/// What a watch of everything is told of an event.
fn told(event: &Event) -> Option<(&ClaimSpec, &'static str)> {
    Some(match event {
        Event::ClaimQueued(spec) => (spec, "queued"),
        Event::ClaimGranted { spec, .. } => (spec, "granted"),
        Event::ClaimLingering { spec, .. } => (spec, "lingering"),
        Event::ClaimEnded { spec, .. } => (spec, "ended"),
        _ => return None,
    })
}

fn watches_tell_all(history: &History, log: &[Arc<Batch>], found: &mut Found) {
    let all: BTreeMap<u64, Vec<(String, &'static str)>> = log
        .iter()
        .flat_map(|batch| &batch.events)
        .filter_map(|recorded| {
            let (spec, kind) = told(&recorded.event)?;
            Some((recorded.revision.0, spec.names.iter().map(|name| (name.to_string(), kind)).collect()))
        })
        .collect();
    for tellings in &history.watches {
        let mut at: Option<u64> = None;
        for telling in tellings {
            let revision = match telling {
                Telling::Gone => {
                    at = None;
                    continue;
                }
                Telling::Snapshot { revision, .. } => {
                    at = Some(at.unwrap_or(0).max(*revision));
                    continue;
                }
                Telling::Progress(revision) | Telling::Events { revision, .. } => *revision,
            };
            let Some(before) = at.replace(revision) else {
                found.add("watches begin with a snapshot", format!("{telling:?}"));
                continue;
            };
            if revision < before {
                found.add("watches go forward", format!("{before}, then {telling:?}"));
                continue;
            }
            let expected: Vec<_> = all
                .range(before + 1..=revision)
                .flat_map(|(revision, told)| told.iter().map(|(name, kind)| (*revision, name.clone(), *kind)))
                .collect();
            let events = match telling {
                Telling::Events { events, .. } => events.as_slice(),
                _ => &[],
            };
            if *events != *expected {
                found.add("watches tell all that happened", format!("after {before}: {telling:?}, not {expected:?}"));
            }
        }
    }
}

fn refused_is_without_effect(history: &History, commits: &[Commit], found: &mut Found) {
    for (at, recorded) in events(commits) {
        if let Event::SessionOpened(spec) = &recorded.event
            && history.refused.iter().any(|refused| **refused == *spec.id)
        {
            found.add("what was refused has no effect", format!("{} was opened at {at:?}", spec.id));
        }
    }
}

fn renewals_hold(history: &History, commits: &[Commit], found: &mut Found) {
    let mut ends = BTreeMap::new();
    for (at, recorded) in events(commits) {
        if let Event::SessionEnded { session, reason: EndReason::Expired | EndReason::Disconnected, .. } =
            &recorded.event
        {
            ends.entry(session.to_string()).or_insert(at);
        }
    }
    for Renewal { session, start, ttl } in &history.renewals {
        let Some(end) = ends.get(session) else { continue };
        // What the clocks of the hosts differ by.
        if *start + ttl.mul_f64(0.999) > *end + PRECISION {
            found.add(
                "no session ends before its renewals do",
                format!("{session} renewed at {start:?} for {ttl:?}, ended at {end:?}"),
            );
        }
    }
}

/// Who waits for a lock is granted it before those who came later. (All have the same priority, and one lock each.)
fn order_of_service(log: &[Arc<Batch>], found: &mut Found) {
    let mut waiting: BTreeMap<u64, Arc<ClaimSpec>> = BTreeMap::new();
    for recorded in log.iter().flat_map(|batch| &batch.events) {
        match &recorded.event {
            Event::ClaimQueued(spec) => drop(waiting.insert(recorded.revision.0, spec.clone())),
            Event::ClaimEnded { claim, .. } => drop(waiting.remove(&claim.0)),
            Event::ClaimGranted { claim, spec } => {
                waiting.remove(&claim.0);
                let earlier = waiting.range(..claim.0).find(|(_, other)| other.names == spec.names);
                if let Some((earlier, _)) = earlier {
                    found.add("who comes first is served first", format!("{claim} before {earlier}"));
                }
            }
            _ => {}
        }
    }
}
