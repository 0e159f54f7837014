//! Rows, which are written asynchronously.

use std::sync::Arc;

use tenure_core::{
    Assignments, Basis, ClaimSpec, ClaimState, Event, Group, GroupChange, Lead, Revision, ServerId, Text,
};
use tenure_server::store::{RowChanges, Rows, StoreError};
use tokio::task::JoinSet;

use crate::Subject;
use crate::samples::{
    NAMESPACE, batch, claim, claim_spec, client, filler, fillers, group, handing_over, nasty_names, no_changes,
    session, settings,
};

/// A namespace without rows, existing or not.
pub async fn new_namespace_has_none(subject: &Subject) {
    assert_eq!(subject.one.load("nowhere").await, Ok(Rows::default()));
    subject.append_all(&fillers(NAMESPACE, &[3])).await;
    assert_eq!(subject.one.load(NAMESPACE).await, Ok(Rows::default()));
}

/// Rows are read exactly as they were saved, whatever the text.
pub async fn are_loaded_as_saved(subject: &Subject) {
    subject.append_all(&fillers(NAMESPACE, &[200])).await;
    subject.append_all(&fillers("other", &[200])).await;
    let names = nasty_names();
    let clients: Vec<_> = names.iter().zip(1..).map(|(name, number)| client(number, name)).collect();
    let sessions: Vec<_> = names.iter().zip(1..).map(|(name, opened)| session(opened, name)).collect();
    let all: Vec<&str> = names.iter().map(|name| &**name).collect();
    let states = [
        ClaimState::Waiting,
        ClaimState::Held { token: Revision(1 << 61) },
        ClaimState::Lingering { token: Revision(77), home: ServerId(i64::MAX as u64) },
    ];
    let claims: Vec<_> = sessions
        .iter()
        .zip(100..)
        .map(|(session, id)| {
            let wanted = if id % 4 == 0 { &all[..] } else { &[&*session.spec.id] };
            claim(id, &claim_spec(session, wanted), states[usize::try_from(id).unwrap_or_default() % 3])
        })
        .collect();
    let claims: Vec<_> = claims
        .iter()
        .map(|claim| match claim.state {
            ClaimState::Held { .. } if claim.id.0 % 2 == 0 => handing_over(claim, None),
            ClaimState::Held { .. } => handing_over(claim, Some(Revision(1 << 60))),
            _ => claim.clone(),
        })
        .collect();
    let settings: Vec<_> = names.iter().zip(1..).map(|(name, number)| (name.clone(), settings(number))).collect();
    let groups: Vec<_> = names.iter().zip(100..).map(|(name, id)| group(id, name, id % 4)).collect();
    let granted = Vec::new();
    let (revision, lost) = (Revision(200), Revision(7));
    let rows = Rows { revision, lost, clients, sessions, claims, granted, settings, groups };
    let Rows { clients, sessions, claims, settings, groups, .. } = rows.clone();
    let changes =
        RowChanges { lost, clients, sessions, claims, settings: Some(settings), groups, ..no_changes(0, 200) };
    subject.one.save(NAMESPACE, &changes).await.expect("the rows are saved");
    let loaded = subject.two.load(NAMESPACE).await.expect("the rows can be loaded");
    assert_eq!(loaded, rows);
    assert_eq!(subject.two.load("other").await, Ok(Rows::default()), "another namespace has none of them");
    let head = subject.two.read(NAMESPACE, Revision(200), 1).await.expect("the log can be read").head;
    assert_eq!(head.rows_revision, Revision(200));
}

