//! Limits per identity on the objects that it has at once.

use tenure_core::testing::{Build, Lab, acquire, cancel, close, join, label, leave, open};
use tenure_core::{CLAIM_BYTES, Command, Limits, Outcome, Rejection, Request, Table, Text};

/// The two callers, by the requests that they make of commands, under these limits.
fn callers(limits: Limits) -> [impl Fn(Command) -> Request; 2] {
    ["token:ann", "token:bob"].map(|identity| move |command: Command| command.by(Some(&Text::from(identity)), limits))
}

fn assert_limited(lab: &mut Lab, request: Request, what: &str, bound: usize) {
    let limit = Box::leak(format!("{what} of this identity in the namespace").into_boxed_str());
    assert_eq!(lab.reject(request), Rejection::LimitReached { limit, bound });
}

#[test]
fn sessions_are_counted_however_they_are_opened() {
    let [ann, bob] = callers(Limits { sessions: Some(2), ..Limits::default() });
    for third in [open("s3"), acquire("s3", "a"), join("s3", "g")] {
        let mut lab = Lab::default();
        lab.accept(ann(open("s1")));
        lab.accept(ann(open("s2")));
        assert_limited(&mut lab, ann(third.clone()), "sessions", 2);
        lab.accept(ann(open("s2")));
        lab.accept(ann(acquire("s1", "b")));
        lab.accept(bob(open("s4")));
        lab.accept(ann(close("s1")));
        lab.accept(ann(third));
    }
}

#[test]
fn claims_are_counted_held_or_waiting() {
    let [ann, bob] = callers(Limits { claims: Some(2), ..Limits::default() });
    let mut lab = Lab::default();
    lab.grant(bob(acquire("b", "y")));
    lab.grant(ann(acquire("a", "x")));
    lab.queue(ann(acquire("a", "y")));
    assert_limited(&mut lab, ann(acquire("a", "z")), "claims", 2);
    assert_limited(&mut lab, ann(acquire("a2", "z")), "claims", 2);
    // A repetition and a failed attempt add no claim.
    lab.grant(ann(acquire("a", "x")));
    lab.queue(ann(acquire("a", "y").queue(false)));
    lab.grant(bob(acquire("b", "z")));
    assert!(matches!(lab.accept(ann(acquire("a", "z").queue(false))), Outcome::Busy { .. }));
    lab.accept(ann(cancel("a", "y")));
    lab.grant(ann(acquire("a", "w")));
    assert_limited(&mut lab, ann(acquire("a", "v")), "claims", 2);
}

#[test]
fn waiters_are_counted_until_they_hold() {
    let [ann, bob] = callers(Limits { waiters: Some(1), ..Limits::default() });
    let mut lab = Lab::default();
    lab.grant(bob(acquire("b", "x")));
    lab.grant(bob(acquire("b", "y")));
    lab.queue(ann(acquire("a", "x")));
    assert_limited(&mut lab, ann(acquire("a", "y")), "waiters", 1);
    lab.grant(ann(acquire("a", "free")));
    lab.accept(bob(cancel("b", "x")));
    lab.queue(ann(acquire("a", "y")));
}

#[test]
fn memberships_are_counted() {
    let [ann, bob] = callers(Limits { memberships: Some(1), ..Limits::default() });
    let mut lab = Lab::default();
    lab.accept(ann(join("a", "g")));
    lab.accept(ann(join("a", "g")));
    assert_limited(&mut lab, ann(join("a", "h")), "memberships", 1);
    assert_limited(&mut lab, ann(join("a2", "g")), "memberships", 1);
    lab.accept(bob(join("b", "g")));
    lab.accept(ann(leave("a", "g")));
    lab.accept(ann(join("a", "h")));
    lab.accept(ann(close("a")));
    lab.accept(ann(join("a", "g")));
}

#[test]
fn session_that_ends_and_all_that_it_had_count_no_more() {
    let limits = Limits { sessions: Some(1), claims: Some(2), waiters: Some(1), memberships: Some(1) };
    let [ann, bob] = callers(limits);
    let mut lab = Lab::default();
    lab.accept(bob(acquire("b", "taken")));
    for session in ["one", "two"] {
        lab.grant(ann(acquire(session, "free")));
        lab.queue(ann(acquire(session, "taken")));
        lab.accept(ann(join(session, "g")));
        lab.table = lab.replayed();
        assert_limited(&mut lab, ann(open("more")), "sessions", 1);
        assert_limited(&mut lab, ann(acquire(session, "more")), "claims", 2);
        assert_limited(&mut lab, ann(join(session, "more")), "memberships", 1);
        lab.accept(ann(close(session)));
    }
}

#[test]
fn command_that_is_undone_was_never_counted() {
    let [ann, _] = callers(Limits { sessions: Some(1), claims: Some(1), waiters: None, memberships: Some(1) });
    let mut lab = Lab::default();
    for command in [open("a"), acquire("a", "x"), join("a", "g")] {
        lab.table.decide(ann(command), &mut Vec::new()).expect("within the limits");
    }
    lab.table.undo();
    assert_eq!(lab.table, Table::default());
    lab.accept(ann(acquire("b", "x")));
    lab.accept(ann(join("b", "g")));
}

#[test]
fn limit_that_is_lowered_removes_nothing() {
    let mut lab = Lab::default();
    let [ann, _] = callers(Limits::default());
    for name in ["x", "y", "z"] {
        lab.grant(ann(acquire("a", name)));
    }
    let [ann, _] = callers(Limits { claims: Some(1), ..Limits::default() });
    assert_limited(&mut lab, ann(acquire("a", "w")), "claims", 1);
    lab.grant(ann(acquire("a", "y")));
    assert_eq!(lab.table.claims().count(), 3);
}

#[test]
fn limit_of_zero_allows_nothing() {
    let [ann, _] = callers(Limits { sessions: Some(0), ..Limits::default() });
    assert_limited(&mut Lab::default(), ann(open("a")), "sessions", 0);
}

/// Names, labels and claims each count with their size in a reply.
#[test]
fn claims_of_a_session_are_bounded_in_bytes() {
    let [ann, _] = callers(Limits::default());
    let labels = |size: usize| label("label", &"x".repeat(size));
    let claim =
        |number: usize, size: usize| ann(acquire("s", format!("name {number}")).in_open_session().labels(labels(size)));
    let full = Rejection::LimitReached { limit: "bytes of claims of one session", bound: CLAIM_BYTES };
    let mut lab = Lab::default();
    lab.accept(ann(open("s")));
    let held = (0..).take_while(|number| lab.decide(claim(*number, 4_000)).is_ok()).count();
    let texts = ["label", "name 123", "s", "owner"].map(str::len).into_iter().sum::<usize>();
    assert_eq!(held, CLAIM_BYTES / (4_000 + 128 + 2 * 16 + texts));
    let small = (held..).take_while(|number| lab.decide(claim(*number, 0)).is_ok()).count();
    let next = held + small;
    assert_eq!(lab.reject(claim(next, 0)), full);
    // Repeating an acquire adds nothing, and labels may shrink.
    let token = lab.grant(claim(0, 4_000)).token().expect("held");
    let update = |size: usize| {
        let metadata = labels(size);
        ann(Command::UpdateClaim { session: "s".into(), name: "name 0".into(), token, metadata })
    };
    assert_eq!(lab.reject(update(4_200)), full, "it exceeds what is left");
    lab.accept(update(0));
    lab.grant(claim(next, 3_000));
    let _ = lab.replayed();
}
