//! The longest renewal pause, as recorded in the event that ends a hold.

use std::time::Duration;

use tenure_core::{Command, Event, Eviction, Handoff, Outcome, Recorded, Revision, Tick};

use super::lab::{Lab, ME, OTHER, TTL, at};

/// Executes these commands at once. Returns the longest pause recorded in each event that ends a hold.
fn told(lab: &mut Lab, commands: Vec<Command>, now: Tick) -> Vec<Option<Duration>> {
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
    vec![Command::CloseSession { session: session.into(), client: None }]
}

#[test]
fn the_end_of_a_hold_tells_how_late_the_renewals_were_during_it() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.home.renew("ann", at(9)).expect("open");
    lab.acquire("ann", Duration::ZERO, at(9));
    lab.home.renew("ann", at(11)).expect("open");
    lab.home.renew("ann", at(15)).expect("open");
    lab.home.renew("ann", at(16)).expect("open");
    let claim = *lab.table.session("ann").expect("open").claims.first().expect("held");
    let renewals = lab.home.renewals(claim, "ann", Revision(1), at(17)).expect("kept here");
    assert_eq!((renewals.since_last, renewals.longest_pause), (at(1), at(4)));
    assert_eq!(told(&mut lab, close("ann"), at(17)), [Some(at(4))], "not the nine seconds before the grant");
}

#[test]
fn the_last_pause_counts_too() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.acquire("ann", Duration::ZERO, at(0));
    lab.home.renew("ann", at(3)).expect("open");
    let due = lab.home.due(at(13));
    assert_eq!(told(&mut lab, due, at(13)), [Some(TTL)], "an expired one was silent for its whole TTL");
}

#[test]
fn a_handoff_ends_a_hold_and_begins_another() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", ME, at(0));
    let Outcome::Held { claim, .. } = lab.acquire("ann", Duration::ZERO, at(0)) else { panic!("free") };
    lab.acquire("bob", Duration::ZERO, at(0));
    lab.home.renew("ann", at(3)).expect("open");
    lab.home.renew("bob", at(4)).expect("open");
    let by = Handoff::ByHolder { session: "ann".into() };
    let handoff = Command::Transfer { name: "a".into(), token: claim.token(), to: None, by };
    assert_eq!(told(&mut lab, vec![handoff], at(4)), [Some(at(3))]);
    lab.home.renew("bob", at(6)).expect("open");
    assert_eq!(told(&mut lab, close("bob"), at(7)), [Some(at(2))], "not the four seconds before the handoff");
}

#[test]
fn an_earlier_home_knew_of_other_pauses() {
    let mut lab = Lab::new();
    lab.open("ann", OTHER, at(0));
    lab.acquire("ann", Duration::ZERO, at(0));
    assert_eq!(lab.home.renewals(Revision(2), "ann", Revision(1), at(1)), None);
    lab.ask(Command::Adopt { dead: OTHER, by: ME }, at(100));
    lab.home.renew("ann", at(102)).expect("open");
    assert_eq!(told(&mut lab, close("ann"), at(103)), [Some(at(2))]);

    lab.open("bob", OTHER, at(103));
    lab.acquire("bob", Duration::ZERO, at(103));
    assert_eq!(told(&mut lab, close("bob"), at(104)), [None], "its home is elsewhere");
}

#[test]
fn the_end_of_lingering_and_of_waiting_tells_nothing() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", ME, at(0));
    let Outcome::Held { claim, .. } = lab.acquire("ann", at(6), at(1)) else { panic!("free") };
    let token = claim.token().expect("held");
    let eviction = Eviction { operator: "root".into(), note: "".into() };
    let at_once = vec![
        Command::Release { session: "ann".into(), name: "a".into(), token },
        Command::Evict { name: "a".into(), token: None, eviction },
    ];
    assert_eq!(told(&mut lab, at_once, at(2)), [Some(at(2)), None]);

    let Outcome::Held { claim, .. } = lab.acquire("ann", at(6), at(2)) else { panic!("free") };
    let token = claim.token().expect("held");
    lab.acquire("bob", Duration::ZERO, at(2));
    assert_eq!(told(&mut lab, close("bob"), at(3)), [None], "it never held anything");
    let release = Command::Release { session: "ann".into(), name: "a".into(), token };
    assert_eq!(told(&mut lab, vec![release], at(3)), [Some(at(3))]);
    let due = lab.home.due(at(8));
    assert_eq!(told(&mut lab, due, at(8)), [None], "the hold was over at three");
}
