//! White-box tests: the equality and the construction of tables.

use crate::command::Origin;
use std::time::Duration;

use super::*;
use crate::command::{AskedMode, Command};
use crate::end::Eviction;
use crate::group::GroupCommand;
use crate::model::{Opening, no_labels};

/// A table with some of each kind of state.
fn table() -> Table {
    let (session, group) = (Text::from("ann"), Text::from("g"));
    let (home, name, metadata) = (ServerId(1), Text::from("a"), no_labels());
    let opening = Opening {
        ttl: Duration::ZERO,
        disconnect_grace: None,
        owner: Text::from(""),
        metadata: metadata.clone(),
        identity: None,
    };
    let by = Eviction { operator: "op".into(), note: "".into() };
    let settings = LockSettings { limit: Some(1), preempt: None };
    let mut table = Table::default();
    let commands = [
        Command::Acquire {
            origin: Origin::default(),
            opened: None,
            session: session.clone(),
            opening: Some(opening),
            home,
            names: name.clone().into(),
            mode: AskedMode::Exclusive,
            queue: false,
            priority: 0,
            metadata: metadata.clone(),
            min_hold: Duration::ZERO,
        },
        Command::ConfigureLock { name, settings, by },
        Command::Group(GroupCommand::Join {
            group,
            session,
            opening: None,
            home,
            attached: None,
            opened: None,
            metadata,
        }),
    ];
    for command in commands {
        table.decide(command, &mut Vec::new()).expect("allowed");
    }
    table.commit();
    table
}

#[test]
fn two_are_equal_only_if_all_of_their_state_is() {
    assert_eq!(table(), table());
    let changes: [fn(&mut Table); 11] = [
        |table| table.revision = Revision(1_000),
        |table| table.lost = Revision(1),
        |table| table.sessions.clear(),
        |table| table.opened = ByRevision::default(),
        |table| table.claims = ByRevision::default(),
        |table| table.locks = Locks::default(),
        |table| table.settings.clear(),
        |table| table.groups.clear(),
        |table| table.memberships.clear(),
        |table| table.census.add(Some(&"token:ann".into()), Counted::Session),
        |table| table.homes.clear(),
    ];
    for (place, change) in changes.iter().enumerate() {
        let mut other = table();
        change(&mut other);
        assert_ne!(other, table(), "{place}");
    }
}

#[test]
fn the_locks_of_one_that_is_restored_are_sorted_from_the_start() {
    let (sessions, claims) = (table().sessions.into_values().collect(), table().claims.iter().cloned().collect());
    let restored = Table::restore(Revision(9), Revision(0), sessions, claims, Vec::new(), Vec::new());
    assert!(restored.lock("a").is_some() && restored.locks.are_sorted() && !table().locks.are_sorted());
}
