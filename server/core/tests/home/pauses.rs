//! The longest renewal pause, as recorded in the event that ends a hold.

use std::time::Duration;

use tenure_core::testing::{self, Build, HOME, Lab, TTL, adopt, at, evict, open, release, transfer};
use tenure_core::{Command, Event, Recorded, Revision, Tick};

use super::{OTHER, acquire};

/// Executes these commands at once. Returns the longest pause recorded in each event that ends a hold.
fn pauses(lab: &mut Lab, commands: Vec<Command>, now: Tick) -> Vec<Option<Duration>> {
    let mut events: Vec<Recorded> = Vec::new();
    for command in commands {
        lab.table.decide(command, &mut events).expect("allowed");
    }
    lab.home.record_pauses(&mut events, now);
    lab.table.commit();
    for recorded in &events {
        lab.home.observe(recorded, &lab.table, now);
    }
    let longest = |recorded: Recorded| match recorded.event {
        Event::ClaimLingering { longest_pause, .. }
        | Event::ClaimEnded { longest_pause, .. }
        | Event::ClaimTransferred { longest_pause, .. } => Some(longest_pause),
        _ => None,
    };
    events.into_iter().filter_map(longest).collect()
}

fn close(session: &str) -> Vec<Command> {
    vec![testing::close(session)]
}

#[test]
fn end_of_a_hold_records_the_longest_renewal_pause_during_it() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.home.renew("ann", at(9)).expect("open");
    lab.at(9).grant(acquire("ann"));
    lab.home.renew("ann", at(11)).expect("open");
    lab.home.renew("ann", at(15)).expect("open");
    lab.home.renew("ann", at(16)).expect("open");
    let claim = *lab.table.session("ann").expect("open").claims.first().expect("held");
    let renewals = lab.home.renewals(claim, "ann", Revision(1), at(17)).expect("kept here");
    assert_eq!((renewals.since_last, renewals.longest_pause), (at(1), at(4)));
    assert_eq!(pauses(&mut lab, close("ann"), at(17)), [Some(at(4))], "not the nine seconds before the grant");
}

#[test]
fn end_of_a_hold_by_expiry_records_the_last_pause() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.grant(acquire("ann"));
    lab.home.renew("ann", at(3)).expect("open");
    let due = lab.home.due(at(13));
    assert_eq!(pauses(&mut lab, due, at(13)), [Some(TTL)], "an expired one was silent for its whole TTL");
}

#[test]
fn handoff_records_the_pause_of_the_hold_that_it_ends() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.accept(open("bob"));
    let claim = lab.grant(acquire("ann"));
    lab.queue(acquire("bob"));
    lab.home.renew("ann", at(3)).expect("open");
    lab.home.renew("bob", at(4)).expect("open");
    let handoff = vec![transfer("a", claim.token().expect("held")).by_holder("ann")];
    assert_eq!(pauses(&mut lab, handoff, at(4)), [Some(at(3))]);
    lab.home.renew("bob", at(6)).expect("open");
    assert_eq!(pauses(&mut lab, close("bob"), at(7)), [Some(at(2))], "not the four seconds before the handoff");
}

#[test]
fn end_of_a_hold_records_only_pauses_at_its_present_home() {
    let mut lab = Lab::default();
    lab.accept(open("ann").at(OTHER));
    lab.grant(acquire("ann").at(OTHER));
    assert_eq!(lab.home.renewals(Revision(2), "ann", Revision(1), at(1)), None);
    lab.at(100).accept(adopt(OTHER, HOME));
    lab.home.renew("ann", at(102)).expect("open");
    assert_eq!(pauses(&mut lab, close("ann"), at(103)), [Some(at(2))]);

    lab.at(103).accept(open("bob").at(OTHER));
    lab.grant(acquire("bob").at(OTHER));
    assert_eq!(pauses(&mut lab, close("bob"), at(104)), [None], "another server is its home");
}

#[test]
fn end_of_lingering_and_of_waiting_records_no_pause() {
    let mut lab = Lab::default();
    lab.accept(open("ann"));
    lab.accept(open("bob"));
    let claim = lab.at(1).grant(acquire("ann").min_hold(at(6)));
    let token = claim.token().expect("held");
    assert_eq!(pauses(&mut lab, vec![release("ann", "a", token), evict("a")], at(2)), [Some(at(2)), None]);

    let claim = lab.at(2).grant(acquire("ann").min_hold(at(6)));
    let token = claim.token().expect("held");
    lab.queue(acquire("bob"));
    assert_eq!(pauses(&mut lab, close("bob"), at(3)), [None], "it held no lock");
    assert_eq!(pauses(&mut lab, vec![release("ann", "a", token)], at(3)), [Some(at(3))]);
    let due = lab.home.due(at(8));
    assert_eq!(pauses(&mut lab, due, at(8)), [None], "the hold was over at three");
}