/// Rows are replaced by key; deleting an absent row is not an error.
pub async fn are_replaced_and_deleted_by_key(subject: &Subject) {
    subject.append_all(&fillers(NAMESPACE, &[10, 10])).await;
    subject.append_all(&fillers("other", &[10])).await;
    let clients = ["c", "c ", "d", "é"].map(|id| client(1, id));
    let sessions = [session(1, "a"), session(2, "b"), session(3, "c")];
    let spec = claim_spec(&sessions[0], &["x", "y", "z"]);
    let claims = [claim(4, &spec, ClaimState::Waiting), claim(5, &spec, ClaimState::Waiting)];
    let set = vec![(Text::from("x"), settings(2)), (Text::from("y"), settings(3))];
    let groups = [group(1, "g", 3), group(2, "h", 2), group(6, "i", 1)];
    let first = RowChanges {
        clients: clients.to_vec(),
        sessions: sessions.to_vec(),
        claims: claims.to_vec(),
        groups: groups.to_vec(),
        settings: Some(set.clone()),
        ..no_changes(0, 10)
    };
    subject.one.save(NAMESPACE, &first).await.expect("the rows are saved");
    subject.one.save("other", &first).await.expect("the rows are saved");

    let mut moved = session(2, "b");
    moved.spec.home = ServerId(99);
    let granted = claim(5, &spec, ClaimState::Held { token: Revision(12) });
    let smaller = group(2, "h", 1);
    let second = RowChanges {
        clients: vec![client(2, "c "), client(3, "ç")],
        ended_clients: ["d", "è", "unknown"].map(Text::from).to_vec(),
        sessions: vec![moved.clone()],
        ended_sessions: vec![Revision(1), Revision(8)],
        claims: vec![granted.clone()],
        ended_claims: vec![Revision(4), Revision(9)],
        settings: Some(vec![(Text::from("z"), settings(6))]),
        groups: vec![smaller.clone(), group(15, "g", 2)],
        ended_groups: vec![Revision(1), Revision(3)],
        lost: Revision(15),
        ..no_changes(10, 20)
    };
    subject.two.save(NAMESPACE, &second).await.expect("the rows are saved");
    let loaded = subject.one.load(NAMESPACE).await.expect("the rows can be loaded");
    let expected = Rows {
        revision: Revision(20),
        lost: Revision(15),
        clients: vec![client(1, "c"), client(2, "c "), client(3, "ç"), client(1, "é")],
        sessions: vec![moved, session(3, "c")],
        claims: vec![granted],
        granted: Vec::new(),
        settings: vec![(Text::from("z"), settings(6))],
        groups: vec![smaller, groups[2].clone(), group(15, "g", 2)],
    };
    assert_eq!(loaded, expected);
    let other = subject.one.load("other").await.expect("the rows can be loaded");
    let expected = Rows {
        revision: Revision(10),
        lost: Revision(0),
        clients: clients.to_vec(),
        sessions: sessions.to_vec(),
        claims: claims.to_vec(),
        granted: Vec::new(),
        settings: set,
        groups: groups.to_vec(),
    };
    assert_eq!(other, expected, "another namespace keeps its own");
}

