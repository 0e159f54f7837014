//! Declarations: what is made, and what is reported as absent.

use tenure_core::testing::{
    Build, Lab, acquire, cancel, change, close, connect, declaration, declared_claim, join, leave, move_to, open,
    operator, release, transfer,
};
use tenure_core::{Absence, Change, Handoff, Limits, Outcome, Rejection, ServerId};

use super::{KIM, LEE, declare, items, lab, token, withdraw};

/// What is absent because the claim of this client and number holds or goes first.
fn blockers(lab: &Lab, absent: &[(u64, Absence)]) -> Vec<(u64, String, u64)> {
    let blocker = |(number, absence): &(u64, Absence)| match absence {
        Absence::Busy { blocker } => (*number, blocker.spec.session.to_string(), blocker.spec.declared),
        other => panic!("not busy at {}: {other:?}", lab.table.revision()),
    };
    absent.iter().map(blocker).collect()
}

#[test]
fn used_number_is_reported_as_ended() {
    let mut lab = lab();
    let all = || declaration(1).claims(declared_claim(2, "a")).joins(4, "g");
    assert_eq!(lab.reconcile(declare(KIM, all())), []);
    assert_eq!(lab.reconcile(declare(KIM, all())), [], "what exists is not made again");
    lab.reconcile(withdraw(KIM, [2, 4]));
    assert_eq!(lab.reconcile(declare(KIM, all())), [(2, Absence::Ended(None)), (4, Absence::Ended(None))]);
    let skipped = declaration(1).claims(declared_claim(3, "a"));
    assert_eq!(lab.reconcile(declare(KIM, skipped)), [(3, Absence::Ended(None))], "a greater number was used");
    lab.reconcile(withdraw(KIM, [1]));
    let again = all().opens("ann");
    assert_eq!(lab.reconcile(declare(KIM, again)), [1, 2, 4].map(|number| (number, Absence::Ended(None))));
    assert_eq!((items(&lab, KIM), lab.table.claims().count()), (vec![], 0));
}

#[test]
fn number_of_something_else_is_reported_as_ended() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a")).joins(3, "g")));
    assert_eq!(lab.reconcile(declare(KIM, declaration(2).opens("bob"))), [(2, Absence::Ended(None))]);
    let others = declaration(1).claims(declared_claim(3, "b")).joins(2, "h");
    assert_eq!(lab.reconcile(declare(KIM, others)), [(3, Absence::Ended(None)), (2, Absence::Ended(None))]);
}

#[test]
fn everything_in_a_session_that_is_not_open_is_reported_as_ended() {
    let mut lab = lab();
    let absent = lab.reconcile(declare(KIM, declaration(2).claims(declared_claim(3, "a")).joins(4, "g")));
    assert_eq!(absent, [2, 3, 4].map(|number| (number, Absence::Ended(None))));
    assert_eq!(items(&lab, KIM), [1]);
}

#[test]
fn withdrawal_has_no_effect_if_it_is_repeated() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a"))));
    lab.reconcile(withdraw(KIM, [2]));
    lab.accept_without_effect(withdraw(KIM, [2, 7]));
}

#[test]
fn session_id_is_rejected_if_another_client_or_a_call_uses_it() {
    let mut lab = lab();
    lab.accept(open("plain"));
    for id in ["ann", "plain"] {
        let in_use = || Absence::Rejected(Rejection::SessionInUse(id.into()));
        let absent = lab.reconcile(declare(LEE, declaration(1).opens(id).claims(declared_claim(2, "a")).joins(3, "g")));
        assert_eq!(absent, [(1, in_use()), (2, in_use()), (3, in_use())]);
        let hello = connect(id, 1).declared(vec![declaration(1).opens(id)]);
        assert_eq!(lab.reconcile(hello), [(1, in_use())]);
    }
}

#[test]
fn call_is_rejected_if_it_would_change_a_declared_session() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a")).joins(3, "g")));
    let calls = [
        open("ann"),
        move_to("ann", ServerId(2)),
        acquire("ann", "b"),
        acquire("ann", "a").in_open_session(),
        cancel("ann", "a"),
        join("ann", "h"),
        leave("ann", "g"),
    ];
    for call in calls {
        assert_eq!(lab.reject(call.clone()), Rejection::SessionInUse("ann".into()), "{call:?}");
    }
    let held = token(&lab, KIM, 2).expect("held");
    lab.accept(release("ann", "a", held));
    assert_eq!(items(&lab, KIM), [1, 3], "a release by the token is no such call");
    lab.accept(close("ann"));
    assert_eq!(items(&lab, KIM), [], "and anyone with the right may close it");
}

#[test]
fn claims_of_one_session_exclude_each_other() {
    let mut lab = lab();
    let claims = declaration(1).claims(declared_claim(2, "a")).claims(declared_claim(3, ["a", "b"]));
    assert_eq!(lab.reconcile(declare(KIM, claims)), []);
    assert!(token(&lab, KIM, 2).is_some() && token(&lab, KIM, 3).is_none());
    let busy = lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(4, "b").tries())));
    assert_eq!(blockers(&lab, &busy), [(4, "ann".to_owned(), 3)], "a wait goes first");
    lab.reconcile(withdraw(KIM, [2]));
    assert!(token(&lab, KIM, 3).is_some());
    let _ = lab.replayed();
}

