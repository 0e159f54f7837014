//! What people see who ask in plain SQL.

use tenure_core::{Claim, ClaimState, Event, Group, GroupChange, Text};

use crate::Subject;
use crate::model::{Model, Random};
use crate::samples::{NAMESPACE, batch, every_event};

const CLAIMS: &str = "SELECT concat_ws('|', namespace, name, state, claim, coalesce(token, 0), session, owner, priority, \
    min_hold_ms) FROM current_claims";
const LOCKS: &str = "SELECT concat_ws('|', namespace, name, state, token, session, owner) FROM current_locks";
const WAITERS: &str = "SELECT concat_ws('|', namespace, name, place, claim, session, owner, priority) \
    FROM current_waiters";
const MEMBERS: &str = "SELECT concat_ws('|', namespace, group_id, name, number, session, owner, coalesce(assignment, '-')) \
    FROM current_members";
const GROUPS: &str = "SELECT concat_ws('|', namespace, group_id, name, members, membership, coalesce(leader, 0), \
    coalesce(token, 0), coalesce(config, '-'), coalesce(config_revision, 0), coalesce(assigned, 0), \
    coalesce(assigned_membership, 0), coalesce(assigned_config, 0)) FROM current_groups";
const SESSIONS: &str = "SELECT concat_ws('|', namespace, session, opened, owner, ttl_ms) FROM current_sessions";

fn state(claim: &Claim) -> &'static str {
    match claim.state {
        ClaimState::Waiting => "waiting",
        ClaimState::Held { .. } => "held",
        ClaimState::Lingering { .. } => "lingering",
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
            let (session, owner, min_hold) = (&spec.session, &spec.owner, spec.min_hold.as_millis());
            let (state, id, priority) = (state(claim), claim.id, spec.priority);
            format!("{NAMESPACE}|{name}|{state}|{id}|{token}|{session}|{owner}|{priority}|{min_hold}")
        })
        .collect()
}

fn locks(model: &Model) -> Vec<String> {
    named(model)
        .filter_map(|(claim, name)| {
            let (token, session, owner) = (claim.token()?, &claim.spec.session, &claim.spec.owner);
            Some(format!("{NAMESPACE}|{name}|{}|{token}|{session}|{owner}", state(claim)))
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

fn sessions(model: &Model) -> Vec<String> {
    let line = |session: &tenure_core::Session| {
        let (spec, ttl) = (&session.spec, session.spec.ttl.as_millis());
        format!("{NAMESPACE}|{}|{}|{}|{ttl}", spec.id, session.opened, spec.owner)
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

/// Whatever is saved of it and whatever is not, the views tell the state after the last event.
pub async fn merge_rows_and_log(subject: &Subject) {
    let Some(plain) = &subject.plain else { return };
    let mut random = Random::new(2026);
    let mut saved = Model::default();
    let mut seen = [0; 6];
    for round in 0..100 {
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
            (MEMBERS, members(model)),
            (GROUPS, groups(model)),
        ];
        for (number, (sql, mut expected)) in views.into_iter().enumerate() {
            let mut found = plain(sql.to_owned()).await;
            found.sort();
            expected.sort();
            seen[number] += expected.len();
            assert_eq!(found, expected, "round {round}: {sql}");
        }
    }
    assert!(seen.iter().all(|count| *count > 50), "there was something to see: {seen:?}");
}

/// One row for each event, in words.
pub async fn tell_what_the_events_say(subject: &Subject) {
    let Some(plain) = &subject.plain else { return };
    let events = every_event();
    let granted = events.iter().filter(|event| matches!(event, Event::ClaimGranted { .. })).count();
    subject.append_all(&[batch(NAMESPACE, 0, events.clone())]).await;
    let count = |sql: &str| plain(sql.to_owned());
    assert_eq!(count("SELECT concat(count(*), '') FROM events").await, [events.len().to_string()]);
    let sql =
        "SELECT concat(count(*), '') FROM events WHERE event = 'claim_granted' AND token = revision AND claim = 3";
    assert_eq!(count(sql).await, [granted.to_string()]);
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
    let sql = "SELECT concat_ws('|', namespace, revision, server, at_ms, session, owner, ttl_ms) FROM events \
        WHERE revision = 1";
    let Event::SessionOpened(first) = &events[0] else { panic!("the first event opens a session") };
    let ttl = first.ttl.as_millis();
    let expected = format!("{NAMESPACE}|1|7|1700000000000|{}|{}|{ttl}", first.id, first.owner);
    assert_eq!(count(sql).await, [expected]);
}
