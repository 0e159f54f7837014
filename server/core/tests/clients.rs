//! Clients, which declare what they want to have.

mod declarations;
mod properties;

use tenure_core::testing::{
    Build, HOME, Lab, abandon_client, adopt, at, change, connect, declaration, declared_claim, end_client, evict, open,
};
use tenure_core::{
    Absence, Change, Command, Declaration, EndReason, Event, Item, Limits, Recorded, Rejection, Request, Revision,
    ServerId,
};

const KIM: &str = "kim";
const LEE: &str = "lee";
const OTHER: ServerId = ServerId(2);

/// Declares something as the client that has connected once.
fn declare(client: &str, declaration: Declaration) -> Command {
    change(client, 1, [Change::Declare(declaration)])
}

fn withdraw(client: &str, numbers: impl IntoIterator<Item = u64>) -> Command {
    change(client, 1, numbers.into_iter().map(Change::Withdraw))
}

/// A lab with two connected clients, the first of which has the session 1.
fn lab() -> Lab {
    let mut lab = Lab::default();
    lab.reconcile(connect(KIM, 1));
    lab.reconcile(connect(LEE, 1));
    assert_eq!(lab.reconcile(declare(KIM, declaration(1).opens("ann"))), []);
    lab
}

/// The numbers of everything that a client has.
fn items(lab: &Lab, client: &str) -> Vec<u64> {
    lab.table
        .client(client)
        .map(|found| found.items.after(0, usize::MAX).into_iter().map(|(number, _)| number).collect())
        .unwrap_or_default()
}

/// The token of a client's claim; none if it waits.
fn token(lab: &Lab, client: &str, number: u64) -> Option<Revision> {
    match lab.table.client(client).and_then(|found| found.items.get(number)) {
        Some(Item::Claim(claim)) => lab.table.claim(claim).expect("a claim").token(),
        other => panic!("no claim: {other:?}"),
    }
}

fn superseded(client: &str) -> Rejection {
    Rejection::ClientSuperseded(client.into())
}

fn by(identity: &str, command: Command) -> Request {
    command.by(Some(&identity.into()), Limits::default())
}

#[test]
fn hello_with_stale_or_equal_epoch_is_rejected() {
    let mut lab = Lab::default();
    lab.reconcile(connect(KIM, 3));
    for epoch in [2, 3] {
        assert_eq!(lab.reject(connect(KIM, epoch).at(OTHER)), superseded(KIM));
    }
    assert_eq!(lab.reconcile(connect(KIM, 4)), []);
}

#[test]
fn hello_and_change_of_another_identity_are_rejected() {
    let mut lab = Lab::default();
    lab.reconcile(by("token:ann", connect(KIM, 1)));
    let another = Rejection::ClientOfAnother(KIM.into());
    assert_eq!(lab.reject(by("token:bob", connect(KIM, 2))), another);
    assert_eq!(lab.reject(by("token:bob", declare(KIM, declaration(1).opens("s")))), another);
    assert_eq!(lab.reconcile(by("token:ann", declare(KIM, declaration(1).opens("s")))), []);
    assert_eq!(lab.reconcile(by("token:ann", connect(KIM, 2).known(vec![1]))), []);
}

#[test]
fn declared_session_belongs_to_the_caller_if_its_client_connected_without_authentication() {
    let mut lab = lab();
    lab.reconcile(by("token:ann", declare(KIM, declaration(2).opens("bob"))));
    let spec = &lab.table.session("bob").expect("open").spec;
    assert_eq!(spec.identity.as_deref(), Some("token:ann"));
}

#[test]
fn hello_received_before_the_end_of_its_client_is_rejected() {
    let mut lab = Lab::default();
    lab.reconcile(connect(KIM, 1));
    let before = lab.table.revision();
    lab.accept(end_client(KIM, 1));
    assert_eq!(lab.reject(connect(KIM, 2).received(before)), Rejection::ClientEnded(KIM.into()));
    assert_eq!(lab.reconcile(connect(KIM, 2).received(lab.table.revision())), []);
}

