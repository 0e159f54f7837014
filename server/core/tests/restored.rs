//! A table restored from its parts, and lookups in it.

use std::sync::Arc;

use tenure_core::testing::{
    self, Build, HOME, Lab, acquire, at, cancel, configure, connect, declaration, declared_claim, join,
};
use tenure_core::{Claim, Client, Items, LockSettings, Revision, ServerId, Session, Table, Text};

/// A table with a session that holds a lock, another that lingers on one and waits for the first, a group, settings,
/// and a client with one of each kind of item.
fn table() -> Table {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    lab.grant(acquire("bob", "b").min_hold(at(5)));
    lab.accept(cancel("bob", "b"));
    lab.wait("bob", "a");
    lab.accept(configure("s", LockSettings { limit: Some(2), preempt: None }));
    lab.accept(join("ann", "g").in_open_session());
    let declared = declaration(5).opens("kim").claims(declared_claim(6, "c")).joins(7, "g");
    lab.reconcile(connect("client", 3).declared(vec![declared]));
    lab.lose();
    lab.table
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
    let groups = table.groups_after("", None).cloned().collect();
    let clients = table.clients().cloned().collect();
    Table::restore(table.revision(), table.lost(), clients, sessions, claims.collect(), settings, groups)
}

#[test]
fn table_restored_from_its_parts_is_equal() {
    let before = table();
    assert!(before.lost() > Revision(1_000) && before.revision() == before.lost());
    for after in [restored(&before), testing::restored(&before)] {
        assert_eq!(after, before);
        assert_eq!((after.revision(), after.lost()), (before.revision(), before.lost()));
        assert!(after.homes().eq(before.homes()));
        assert_eq!(after.session("bob").map(|session| session.claims.len()), Some(1), "without the lingering one");
    }
}

#[test]
fn restored_sessions_have_the_restored_claims_and_no_others() {
    let sessions: Vec<Session> = table().sessions_after(Revision(0)).cloned().collect();
    assert!(sessions.iter().all(|session| !session.claims.is_empty()));
    let lost = table().lost();
    let restored = Table::restore(lost, lost, Vec::new(), sessions, Vec::new(), Vec::new(), Vec::new());
    assert!(restored.sessions_after(Revision(0)).all(|session| session.claims.is_empty()));
}

#[test]
fn restored_client_has_its_items_and_the_home_of_its_sessions_is_its_own() {
    let before = table();
    let moved = |client: &Client| Client { home: ServerId(2), items: Items::default(), ..client.clone() };
    let clients = before.clients().map(moved).collect();
    let (sessions, claims) =
        (before.sessions_after(Revision(0)).cloned().collect(), before.claims().cloned().collect());
    let groups = before.groups_after("", None).cloned().collect();
    let after = Table::restore(before.revision(), before.lost(), clients, sessions, claims, Vec::new(), groups);
    let [one, other] = [&before, &after].map(|table| table.client("client").expect("a client"));
    assert_eq!((one.items.after(0, usize::MAX).len(), &one.items, one.last), (3, &other.items, other.last));
    let home = |id: &str| after.session(id).expect("open").spec.home;
    assert_eq!((home("kim"), home("ann")), (ServerId(2), HOME));
}

#[test]
fn restored_claims_share_texts_with_their_sessions() {
    let table = restored(&table());
    let session = table.session("ann").expect("open");
    let claim = table.claim(*session.claims.first().expect("held")).expect("held");
    assert!(Text::ptr_eq(&claim.spec.session, &session.spec.id));
    assert!(Text::ptr_eq(&claim.spec.owner, &session.spec.owner));
}

#[test]
fn sessions_and_claims_are_found_by_their_revisions() {
    let table = table();
    let opened: Vec<Revision> = table.sessions_after(Revision(0)).map(|session| session.opened).collect();
    let [ann, bob, kim] = opened[..] else { panic!("{opened:?}") };
    let id = |session: Option<&Session>| session.map(|session| session.spec.id.to_string());
    assert_eq!(id(table.session_opened_at(ann)).as_deref(), Some("ann"));
    assert_eq!(id(table.session_opened_at(bob)).as_deref(), Some("bob"));
    assert_eq!(id(table.session_opened_at(kim.next())), None);
    assert_eq!(id(table.sessions_after(ann).next()).as_deref(), Some("bob"));
    let claims: Vec<Revision> = table.claims().map(|claim| claim.id).collect();
    let later: Vec<Revision> = table.claims_after(claims[0]).map(|claim| claim.id).collect();
    assert_eq!((claims.len(), &later[..]), (4, &claims[1..]));
}
