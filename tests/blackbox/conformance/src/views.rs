//! The views for users of plain SQL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    Claim, ClaimSpec, ClaimState, EndReason, Event, Group, GroupChange, LockSettings, Mode, Revision, Text,
};
use tenure_server::store::Batch;

use crate::Subject;
use crate::model::{Model, Random};
use crate::samples::{NAMESPACE, batch, claim_spec, every_event, no_changes, session};

const CLAIMS: &str = "SELECT concat_ws('|', namespace, name, state, claim, coalesce(token, 0), session, owner, priority, \
    mode, coalesce(permits, 0), min_hold_ms, coalesce(granted_at_ms, 0)) FROM current_claims";
const LOCKS: &str =
    "SELECT concat_ws('|', namespace, name, state, token, session, owner, granted_at_ms) FROM current_locks";
const WAITERS: &str = "SELECT concat_ws('|', namespace, name, place, claim, session, owner, priority) \
    FROM current_waiters";
const SETTINGS: &str = "SELECT concat_ws('|', namespace, name, coalesce(permit_limit, 0), coalesce(settling_ms, -1), \
    coalesce(drain_ms, -1)) FROM current_settings";
const SESSIONS: &str = "SELECT concat_ws('|', namespace, session, opened, owner, ttl_ms, coalesce(disconnect_grace_ms, -1)) \
    FROM current_sessions";

const HOLDS: &str = "SELECT concat_ws('|', namespace, name, token, session, owner, coalesce(waited_ms, -1), \
    coalesce(held_ms, -1), reason, coalesce(operator, '-'), coalesce(note, '-'), coalesce(longest_pause_ms, -1), \
    coalesce(granted_at_ms, -1), ended_at_ms) FROM past_holds";
const MEMBERS: &str = "SELECT concat_ws('|', namespace, group_id, name, number, session, owner, coalesce(assignment, '-')) \
    FROM current_members";
const GROUPS: &str = "SELECT concat_ws('|', namespace, group_id, name, members, membership, coalesce(leader, 0), \
    coalesce(token, 0), coalesce(config, '-'), coalesce(config_revision, 0), coalesce(assigned, 0), \
    coalesce(assigned_membership, 0), coalesce(assigned_config, 0)) FROM current_groups";

fn state(claim: &Claim) -> &'static str {
    match claim.state {
        ClaimState::Waiting => "waiting",
        ClaimState::Held { .. } => "held",
        ClaimState::Lingering { .. } => "lingering",
    }
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
        Mode::Permits { .. } => "permits",
    }
}

/// Each claim with each of its names.
fn named(model: &Model) -> impl Iterator<Item = (&Claim, &Text)> {
    model.claims.values().flat_map(|claim| claim.spec.names.iter().map(move |name| (claim, name)))
}

fn claims(model: &Model) -> Vec<String> {
    named(model)
        .map(|(claim, name)| {
            let (spec, token) = (&claim.spec, claim.token().map_or(0, |token| token.0));
            let (session, owner, min_hold) = (&spec.session, &spec.owner, u64::from(spec.min_hold));
            let (state, id, priority) = (state(claim), claim.id, spec.priority);
            let (mode, permits) = (mode(spec.mode), spec.mode.permits());
            let granted = if token > 0 { model.granted[&claim.id] } else { 0 };
            format!(
                "{NAMESPACE}|{name}|{state}|{id}|{token}|{session}|{owner}|{priority}|{mode}|{permits}|{min_hold}|{granted}"
            )
        })
        .collect()
}

fn locks(model: &Model) -> Vec<String> {
    named(model)
        .filter_map(|(claim, name)| {
            let (token, session, owner) = (claim.token()?, &claim.spec.session, &claim.spec.owner);
            let granted = model.granted[&claim.id];
            Some(format!("{NAMESPACE}|{name}|{}|{token}|{session}|{owner}|{granted}", state(claim)))
        })
        .collect()
}

