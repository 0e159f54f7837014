//! A table restored from its parts, and lookups in it.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    AskedMode, Claim, Command, Event, Eviction, Group, GroupCommand, LockSettings, Opening, Origin, Recorded, Revision,
    ServerId, Session, Table, Text,
};

const HOME: ServerId = ServerId(1);
const LOST: Revision = Revision(1_000);

/// A table with a session that holds a lock, another that lingers on one and waits for the first, a group and settings.
fn table() -> Table {
    let mut table = Table::default();
    let mut ask = |command: Command| {
        table.decide(command, &mut Vec::new()).expect("allowed");
        table.commit();
    };
    let opening = |owner: &str| {
        let (ttl, owner, metadata) = (Duration::from_secs(9), Text::from(owner), Arc::default());
        Opening { ttl, disconnect_grace: None, owner, metadata, identity: None }
    };
    let acquire = |session: &str, name: &str, min_hold| Command::Acquire {
        origin: Origin::default(),
        opened: None,
        session: session.into(),
        opening: Some(opening("somebody")),
        home: HOME,
        names: Text::from(name).into(),
        mode: AskedMode::Exclusive,
        queue: true,
        priority: 0,
        metadata: Arc::default(),
        min_hold,
    };
    ask(acquire("ann", "a", Duration::ZERO));
    ask(acquire("bob", "b", Duration::from_secs(5)));
    ask(Command::CancelAcquire { session: "bob".into(), attached: None, names: Text::from("b").into() });
    ask(acquire("bob", "a", Duration::ZERO));
    let by = Eviction { operator: "op".into(), note: "".into() };
    ask(Command::ConfigureLock { name: "s".into(), settings: LockSettings { limit: Some(2), preempt: None }, by });
    let (group, session, metadata) = (Text::from("g"), Text::from("ann"), Arc::default());
    ask(Command::Group(GroupCommand::Join {
        group,
        session,
        opening: None,
        home: HOME,
        attached: None,
        opened: None,
        metadata,
    }));
    let after = table.revision();
    table.apply(&Recorded { revision: LOST, event: Event::HistoryLost { after } });
    table
}

/// The table restored from newly read texts, none of which shares an allocation with another.
fn restored(table: &Table) -> Table {
    let anew = |text: &Text| Text::from(&**text);
    let sessions: Vec<Session> = table.sessions_after(Revision(0)).cloned().collect();
    let claims = table.claims().map(|claim| {
        let mut spec = (*claim.spec).clone();
        (spec.session, spec.owner) = (anew(&spec.session), anew(&spec.owner));
        Claim { spec: Arc::new(spec), ..claim.clone() }
    });
    let settings = table.all_settings().map(|(name, settings)| (name.clone(), settings.clone())).collect();
    let groups: Vec<Arc<Group>> = table.groups_after("", None).cloned().collect();
    Table::restore(table.revision(), table.lost(), sessions, claims.collect(), settings, groups)
}

#[test]
fn it_is_as_the_other_was() {
    let (before, after) = (table(), restored(&table()));
    assert_eq!(after, before);
    assert_eq!((after.revision(), after.lost()), (LOST, LOST));
    assert!(after.homes().eq(before.homes()));
    assert_eq!(after.session("bob").map(|session| session.claims.len()), Some(1), "what lingers is nobody's");
}

#[test]
fn its_sessions_have_the_claims_that_are_there_whatever_they_were_given_with() {
    let sessions: Vec<Session> = table().sessions_after(Revision(0)).cloned().collect();
    assert!(sessions.iter().all(|session| !session.claims.is_empty()));
    let restored = Table::restore(LOST, LOST, sessions, Vec::new(), Vec::new(), Vec::new());
    assert!(restored.sessions_after(Revision(0)).all(|session| session.claims.is_empty()));
}

#[test]
fn its_claims_have_their_texts_in_common_with_their_sessions() {
    let table = restored(&table());
    let session = table.session("ann").expect("open");
    let claim = table.claim(*session.claims.first().expect("held")).expect("held");
    assert!(Arc::ptr_eq(&claim.spec.session, &session.spec.id));
    assert!(Arc::ptr_eq(&claim.spec.owner, &session.spec.owner));
}

#[test]
fn sessions_and_claims_are_found_by_their_revisions() {
    let table = table();
    let opened: Vec<Revision> = table.sessions_after(Revision(0)).map(|session| session.opened).collect();
    let [ann, bob] = opened[..] else { panic!("{opened:?}") };
    let id = |session: Option<&Session>| session.map(|session| session.spec.id.to_string());
    assert_eq!(id(table.session_opened_at(ann)).as_deref(), Some("ann"));
    assert_eq!(id(table.session_opened_at(bob)).as_deref(), Some("bob"));
    assert_eq!(id(table.session_opened_at(bob.next())), None);
    assert_eq!(id(table.sessions_after(ann).next()).as_deref(), Some("bob"));
    let claims: Vec<Revision> = table.claims().map(|claim| claim.id).collect();
    let later: Vec<Revision> = table.claims_after(claims[0]).map(|claim| claim.id).collect();
    assert_eq!((claims.len(), &later[..]), (3, &claims[1..]));
}
