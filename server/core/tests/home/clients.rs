//! Clients: one renewal for all sessions, pauses, disconnect grace, and what a client that is gone leaves behind.

use std::time::Duration;

use tenure_core::testing::{HOME, Lab, adopt, at, opening};
use tenure_core::{
    AskedMode, Change, Command, Declaration, DeclaredClaim, DeclaredSession, EndReason, Hello, RenewError, Revision,
    ServerId, Text, no_labels,
};

const CLIENT: &str = "client";

fn client() -> Text {
    CLIENT.into()
}

fn hello(epoch: u64, known: &[u64]) -> Command {
    let (home, received, known) = (HOME, Revision(0), known.to_vec());
    Command::Connect(Hello { client: client(), epoch, home, received, identity: None, known, declared: Vec::new() })
}

fn change(epoch: u64, change: Change) -> Command {
    Command::Change { client: client(), epoch, home: HOME, connected: Revision(0), changes: vec![change] }
}

/// Opens a session with this TTL and disconnect grace.
fn open(number: u64, id: &str, ttl: Duration, grace: Option<Duration>) -> Command {
    let opening = tenure_core::Opening { ttl, ..opening() };
    let opening = Some(DeclaredSession { id: id.into(), disconnect_grace: grace, opening });
    let (claims, memberships) = (Vec::new(), Vec::new());
    change(1, Change::Declare(Declaration { session: number, opening, claims, memberships }))
}

/// Claims a lock in a session.
fn claim(epoch: u64, session: u64, number: u64, name: &str) -> Command {
    let (names, metadata) = (Text::from(name).into(), no_labels());
    let (mode, queue, priority, min_hold) = (AskedMode::Exclusive, true, 0, Duration::ZERO);
    let claims = vec![DeclaredClaim { number, names, mode, queue, priority, metadata, min_hold }];
    change(epoch, Change::Declare(Declaration { session, opening: None, claims, memberships: Vec::new() }))
}

/// A connected client with a session "short" of 10 s and a session "long" of 30 s.
fn lab() -> Lab {
    let mut lab = Lab::default();
    lab.accept(hello(1, &[]));
    lab.accept(open(1, "short", at(10), None));
    lab.accept(open(2, "long", at(30), None));
    lab
}

fn renew(lab: &mut Lab) -> Result<(), RenewError> {
    lab.home.renew_client(&client(), 1, lab.now)
}

fn disconnect(lab: &mut Lab, by_client: bool) {
    let since = lab.table.revision();
    lab.home.client_disconnected(&client(), 1, since, by_client, lab.now);
}

#[test]
fn renewal_of_a_client_renews_all_its_sessions() {
    let mut lab = lab();
    for seconds in [8, 16, 24] {
        renew(lab.at(seconds)).expect("renewed");
        assert!(lab.expire().is_empty());
    }
    assert_eq!(lab.home.remaining("short", at(30)), Some(at(4)));
    assert!(lab.at(33).expire().is_empty());
    assert_eq!(lab.at(34).expire(), ["short"]);
    assert_eq!(lab.at(54).expire(), ["long"]);
}

#[test]
fn session_opened_after_the_last_renewal_lives_for_its_full_ttl() {
    let mut lab = lab();
    lab.at(5).accept(open(3, "later", at(10), None));
    assert_eq!(lab.at(10).expire(), ["short"]);
    assert!(lab.at(14).expire().is_empty());
    assert_eq!(lab.at(15).expire(), ["later"]);
    lab.at(100).accept(open(4, "last", at(10), None));
    assert_eq!(lab.at(109).expire(), ["long"]);
    assert_eq!(lab.at(110).expire(), ["last"]);
}

#[test]
fn session_opened_late_is_renewed_with_the_client_from_then_on() {
    let mut lab = lab();
    lab.at(9).accept(open(3, "later", at(10), None));
    renew(lab.at(9)).expect("renewed");
    renew(lab.at(18)).expect("renewed");
    assert!(lab.at(27).expire().is_empty());
    renew(lab.at(27)).expect("renewed");
    assert!(lab.at(36).expire().is_empty());
    assert_eq!(lab.at(37).expire(), ["short", "later"]);
}

#[test]
fn renewal_revives_no_session_whose_time_was_up() {
    let mut lab = lab();
    renew(lab.at(10)).expect("renewed");
    assert_eq!(lab.expire(), ["short"]);
    assert_eq!(lab.home.remaining("long", at(10)), Some(at(30)));
}

#[test]
fn session_that_outlives_the_timer_of_its_client_still_expires() {
    let mut lab = lab();
    // The loss gives them time beyond the client's; then the server cannot take renewals for a while.
    lab.home.observe_lease(at(40));
    lab.lose();
    assert!(lab.at(10).expire().is_empty() && lab.at(30).expire().is_empty());
    lab.home.refresh(at(45));
    assert!(lab.at(50).expire().is_empty());
    assert_eq!(lab.at(55).expire(), ["short"]);
    assert!(lab.at(70).expire().is_empty());
    assert_eq!(lab.at(75).expire(), ["long"]);
}