fn waiters(model: &Model) -> Vec<String> {
    let waiting = |(claim, _): &(&Claim, &Text)| claim.state == ClaimState::Waiting;
    let before = |claim: &Claim, name: &Text| {
        named(model).filter(waiting).filter(|(other, wanted)| *wanted == name && other.rank() < claim.rank()).count()
    };
    named(model)
        .filter(waiting)
        .map(|(claim, name)| {
            let (spec, place, id) = (&claim.spec, before(claim, name) + 1, claim.id);
            format!("{NAMESPACE}|{name}|{place}|{id}|{}|{}|{}", spec.session, spec.owner, spec.priority)
        })
        .collect()
}

fn settings(model: &Model) -> Vec<String> {
    let line = |(name, settings): (&Text, &LockSettings)| {
        let (settling, drain) = settings.preempt.map_or((-1, -1), |preempt| {
            let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or_default();
            (ms(preempt.settling), ms(preempt.drain))
        });
        format!("{NAMESPACE}|{name}|{}|{settling}|{drain}", settings.limit.unwrap_or_default())
    };
    model.settings.iter().map(line).collect()
}

fn sessions(model: &Model) -> Vec<String> {
    let line = |session: &tenure_core::Session| {
        let (spec, ttl) = (&session.spec, session.spec.ttl.as_millis());
        let grace = spec.disconnect_grace.map_or("-1".to_owned(), |grace| grace.as_millis().to_string());
        format!("{NAMESPACE}|{}|{}|{}|{ttl}|{grace}", spec.id, session.opened, spec.owner)
    };
    model.sessions.values().map(line).collect()
}

fn members(model: &Model) -> Vec<String> {
    let line = |group: &Group, member: &tenure_core::Member| {
        let (spec, assignment) = (&member.spec, member.assignment.as_deref().unwrap_or("-"));
        let (id, name, number) = (group.id, &group.name, member.number);
        format!("{NAMESPACE}|{id}|{name}|{number}|{}|{}|{assignment}", spec.session, spec.owner)
    };
    model.groups.values().flat_map(|group| group.members.values().map(move |member| line(group, member))).collect()
}

fn groups(model: &Model) -> Vec<String> {
    let line = |group: &std::sync::Arc<Group>| {
        let (id, name, count, membership) = (group.id, &group.name, group.members.len(), group.membership);
        let (leader, token) = group.lead.map_or((0, 0), |lead| (lead.member.0, lead.token.0));
        let config = group.config.as_ref().map_or("-", |config| &config.value);
        let (assigned, of, with) = group
            .assigned
            .map_or((0, 0, 0), |assigned| (assigned.revision.0, assigned.basis.membership.0, assigned.basis.config.0));
        let config_revision = group.config_revision();
        format!(
            "{NAMESPACE}|{id}|{name}|{count}|{membership}|{leader}|{token}|{config}|{config_revision}|{assigned}|{of}|{with}"
        )
    };
    model.groups.values().map(line).collect()
}

/// The views show the state after the last event, whichever part of it is saved as rows.
pub async fn merge_rows_and_log(subject: &Subject) {
    let Some(query) = &subject.query else { return };
    let mut random = Random::new(2026);
    let mut saved = Model::default();
    let mut seen = [0; 7];
    for round in 0..150 {
        let batch = random.batch(NAMESPACE);
        subject.one.append(&batch, false).await.expect("the append is accepted");
        if round % 7 == 3 {
            let changes = random.model.changes_since(&saved);
            subject.one.save(NAMESPACE, &changes).await.expect("the rows are saved");
            saved = random.model.clone();
        }
        if round % 4 != 3 {
            continue;
        }
        let model = &random.model;
        let views = [
            (CLAIMS, claims(model)),
            (LOCKS, locks(model)),
            (WAITERS, waiters(model)),
            (SESSIONS, sessions(model)),
            (SETTINGS, settings(model)),
            (MEMBERS, members(model)),
            (GROUPS, groups(model)),
        ];
        for (number, (sql, mut expected)) in views.into_iter().enumerate() {
            let mut found = query(sql.to_owned()).await;
            found.sort();
            expected.sort();
            seen[number] += expected.len();
            assert_eq!(found, expected, "round {round}: {sql}");
        }
    }
    assert!(seen.iter().all(|count| *count > 50), "each view has rows: {seen:?}");
}

