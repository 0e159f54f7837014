//! Sessions belong to the identity that opened them, if identities are authenticated.

use tenure_core::testing::{
    Build, Lab, acquire, assign, cancel, close, evict, join, leave, move_to, open, release, transfer,
};
use tenure_core::{Basis, Command, Limits, Outcome, Rejection, Request, Revision, ServerId};

const SESSION: &str = "host-1";

fn ann(command: Command) -> Request {
    command.by(Some(&"token:ann".into()), Limits::default())
}

fn bob(command: Command) -> Request {
    command.by(Some(&"token:bob".into()), Limits::default())
}

/// All commands that a session can issue.
fn all(token: Revision) -> Vec<Command> {
    let basis = Basis { membership: Revision(0), config: Revision(0) };
    let metadata = Default::default();
    vec![
        open(SESSION),
        move_to(SESSION, ServerId(2)),
        close(SESSION),
        acquire(SESSION, "a").in_open_session(),
        acquire(SESSION, "a"),
        cancel(SESSION, "a"),
        release(SESSION, "a", token),
        Command::UpdateClaim { session: SESSION.into(), name: "a".into(), token, metadata },
        transfer("a", token).by_holder(SESSION),
        join(SESSION, "g").in_open_session(),
        join(SESSION, "g"),
        assign(SESSION, "g", token, basis, []),
        leave(SESSION, "g"),
    ]
}

#[test]
fn session_rejects_all_commands_of_another_identity() {
    let foreign = Rejection::SessionOfAnother(SESSION.into());
    for opens in [open(SESSION), acquire(SESSION, "a"), join(SESSION, "g")] {
        let mut lab = Lab::default();
        lab.accept(ann(opens));
        let claim = lab.grant(ann(acquire(SESSION, "a").in_open_session()));
        lab.accept(ann(join(SESSION, "g").in_open_session()));
        for command in all(claim.token().expect("held")) {
            assert_eq!(lab.reject(bob(command.clone())), foreign, "{command:?}");
        }
        lab.accept(ann(close(SESSION)));
        lab.accept(bob(open(SESSION)));
        assert_eq!(lab.reject(ann(open(SESSION))), foreign, "the id was free again");
    }
}

#[test]
fn session_accepts_commands_if_its_opener_or_the_caller_is_not_authenticated() {
    let mut lab = Lab::default();
    lab.accept(ann(open(SESSION)));
    lab.accept(acquire(SESSION, "a").in_open_session());
    let mut lab = Lab::default();
    lab.accept(open(SESSION));
    lab.accept(ann(acquire(SESSION, "a").in_open_session()));
    assert_eq!(lab.table.session(SESSION).expect("open").spec.identity, None);
}

#[test]
fn eviction_is_accepted_whatever_the_identity_of_the_session() {
    let mut lab = Lab::default();
    lab.accept(ann(open(SESSION)));
    let claim = lab.grant(ann(acquire(SESSION, "a").in_open_session()));
    let evicted = lab.accept(bob(evict("a").token(claim.token().expect("held"))));
    assert!(matches!(evicted, Outcome::Evicted(evicted) if evicted.len() == 1));
}
