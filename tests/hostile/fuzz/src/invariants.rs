//! The invariants of every table.

use tenure_core::{Claim, ClaimState, Client, Item, Mode, Revision, Table};

/// Panics if a table is inconsistent.
pub(crate) fn check(table: &Table) {
    table.claims().for_each(|claim| check_claim(table, claim));
    for (name, lock) in table.locks_after("", None) {
        let holders: Vec<&Claim> = lock.holders().iter().filter_map(|id| table.claim(*id)).collect();
        assert_eq!(holders.len(), lock.holders().len(), "a holder of {name} has no claim");
        assert!(!holders.is_empty() || !lock.waiters().is_empty(), "{name} is idle");
        let permits: u64 = holders.iter().map(|holder| u64::from(holder.spec.mode.permits())).sum();
        assert_eq!(lock.permits(), permits, "permits of {name}");
        for holder in &holders {
            let count = |mode: Mode| holders.iter().filter(|other| other.spec.mode == mode).count();
            match holder.spec.mode {
                Mode::Exclusive => assert_eq!(holders.len(), 1, "an exclusive hold of {name} is not alone"),
                Mode::Shared => {
                    assert_eq!(count(Mode::Shared), holders.len(), "shared holds of {name} are beside others")
                }
                Mode::Permits { .. } => assert!(count(Mode::Shared) + count(Mode::Exclusive) == 0, "{name}"),
            }
        }
    }
    for session in table.sessions_after(Revision(0)) {
        let known = table.session(&session.spec.id).map(|known| known.opened);
        assert_eq!(known, Some(session.opened));
        if let Some(client) = session.spec.client.as_ref() {
            let client = table.client(client).expect("a declared session has a client");
            assert_eq!(client.items.get(session.spec.declared), Some(Item::Session(session.spec.id.clone())));
            assert_eq!(session.spec.home, client.home);
        }
        for id in session.claims.iter() {
            let claim = table.claim(*id).expect("a claim of a session");
            assert_eq!((claim.spec.opened, claim.lingers()), (session.opened, false));
        }
    }
    table.clients().for_each(|client| check_client(table, client));
    for group in table.groups_after("", None) {
        assert_eq!(
            group.lead.map(|lead| lead.member),
            group.members.keys().next().copied(),
            "the first member does not lead"
        );
        for member in group.members.values() {
            let session = table.session(&member.spec.session).expect("a member's session is open");
            assert_eq!(session.opened, member.spec.opened);
        }
    }
    assert_eq!(restored(table), *table, "the parts of a table are not the whole");
}

/// What a client has exists, and has its number.
fn check_client(table: &Table, client: &Client) {
    for (number, item) in &client.items.after(0, usize::MAX) {
        let (session, declared) = match item {
            Item::Session(id) => (id, table.session(id).map(|session| session.spec.declared)),
            Item::Claim(id) => {
                let claim = table.claim(*id).filter(|claim| !claim.lingers()).expect("a client's claim exists");
                (&claim.spec.session, Some(claim.spec.declared))
            }
            Item::Membership(of) => {
                let group = table.group(&of.group).expect("a client's group exists");
                let member = group.members.values().find(|member| member.spec.session == of.session);
                (&of.session, member.map(|member| member.spec.declared))
            }
        };
        assert_eq!(declared, Some(*number), "{item:?} of {client:?}");
        let session = table.session(session).expect("a client's session is open");
        assert_eq!(session.spec.client.as_ref(), Some(&client.id), "{item:?}");
        assert!(*number <= client.last, "{client:?}");
    }
}

fn check_claim(table: &Table, claim: &Claim) {
    assert!(!claim.spec.names.is_empty() && claim.spec.names.is_sorted(), "{claim:?}");
    for name in claim.spec.names.iter() {
        let lock = table.lock(name).expect("a claimed lock is kept");
        match claim.state {
            ClaimState::Waiting => assert!(lock.waiters().contains(&claim.rank()), "{claim:?} is not in the queue"),
            ClaimState::Held { .. } | ClaimState::Lingering { .. } => {
                assert!(lock.holders().contains(&claim.id), "{claim:?} is not among the holders");
            }
        }
    }
    if !claim.lingers() {
        let session = table.session(&claim.spec.session).expect("a claim's session is open");
        assert_eq!(session.opened, claim.spec.opened);
        assert!(session.claims.iter().any(|id| *id == claim.id), "{claim:?} is not in its session");
    }
    assert!(claim.token().is_none_or(|token| token >= claim.id && token <= table.revision()), "{claim:?}");
    assert!(claim.transfer.is_none() || matches!(claim.state, ClaimState::Held { .. }), "{claim:?}");
}

/// A table restored from the parts of another.
fn restored(table: &Table) -> Table {
    Table::restore(
        table.revision(),
        table.lost(),
        table.clients().cloned().collect(),
        table.sessions_after(Revision(0)).cloned().collect(),
        table.claims().cloned().collect(),
        table.all_settings().map(|(name, settings)| (name.clone(), settings.clone())).collect(),
        table.groups_after("", None).cloned().collect(),
    )
}