#[test]
fn change_on_another_stream_is_rejected() {
    let mut lab = lab();
    lab.reconcile(connect(KIM, 2).at(OTHER).known(vec![1]));
    let again = || change(KIM, 2, [Change::Withdraw(1)]);
    assert_eq!(lab.reject(withdraw(KIM, [1]).at(OTHER)), superseded(KIM), "of the epoch before");
    assert_eq!(lab.reject(again()), superseded(KIM), "at another server");
    assert_eq!(lab.reject(change("max", 1, [])), superseded("max"), "of a client that has not connected");
    lab.reconcile(again().at(OTHER));
    assert_eq!(items(&lab, KIM), []);
}

#[test]
fn change_on_a_stream_from_before_the_loss_of_history_is_rejected() {
    let mut lab = lab();
    let on_stream = |connected| Command::Change {
        client: KIM.into(),
        epoch: 1,
        home: HOME,
        connected,
        changes: vec![Change::Withdraw(1)],
    };
    let connected = lab.table.revision();
    lab.lose();
    assert_eq!(lab.reject(on_stream(connected)), superseded(KIM));
    assert_eq!(items(&lab, KIM), [1]);
    lab.reconcile(on_stream(lab.table.revision()));
    assert_eq!(items(&lab, KIM), []);
}

#[test]
fn known_number_is_reported_as_ended_if_it_is_absent() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a")).joins(3, "g")));
    lab.reconcile(withdraw(KIM, [2]));
    let hello = connect(KIM, 2).known(vec![1, 2, 3, 9]);
    assert_eq!(lab.reconcile(hello), [(2, Absence::Ended(None)), (9, Absence::Ended(None))]);
    assert_eq!(items(&lab, KIM), [1, 3]);
}

#[test]
fn reason_for_the_end_of_a_known_item_is_reported_unless_it_was_withdrawn() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a")).claims(declared_claim(3, "b"))));
    lab.accept(evict("a"));
    lab.reconcile(withdraw(KIM, [3]));
    let absent = [(2, Absence::Ended(Some(EndReason::Evicted))), (3, Absence::Ended(None))];
    assert_eq!(lab.reconcile(connect(KIM, 2).known(vec![1, 2, 3])), absent);
}

#[test]
fn item_is_withdrawn_by_a_hello_unless_it_is_known_or_declared() {
    let mut lab = lab();
    let claims = declaration(1).claims(declared_claim(2, "a")).claims(declared_claim(3, "b"));
    lab.reconcile(declare(KIM, claims.joins(4, "g")));
    lab.reconcile(declare(KIM, declaration(5).opens("bob").claims(declared_claim(6, "c"))));
    let before = token(&lab, KIM, 3);
    let declared = declaration(1).claims(declared_claim(3, "b"));
    assert_eq!(lab.reconcile(connect(KIM, 2).declared(vec![declared])), []);
    assert_eq!((items(&lab, KIM), token(&lab, KIM, 3)), (vec![1, 3], before), "the declared claim is the same");
    assert!(lab.table.group("g").is_none() && lab.table.session("bob").is_none());
    let _ = lab.replayed();
}

/// The number of claims that a request causes to be granted.
fn grants(lab: &mut Lab, request: Command) -> usize {
    let before = lab.events.len();
    lab.accept(request);
    let is_grant = |recorded: &&Recorded| matches!(recorded.event, Event::ClaimGranted { .. });
    lab.events[before..].iter().filter(is_grant).count()
}

#[test]
fn waits_are_withdrawn_before_holds() {
    let mut lab = lab();
    let claims = declaration(1).claims(declared_claim(2, "a")).claims(declared_claim(3, "a"));
    lab.reconcile(declare(KIM, claims));
    lab.reconcile(declare(LEE, declaration(1).opens("bob").claims(declared_claim(2, "a"))));
    assert_eq!(grants(&mut lab, connect(KIM, 2).known(vec![1])), 1);
    assert_eq!(token(&lab, LEE, 2), Some(lab.table.revision()));
}

