//! White-box tests: the equality and the construction of tables.

use super::*;
use crate::testing::{Build, Lab, configure, connect, join};

/// A table with some of each kind of state.
fn table() -> Table {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    lab.accept(configure("a", LockSettings { limit: Some(1), preempt: None }));
    lab.accept(join("ann", "g").in_open_session());
    lab.accept(connect("client", 1));
    lab.table
}

#[test]
fn tables_are_equal_only_if_all_their_state_is_equal() {
    assert_eq!(table(), table());
    let changes: [fn(&mut Table); 13] = [
        |table| table.revision = Revision(1_000),
        |table| table.lost = Revision(1),
        |table| table.clients.clear(),
        |table| table.connected.clear(),
        |table| table.sessions.clear(),
        |table| table.opened = Ascending::default(),
        |table| table.claims = Ascending::default(),
        |table| table.locks = Locks::default(),
        |table| table.settings.clear(),
        |table| table.groups.clear(),
        |table| table.memberships.clear(),
        |table| table.census.add(Some(&"token:ann".into()), Counted::Session),
        |table| table.homes.clear(),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut other = table();
        change(&mut other);
        assert_ne!(other, table(), "{index}");
    }
}

#[test]
fn restored_table_has_its_locks_sorted() {
    let (sessions, claims) = (table().sessions.into_values().collect(), table().claims.values().cloned().collect());
    let restored = Table::restore(Revision(9), Revision(0), Vec::new(), sessions, claims, Vec::new(), Vec::new());
    assert!(restored.lock("a").is_some() && restored.locks.are_sorted() && !table().locks.are_sorted());
}