/// The expected rows of `past_holds`, computed as simply as possible: one for each name of each hold that has ended in
/// these batches.
fn past_holds(batches: &[Batch]) -> Vec<String> {
    let mut rows = Vec::new();
    let (mut queued, mut granted) = (BTreeMap::new(), BTreeMap::new());
    for batch in batches {
        for recorded in &batch.events {
            let (claim, token, spec, reason, eviction, pause) = match &recorded.event {
                Event::ClaimQueued(_) => {
                    queued.insert(recorded.revision, batch.at_ms);
                    continue;
                }
                Event::ClaimGranted { claim, .. } => {
                    granted.insert(*claim, (recorded.revision, batch.at_ms));
                    continue;
                }
                Event::ClaimLingering { claim, token, spec, reason, longest_pause, .. } => {
                    (claim, token, spec, reason, &None, longest_pause)
                }
                Event::ClaimEnded { claim, token: Some(token), spec, reason, eviction, longest_pause, .. } => {
                    (claim, token, spec, reason, eviction, longest_pause)
                }
                Event::ClaimTransferred { from, from_token, from_spec, longest_pause, claim, .. } => {
                    granted.insert(*claim, (recorded.revision, batch.at_ms));
                    (from, from_token, from_spec, &EndReason::Transferred, &None, longest_pause)
                }
                _ => continue,
            };
            // A hold that lingered has been counted already.
            let Some((_, granted_at)) = granted.remove(claim).filter(|(known, _)| known == token) else { continue };
            let waited = if claim == token { 0 } else { granted_at - queued[claim] };
            let (session, owner, reason, held) =
                (&spec.session, &spec.owner, reason.as_str(), batch.at_ms - granted_at);
            let (operator, note) = eviction.as_ref().map_or(("-", "-"), |by| (&*by.operator, &*by.note));
            let pause = pause.map_or(-1, |pause| pause.as_millis() as i64);
            let ended = batch.at_ms;
            rows.extend(spec.names.iter().map(|name| {
                format!(
                    "{NAMESPACE}|{name}|{token}|{session}|{owner}|{waited}|{held}|{reason}|{operator}|{note}|{pause}|{granted_at}|{ended}"
                )
            }));
        }
    }
    rows
}

/// Past holds are derived from the log alone.
pub async fn past_holds_list_former_holders(subject: &Subject) {
    let Some(query) = &subject.query else { return };
    let mut random = Random::new(77);
    let batches: Vec<Batch> = (0..300).map(|_| random.batch(NAMESPACE)).collect();
    subject.append_all(&batches).await;
    let (mut found, mut expected) = (query(HOLDS.to_owned()).await, past_holds(&batches));
    found.sort();
    expected.sort();
    assert!(expected.len() > 50, "there are past holds");
    assert!(expected.iter().any(|row| row.contains("|evicted|")), "evictions are among them");
    assert_eq!(found, expected);
    // Times are readable: it was November 2023.
    let sql = "SELECT concat(count(*), '') FROM past_holds \
        WHERE concat(granted_at, '') LIKE '2023-11-1%' AND concat(ended_at, '') LIKE '2023-11-1%'";
    assert_eq!(query(sql.to_owned()).await, [expected.len().to_string()]);
}