/// The grant's stamp is kept as long as the claim's row exists, also after the log has dropped the grant.
pub async fn keep_grant_times_after_history_is_trimmed(subject: &Subject) {
    let owner = session(1, "s");
    let (both, one) = (claim_spec(&owner, &["a", "b"]), claim_spec(&owner, &["c"]));
    let granted = |claim, spec: &Arc<ClaimSpec>| Event::ClaimGranted { claim: Revision(claim), spec: spec.clone() };
    subject.append_all(&[batch(NAMESPACE, 0, vec![granted(1, &both), granted(2, &one), granted(3, &one)])]).await;
    subject.append_all(&[filler(NAMESPACE, 3, 5)]).await;
    let held = |id, spec: &Arc<ClaimSpec>| claim(id, spec, ClaimState::Held { token: Revision(id) });
    let lingering = claim(3, &one, ClaimState::Lingering { token: Revision(3), home: ServerId(1) });
    let claims = vec![held(1, &both), held(2, &one), lingering.clone(), claim(4, &one, ClaimState::Waiting)];
    // The stamps of holds granted before stamps were stored are unknown. Clocks may be wrong.
    let stamps = vec![(Revision(1), 1_700_000_000_123), (Revision(3), -5)];
    let changes = RowChanges { claims: claims.clone(), granted: stamps.clone(), ..no_changes(0, 8) };
    subject.one.save(NAMESPACE, &changes).await.expect("the rows are saved");
    assert_eq!(subject.one.trim(NAMESPACE, Revision(0), i64::MAX).await, Ok(Revision(3)), "the grants are gone");
    let loaded = subject.two.load(NAMESPACE).await.expect("the rows can be loaded");
    assert_eq!((loaded.claims, loaded.granted), (claims, stamps));
    if let Some(query) = &subject.query {
        let sql = "SELECT concat_ws('|', name, coalesce(granted_at_ms, 0)) FROM current_locks";
        let mut found = query(sql.to_owned()).await;
        found.sort();
        assert_eq!(found, ["a|1700000000123", "b|1700000000123", "c|-5", "c|0"]);
        let sql = "SELECT substr(concat(granted_at, ''), 1, 10) FROM current_locks WHERE name = 'a'";
        assert_eq!(query(sql.to_owned()).await, ["2023-11-14"]);
    }

    subject.append_all(&[filler(NAMESPACE, 8, 2)]).await;
    let (claims, ended) = (vec![held(1, &one), held(4, &one)], vec![Revision(2)]);
    let granted = vec![(Revision(1), 7), (Revision(4), 8)];
    let changes = RowChanges { claims: claims.clone(), granted, ended_claims: ended, ..no_changes(8, 10) };
    subject.two.save(NAMESPACE, &changes).await.expect("the rows are saved");
    let loaded = subject.one.load(NAMESPACE).await.expect("the rows can be loaded");
    assert_eq!(loaded.claims, [claims[0].clone(), lingering, claims[1].clone()]);
    assert_eq!(loaded.granted, [(Revision(1), 7), (Revision(3), -5), (Revision(4), 8)]);
}

/// Saves compare the rows' revision and set it, atomically.
pub async fn save_from_another_revision_conflicts(subject: &Subject) {
    subject.append_all(&fillers(NAMESPACE, &[5, 5])).await;
    subject.one.save(NAMESPACE, &no_changes(0, 5)).await.expect("the rows are saved");
    for from in [0, 4, 10] {
        let changes = RowChanges { sessions: vec![session(1, "stray")], ..no_changes(from, 10) };
        assert_eq!(subject.two.save(NAMESPACE, &changes).await, Err(StoreError::Conflict), "from {from}");
    }
    assert_eq!(subject.two.save("nowhere", &no_changes(0, 5)).await, Err(StoreError::Conflict));
    let expected = Rows { revision: Revision(5), ..Rows::default() };
    assert_eq!(subject.one.load(NAMESPACE).await, Ok(expected));
}

/// Rows beyond the database's own history would be invalid.
pub async fn save_beyond_the_log_conflicts(subject: &Subject) {
    subject.append_all(&fillers(NAMESPACE, &[5, 5])).await;
    for to in [7, 11, 1 << 40] {
        assert_eq!(subject.one.save(NAMESPACE, &no_changes(0, to)).await, Err(StoreError::Conflict), "to {to}");
    }
    assert_eq!(subject.one.save(NAMESPACE, &no_changes(0, 10)).await, Ok(()));
}

/// Concurrent saves do not interleave.
pub async fn concurrent_saves_have_one_winner(subject: &Subject) {
    subject.append_all(&fillers(NAMESPACE, &[10])).await;
    let mut savers = JoinSet::new();
    for number in 1..=8 {
        let store = if number % 2 == 0 { subject.one.clone() } else { subject.two.clone() };
        let changes = RowChanges { sessions: vec![session(number, "saved")], ..no_changes(0, 10) };
        savers.spawn(async move { (number, store.save(NAMESPACE, &changes).await) });
    }
    let outcomes = savers.join_all().await;
    let won: Vec<u64> = outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).map(|(number, _)| *number).collect();
    assert_eq!(won.len(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|(_, outcome)| matches!(outcome, Ok(()) | Err(StoreError::Conflict))), "{outcomes:?}");
    let loaded = subject.one.load(NAMESPACE).await.expect("the rows can be loaded");
    assert_eq!(loaded.sessions, [session(won[0], "saved")]);
}