#[test]
fn waits_are_withdrawn_and_abandoned_from_the_end_of_their_queue() {
    for request in [connect(KIM, 2).known(vec![1]), abandon_client(KIM, 1, Revision::MAX)] {
        let mut lab = lab();
        lab.reconcile(declare(LEE, declaration(1).opens("bob").claims(declared_claim(2, "a").shared())));
        // The second could be granted beside the hold, and would linger, if the first ended before it.
        let waits = [declared_claim(2, "a"), declared_claim(3, "a").shared().min_hold(at(5))];
        lab.reconcile(declare(KIM, waits.into_iter().fold(declaration(1), Declaration::claims)));
        assert_eq!((grants(&mut lab, request), items(&lab, KIM)), (0, vec![1]));
        assert_eq!(lab.table.claims().count(), 1);
    }
}

#[test]
fn sessions_move_with_their_client_in_one_event() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(2).opens("bob")));
    lab.accept(open("plain"));
    let homes = |lab: &Lab| ["ann", "bob", "plain"].map(|id| lab.table.session(id).expect("open").spec.home.0);
    let before = lab.events.len();
    lab.reconcile(connect(KIM, 2).at(OTHER).known(vec![1, 2]));
    assert_eq!((lab.events.len() - before, homes(&lab)), (1, [2, 2, 1]));
    lab.accept(adopt(OTHER, ServerId(3)));
    assert_eq!((lab.events.len() - before, homes(&lab)), (2, [3, 3, 1]));
    let late = change(KIM, 2, [Change::Withdraw(1)]).at(OTHER);
    assert_eq!(lab.reject(late), superseded(KIM), "at the server that was adopted");
    let _ = lab.replayed();
}

#[test]
fn abandoned_client_loses_its_waits_and_later_grants_only() {
    let mut lab = lab();
    lab.reconcile(declare(LEE, declaration(1).opens("bob").claims(declared_claim(2, "b"))));
    lab.reconcile(declare(LEE, declaration(1).claims(declared_claim(3, "c"))));
    let claims = ["a", "b", "c"].into_iter().zip(2..).map(|(name, number)| declared_claim(number, name));
    lab.reconcile(declare(KIM, claims.fold(declaration(1), |all, claim| all.claims(claim)).joins(9, "g")));
    let since = lab.table.revision();
    lab.reconcile(withdraw(LEE, [2]));
    assert!(token(&lab, KIM, 3) > Some(since) && token(&lab, KIM, 4).is_none());
    lab.accept_without_effect(abandon_client(KIM, 1, since).at(OTHER));
    lab.accept_without_effect(abandon_client(KIM, 2, since));
    lab.accept(abandon_client(KIM, 1, since));
    assert_eq!(items(&lab, KIM), [1, 2, 9]);
}

#[test]
fn client_is_ended_only_if_it_has_nothing_and_has_not_connected_again() {
    let mut lab = lab();
    lab.accept_without_effect(end_client(KIM, 1));
    lab.reconcile(withdraw(KIM, [1]));
    lab.accept_without_effect(end_client(KIM, 1).at(OTHER));
    lab.accept_without_effect(end_client(KIM, 2));
    assert!(lab.table.client(KIM).is_some());
    lab.accept(end_client(KIM, 1));
    assert!(lab.table.client(KIM).is_none() && lab.table.client(LEE).is_some());
    let _ = lab.replayed();
}

#[test]
fn hold_is_granted_anew_by_a_hello_after_the_loss_of_history() {
    let mut lab = lab();
    lab.reconcile(declare(KIM, declaration(1).claims(declared_claim(2, "a"))));
    lab.reconcile(declare(LEE, declaration(1).opens("bob").claims(declared_claim(2, "a"))));
    let lost = lab.lose();
    lab.reconcile(connect(KIM, 2).known(vec![1, 2]));
    let anew = token(&lab, KIM, 2);
    assert!(anew > Some(lost));
    lab.reconcile(connect(KIM, 3).known(vec![1, 2]));
    assert_eq!((token(&lab, KIM, 2), token(&lab, LEE, 2)), (anew, None), "once, and to no other");
    let _ = lab.replayed();
}