/// A hold that began before the log does is shown with the data that is left.
pub async fn past_holds_with_trimmed_history_show_what_is_left(subject: &Subject) {
    let Some(query) = &subject.query else { return };
    let owner = session(1, "s");
    let (waiting, other) = (claim_spec(&owner, &["a"]), claim_spec(&owner, &["b"]));
    let ended = |claim: u64, token: u64, spec: &Arc<ClaimSpec>| Event::ClaimEnded {
        claim: Revision(claim),
        token: Some(Revision(token)),
        spec: spec.clone(),
        reason: EndReason::Closed,
        eviction: None,
        still_held: Vec::new(),
        longest_pause: None,
    };
    let begun = vec![
        Event::ClaimQueued(waiting.clone()),
        Event::ClaimGranted { claim: Revision(1), spec: waiting.clone() },
        Event::ClaimGranted { claim: Revision(3), spec: other.clone() },
    ];
    let over = vec![ended(1, 2, &waiting), ended(3, 3, &other)];
    subject.append_all(&[batch(NAMESPACE, 0, begun), batch(NAMESPACE, 3, over)]).await;
    subject.one.save(NAMESPACE, &no_changes(0, 5)).await.expect("the rows are saved");
    subject.one.trim(NAMESPACE, Revision(0), i64::MAX).await.expect("history can be trimmed");
    let at = batch(NAMESPACE, 3, Vec::new()).at_ms;
    let rest = |name: &str, token: u64, waited: i64| {
        let (session, owner) = (&owner.spec.id, &owner.spec.owner);
        format!("{NAMESPACE}|{name}|{token}|{session}|{owner}|{waited}|-1|closed|-|-|-1|-1|{at}")
    };
    let mut found = query(HOLDS.to_owned()).await;
    found.sort();
    assert_eq!(found, [rest("a", 2, -1), rest("b", 3, 0)]);
}

/// Each event has one row; a transfer has two.
pub async fn events_have_a_row_each(subject: &Subject) {
    let Some(query) = &subject.query else { return };
    let events = every_event();
    let granted = events.iter().filter(|event| matches!(event, Event::ClaimGranted { .. })).count();
    // A transfer is one event, but ends one claim and grants another.
    let transferred = events.iter().filter(|event| matches!(event, Event::ClaimTransferred { .. })).count();
    subject.append_all(&[batch(NAMESPACE, 0, events.clone())]).await;
    let count = |sql: &str| query(sql.to_owned());
    assert_eq!(count("SELECT concat(count(*), '') FROM events").await, [(events.len() + transferred).to_string()]);
    let sql =
        "SELECT concat(count(*), '') FROM events WHERE event = 'claim_granted' AND token = revision AND claim = 3";
    assert_eq!(count(sql).await, [(granted + transferred).to_string()]);
    let sql = "SELECT concat(count(*), '') FROM events WHERE event = 'claim_ended' AND operator IS NOT NULL \
        AND reason = 'evicted' AND token = 4611686018427387904";
    assert_eq!(count(sql).await, ["1"]);
    let joined = |event: &&Event| matches!(event, Event::Group { change: GroupChange::Joined { .. }, .. });
    let joined = events.iter().filter(joined).count();
    let sql = "SELECT concat(count(*), '') FROM events WHERE event = 'group_joined' AND member_number = revision \
        AND leader = 3 AND token = 4611686018427387904 AND group_id = 2";
    assert_eq!(count(sql).await, [joined.to_string()]);
    let sql = "SELECT group_name FROM events WHERE event = 'group_configured' AND config IS NULL";
    assert_eq!(count(sql).await.len(), 1);
    let sql = "SELECT concat_ws('|', namespace, revision, server, at_ms, session, owner, ttl_ms, disconnect_grace_ms) \
        FROM events WHERE revision = 1";
    let Event::SessionOpened(first) = &events[0] else { panic!("the first event opens a session") };
    let (ttl, grace) = (first.ttl.as_millis(), first.disconnect_grace.expect("it has one").as_millis());
    let expected = format!("{NAMESPACE}|1|7|1700000000000|{}|{}|{ttl}|{grace}", first.id, first.owner);
    assert_eq!(count(sql).await, [expected]);
}