/// More rows than fit into one statement, with claims to more names than that.
pub async fn thousands_are_saved_and_deleted(subject: &Subject) {
    subject.append_all(&[filler(NAMESPACE, 0, 5000), filler(NAMESPACE, 5000, 5)]).await;
    let clients: Vec<_> = (1..=2500).map(|number| client(number, &format!("c{number:04}"))).collect();
    let sessions: Vec<_> = (1..=2500).map(|opened| session(opened, &format!("s{opened}"))).collect();
    let names: Vec<String> = (0..1500).map(|number| format!("n{number:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let spec = claim_spec(&sessions[0], &names);
    let mut claims = vec![claim(2600, &spec, ClaimState::Waiting), claim(2601, &spec, ClaimState::Waiting)];
    claims.extend((3000..4500).map(|id| claim(id, &claim_spec(&sessions[1], &["one"]), ClaimState::Waiting)));
    let settings: Vec<_> = names.iter().map(|name| (Text::from(*name), settings(2))).collect();
    let groups: Vec<_> = (1..=1_200).map(|id| group(id, &format!("g{id}"), if id == 7 { 1_000 } else { 2 })).collect();
    let granted = Vec::new();
    let (revision, lost) = (Revision(5000), Revision(0));
    let rows = Rows { revision, lost, clients, sessions, claims, granted, settings, groups };
    let Rows { clients, sessions, claims, settings, groups, .. } = rows.clone();
    let changes = RowChanges { clients, sessions, claims, settings: Some(settings), groups, ..no_changes(0, 5000) };
    subject.one.save(NAMESPACE, &changes).await.expect("the rows are saved");
    let loaded = subject.two.load(NAMESPACE).await.expect("the rows can be loaded");
    assert!(loaded == rows);

    let changes = RowChanges {
        ended_clients: rows.clients.iter().map(|client| client.id.clone()).collect(),
        ended_sessions: rows.sessions.iter().map(|session| session.opened).collect(),
        ended_claims: rows.claims.iter().map(|claim| claim.id).collect(),
        ended_groups: rows.groups.iter().map(|group| group.id).collect(),
        settings: Some(Vec::new()),
        ..no_changes(5000, 5005)
    };
    subject.two.save(NAMESPACE, &changes).await.expect("the rows are saved");
    let expected = Rows { revision: Revision(5005), ..Rows::default() };
    assert_eq!(subject.one.load(NAMESPACE).await, Ok(expected));
}

/// The largest group that the service allows, of characters that take more space in a statement: as rows, and as an
/// event.
pub async fn largest_group_is_saved_and_logged(subject: &Subject) {
    let text = |bytes: usize| Text::from("\\\"'\n".repeat(bytes / 4));
    let members = group(1, "large", 1_000);
    let assignments: Assignments =
        Arc::new(members.members.keys().map(|number| (*number, text(1_048_576 / 1_000))).collect());
    let lead = Lead { member: Revision(1), token: Revision(1) };
    let basis = Basis { membership: Revision(1_000), config: Revision(1_001) };
    let configured = GroupChange::Configured { config: Some(text(65_536)) };
    let assigned = GroupChange::Assigned { lead, basis, assignments };
    let event = |change| Event::Group { id: Revision(1), group: "large".into(), change };
    let written = batch(NAMESPACE, 0, vec![event(configured.clone()), event(assigned.clone())]);
    subject.one.append(&written, false).await.expect("the batch is accepted");
    let log = subject.log_after(NAMESPACE, 0).await.expect("the log can be read");
    assert!(log == [Arc::new(written)]);

    let mut large = Some(members);
    for (change, revision) in [configured, assigned].iter().zip(1..) {
        large = Group::after(large, Revision(1), &"large".into(), Revision(revision), change);
    }
    let groups: Vec<Arc<Group>> = large.into_iter().collect();
    let changes = RowChanges { groups: groups.clone(), ..no_changes(0, 2) };
    subject.one.save(NAMESPACE, &changes).await.expect("the rows are saved");
    let loaded = subject.two.load(NAMESPACE).await.expect("the rows can be loaded");
    assert!(loaded == Rows { revision: Revision(2), groups, ..Rows::default() });
}