#[test]
fn session_is_not_opened_for_a_busy_claim() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a"))));
    let all = declaration(1).opens("bob").claims(declared_claim(2, "b")).claims(declared_claim(3, "a").tries());
    let (events, all) = (lab.events.len(), all.joins(4, "g"));
    let busy = lab.reconcile(declare(LEE, all.clone()));
    assert_eq!(blockers(&lab, &busy), [1, 2, 3, 4].map(|number| (number, "ann".to_owned(), 2)));
    assert_eq!((lab.events.len(), items(&lab, LEE)), (events, vec![]), "a failed try leaves no trace");
    lab.reconcile(withdraw(KIM, [2]));
    assert_eq!(lab.reconcile(declare(LEE, all)), [], "its numbers were not used");
    let _ = lab.replayed();
}

#[test]
fn session_is_not_opened_for_claims_that_exclude_each_other() {
    let mut lab = lab();
    let claims = declaration(3).opens("bob").claims(declared_claim(4, "a")).claims(declared_claim(5, "a").tries());
    let changes = [declaration(1).claims(declared_claim(2, "b")), claims].map(Change::Declare);
    let absent = lab.reconcile(change(KIM, 1, changes));
    assert_eq!(blockers(&lab, &absent), [3, 4, 5].map(|number| (number, "bob".to_owned(), 4)));
    assert_eq!((items(&lab, KIM), lab.table.session("bob").is_none()), (vec![1, 2], true));
    let _ = lab.replayed();
}

#[test]
fn session_is_opened_if_the_number_of_a_claim_that_would_be_busy_was_used() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a"))));
    let claims = declaration(3).opens("bob").claims(declared_claim(1, "a").tries());
    assert_eq!(lab.reconcile(declare(KIM, claims)), [(1, Absence::Ended(None))]);
    assert_eq!(items(&lab, KIM), [1, 2, 3]);
}

#[test]
fn open_session_stays_open_if_a_claim_in_it_is_busy() {
    let mut lab = lab();
    lab.reconcile(declare(LEE, declaration(1).opens("bob").claims(declared_claim(2, "a"))));
    let claims = declaration(1).claims(declared_claim(2, "a").tries()).claims(declared_claim(3, "b").tries());
    let busy = lab.reconcile(declare(KIM, claims));
    assert_eq!(blockers(&lab, &busy), [(2, "bob".to_owned(), 2)]);
    assert_eq!(items(&lab, KIM), [1, 3]);
}

#[test]
fn group_is_joined_once_by_a_session() {
    let mut lab = lab();
    let absent = lab.reconcile(declare(KIM, declaration(1).joins(2, "g").joins(3, "g").joins(4, "h")));
    let overlap = Rejection::MembershipOverlap { group: "g".into(), session: "ann".into() };
    assert_eq!((absent, items(&lab, KIM)), (vec![(3, Absence::Rejected(overlap))], vec![1, 2, 4]));
}

#[test]
fn limit_is_checked_for_each_item() {
    let limits = Limits { sessions: Some(1), claims: Some(2), waiters: Some(1), memberships: Some(1) };
    let by_ann = |command: tenure_core::Command| command.by(Some(&"token:ann".into()), limits);
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a"))));
    lab.reconcile(by_ann(connect("max", 1)));
    let names = ["a", "a", "b", "c"].into_iter().zip(2..);
    let claims =
        names.fold(declaration(1).opens("max"), |all, (name, number)| all.claims(declared_claim(number, name)));
    let changes = [claims.joins(6, "g").joins(7, "h"), declaration(8).opens("one more")].map(Change::Declare);
    let absent = lab.reconcile(by_ann(change("max", 1, changes)));
    let limited: Vec<(u64, &str)> = absent
        .iter()
        .map(|(number, absence)| match absence {
            Absence::Rejected(Rejection::LimitReached { limit, .. }) => {
                (*number, limit.split(' ').next().expect("words"))
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(limited, [(3, "waiters"), (5, "claims"), (7, "memberships"), (8, "sessions")]);
    assert_eq!(items(&lab, "max"), [1, 2, 4, 6]);
}

#[test]
fn hold_is_transferred_to_another_claim_of_its_session() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a")).claims(declared_claim(3, "a"))));
    let held = token(&lab, KIM, 2).expect("held");
    let drain = std::time::Duration::ZERO;
    let asked = transfer("a", held).to("ann").initiator(Handoff::ByOperator { by: operator(), drain });
    assert!(matches!(lab.accept(asked), Outcome::Transferring { .. }));
    lab.reconcile(withdraw(KIM, [2]));
    assert_eq!((items(&lab, KIM), token(&lab, KIM, 3)), (vec![1, 3], Some(lab.table.revision())));
}

#[test]
fn closing_a_session_hands_over_what_it_was_asked_for() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a"))));
    let held = token(&lab, KIM, 2).expect("held");
    for session in ["eve", "bob"] {
        lab.accept(open(session));
        lab.wait(session, "a");
    }
    let drain = std::time::Duration::ZERO;
    lab.accept(transfer("a", held).to("bob").initiator(Handoff::ByOperator { by: operator(), drain }));
    lab.reconcile(withdraw(KIM, [1]));
    assert_eq!(items(&lab, KIM), []);
    assert_eq!(&*lab.holder("a").expect("held").spec.session, "bob");
}