#[test]
fn client_whose_last_stream_is_lost_history_is_disconnected() {
    let mut lab = lab();
    let before = lab.replayed();
    lab.accept(hello(2, &[1, 2]));
    lab.table = before;
    lab.home.rebuild(&lab.table, lab.now);
    lab.home.client_disconnected(&client(), 2, lab.table.revision(), false, lab.now);
    assert_eq!(lab.at(10).expire(), ["short"]);
    assert_eq!(lab.at(30).expire(), ["long"]);
    lab.run_due();
    assert!(lab.table.client(CLIENT).is_none(), "it has nothing left, and is ended");
}

#[test]
fn renewal_with_another_epoch_is_rejected() {
    let mut lab = lab();
    lab.accept(hello(2, &[1, 2]));
    assert_eq!(renew(lab.at(1)), Err(RenewError::NotHome));
    assert_eq!(lab.home.renew_client(&"other".into(), 1, at(1)), Err(RenewError::NotHome));
    lab.home.renew_client(&client(), 2, at(1)).expect("renewed");
}

#[test]
fn paused_session_ages_from_the_last_renewal() {
    let mut lab = lab();
    renew(lab.at(4)).expect("renewed");
    assert!(lab.home.pause(&client(), 1, at(6)));
    renew(lab.at(12)).expect("renewed");
    assert!(lab.at(13).expire().is_empty());
    assert_eq!(lab.at(14).expire(), ["short"]);
}

#[test]
fn resumed_session_is_renewed_again() {
    let mut lab = lab();
    assert!(lab.home.pause(&client(), 1, at(1)));
    lab.home.resume(&client(), 1, at(9)).expect("resumed");
    assert!(lab.at(18).expire().is_empty());
    renew(lab.at(18)).expect("renewed");
    assert!(lab.at(27).expire().is_empty());
    assert_eq!(lab.at(28).expire(), ["short"]);
}

#[test]
fn session_whose_time_was_up_is_not_resumed() {
    let mut lab = lab();
    assert!(lab.home.pause(&client(), 1, at(1)));
    assert_eq!(lab.home.resume(&client(), 1, at(10)), Err(RenewError::Ended(EndReason::Expired)));
    assert_eq!(lab.at(10).expire(), ["short"]);
}

#[test]
fn sessions_with_a_grace_end_after_it_when_the_client_disconnects() {
    let mut lab = lab();
    lab.accept(open(3, "graced", at(30), Some(at(2))));
    disconnect(lab.at(5), true);
    assert!(lab.at(6).end().is_empty());
    assert_eq!(lab.at(7).end(), [("graced".to_owned(), EndReason::Disconnected)]);
    assert_eq!(lab.at(10).end(), [("short".to_owned(), EndReason::Expired)]);
}

#[test]
fn grace_counts_anew_after_an_outage_of_the_server() {
    let mut lab = lab();
    lab.accept(open(3, "graced", at(30), Some(at(2))));
    disconnect(lab.at(3), true);
    lab.home.refresh(at(4));
    assert!(lab.at(5).end().is_empty());
    assert_eq!(lab.at(6).end(), [("graced".to_owned(), EndReason::Disconnected)]);
}

/// A server that is cut off may answer the client's renewals for the rest of its lease.
#[test]
fn grace_counts_after_the_longest_lease_when_history_was_lost() {
    let mut lab = lab();
    lab.accept(open(3, "graced", at(30), Some(at(2))));
    lab.home.observe_lease(at(3));
    lab.at(5).lose();
    disconnect(lab.at(5), true);
    assert!(lab.at(9).end().is_empty());
    assert_eq!(lab.at(10).end(), [("graced".to_owned(), EndReason::Disconnected)]);
}

#[test]
fn session_expires_within_its_grace_if_its_ttl_passes() {
    let mut lab = lab();
    lab.accept(open(3, "graced", at(10), Some(at(4))));
    disconnect(lab.at(8), true);
    assert_eq!(lab.at(10).expire(), ["graced", "short"]);
}

#[test]
fn no_grace_counts_when_the_server_ended_the_stream() {
    let mut lab = lab();
    lab.accept(open(3, "graced", at(30), Some(at(2))));
    disconnect(lab.at(5), false);
    assert!(lab.at(9).end().is_empty());
}

#[test]
fn client_that_connects_again_in_time_keeps_its_sessions() {
    let mut lab = lab();
    lab.accept(open(3, "graced", at(10), Some(at(2))));
    disconnect(lab.at(5), true);
    lab.at(6).accept(hello(2, &[1, 2, 3]));
    assert!(lab.at(15).end().is_empty());
    assert_eq!(lab.at(16).expire(), ["graced", "short"]);
}

#[test]
fn end_of_an_earlier_stream_is_ignored() {
    let mut lab = lab();
    lab.accept(hello(2, &[1, 2]));
    disconnect(lab.at(1), true);
    lab.home.renew_client(&client(), 2, at(2)).expect("renewed");
}

#[test]
fn waits_and_later_grants_of_a_gone_client_end_after_the_reattach_time() {
    let mut lab = lab();
    for (number, name) in [(3, "mine"), (4, "granted-later"), (5, "waited-for")] {
        if name != "mine" {
            lab.hold("other", name);
        }
        lab.accept(claim(1, 2, number, name));
    }
    disconnect(lab.at(1), true);
    let token = lab.holder("granted-later").and_then(tenure_core::Claim::token).expect("held");
    lab.accept(tenure_core::testing::release("other", "granted-later", token));
    let holder = |lab: &Lab, name| lab.holder(name).map(|claim| claim.spec.session.to_string());
    assert_eq!(holder(&lab, "granted-later").as_deref(), Some("long"));
    lab.at(5).run_due();
    assert_eq!(holder(&lab, "granted-later").as_deref(), Some("long"), "it may still connect again");
    lab.at(6).run_due();
    assert_eq!(holder(&lab, "granted-later"), None);
    assert_eq!(holder(&lab, "mine").as_deref(), Some("long"), "it knows of this one");
    assert!(lab.table.lock("waited-for").is_some_and(|lock| lock.waiters().is_empty()));
}

#[test]
fn client_without_sessions_ends_when_it_disconnects() {
    let mut lab = Lab::default();
    lab.accept(hello(1, &[]));
    disconnect(lab.at(1), true);
    lab.run_due();
    assert!(lab.table.client(CLIENT).is_none());
}

#[test]
fn disconnected_client_ends_with_its_last_session() {
    let mut lab = lab();
    disconnect(lab.at(1), true);
    lab.at(29).run_due();
    assert!(lab.table.client(CLIENT).is_some());
    lab.at(30).run_due();
    lab.run_due();
    assert!(lab.table.client(CLIENT).is_none());
}

#[test]
fn due_command_that_failed_is_due_again() {
    let mut lab = lab();
    disconnect(lab.at(1), true);
    lab.now = at(6);
    let due = lab.home.due(lab.now);
    assert!(matches!(due[..], [Command::AbandonClient { epoch: 1, .. }]), "{due:?}");
    lab.home.retry_at(&due[0], at(7));
    assert!(lab.home.due(at(6)).is_empty());
    assert!(lab.home.is_still_due(&due[0]));
    assert_eq!(lab.home.due(at(7)), due);
    lab.accept(hello(2, &[1, 2]));
    assert!(!lab.home.is_still_due(&due[0]), "it has connected again");
}

#[test]
fn adopted_client_has_a_fresh_ttl_and_the_reattach_time() {
    let dead = ServerId(9);
    let mut lab = Lab::default();
    let mut elsewhere = hello(1, &[]);
    if let Command::Connect(hello) = &mut elsewhere {
        hello.home = dead;
    }
    lab.accept(elsewhere);
    let Command::Change { changes, .. } = open(1, "short", at(10), Some(at(1))) else { unreachable!() };
    lab.accept(Command::Change { client: client(), epoch: 1, home: dead, connected: Revision(0), changes });
    assert!(!lab.home.has_session("short"));
    lab.at(20).accept(adopt(dead, HOME));
    assert!(lab.at(29).end().is_empty(), "it has not disconnected");
    assert_eq!(lab.at(30).expire(), ["short"]);
    lab.run_due();
    assert!(lab.table.client(CLIENT).is_none());
}

#[test]
fn client_that_connects_elsewhere_is_no_longer_counted_here() {
    let mut lab = lab();
    let mut elsewhere = hello(2, &[1, 2]);
    if let Command::Connect(hello) = &mut elsewhere {
        hello.home = ServerId(9);
    }
    lab.accept(elsewhere);
    assert!(!lab.home.has_session("short") && renew(&mut lab).is_err());
    assert!(lab.at(100).run_due().is_empty());
}

#[test]
fn outage_of_the_server_extends_all_sessions() {
    let mut lab = lab();
    lab.home.refresh(at(8));
    assert!(lab.at(17).expire().is_empty());
    assert_eq!(lab.at(18).expire(), ["short"]);
}

#[test]
fn plain_renewal_of_a_declared_session_is_rejected() {
    let mut lab = lab();
    assert_eq!(lab.home.renew("short", at(1)), Err(RenewError::OfClient));
}
