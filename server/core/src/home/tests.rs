//! White-box tests: no state is left behind.

use super::*;
use crate::command::Origin;
use crate::command::{AskedMode, Command};
use crate::model::{Opening, no_labels};

const ME: ServerId = ServerId(1);

fn ask(table: &mut Table, home: &mut Home, command: Command, now: Tick) {
    let mut events = Vec::new();
    table.decide(command, &mut events).expect("allowed");
    table.commit();
    events.iter().for_each(|recorded| home.observe(recorded, table, now));
}

fn open(session: &str, ttl: Duration, home: ServerId) -> Command {
    let (owner, metadata) = (Text::from(""), no_labels());
    let opening = Opening { ttl, disconnect_grace: Some(ttl / 2), owner, metadata, identity: None };
    Command::OpenSession { session: session.into(), opening, home, attachment: 0, client: None }
}

fn acquire(session: &str, min_hold: Duration, home: ServerId) -> Command {
    Command::Acquire {
        origin: Origin::default(),
        opened: None,
        session: session.into(),
        opening: None,
        home,
        names: vec!["a".into()].into(),
        mode: AskedMode::Exclusive,
        queue: true,
        priority: 0,
        metadata: no_labels(),
        min_hold,
    }
}

#[test]
fn however_often_a_session_changes_and_is_renewed_it_has_one_timer() {
    let (mut table, mut home) = (Table::default(), Home::new(ME, Duration::from_secs(5)));
    for step in 0..100u64 {
        let now = Duration::from_millis(step);
        let ttl = Duration::from_secs(if step % 2 == 0 { 10 } else { 86_400 });
        ask(&mut table, &mut home, open("ann", ttl, ME), now);
        home.attach(&"ann".into(), StreamId(step), now).expect("kept");
        home.keep_alive("ann", StreamId(step), now).expect("kept");
        home.disconnected(StreamId(step), now);
        home.renew("ann", now).expect("kept");
        assert_eq!(home.timers.len(), 1);
    }
}

#[test]
fn of_what_is_over_no_timer_is_left() {
    let (mut table, mut home) = (Table::default(), Home::new(ME, Duration::from_secs(5)));
    for step in 0..100u64 {
        let now = Duration::from_millis(step);
        ask(&mut table, &mut home, open("ann", Duration::from_secs(10), ME), now);
        let acquire = acquire("ann", Duration::from_millis(step % 2), ME);
        ask(&mut table, &mut home, acquire, now);
        let claim = table.claims().next().expect("made").id;
        home.mark_abandoned(claim, now);
        home.mark_abandoned(claim, now + Duration::from_millis(1));
        home.register_caller(claim);
        home.mark_abandoned(claim, now);
        ask(&mut table, &mut home, Command::CloseSession { session: "ann".into(), client: None }, now);
        ask(&mut table, &mut home, Command::EndLingering { claim, home: ME }, now);
        assert_eq!((home.timers.len(), home.sessions.len(), home.held.iter().count()), (0, 0, 0));
    }
}

#[test]
fn nothing_is_kept_of_streams_that_sessions_have_left() {
    let (mut table, mut home) = (Table::default(), Home::new(ME, Duration::from_secs(5)));
    let now = Duration::ZERO;
    ask(&mut table, &mut home, open("ann", Duration::from_secs(10), ME), now);
    for stream in 0..100 {
        home.attach(&"ann".into(), StreamId(stream), now).expect("kept");
        assert_eq!(home.by_stream.len(), 1);
    }
    ask(&mut table, &mut home, Command::CloseSession { session: "ann".into(), client: None }, now);
    assert_eq!(home.by_stream.len(), 0);
}

#[test]
fn nothing_is_kept_of_what_sessions_hold_that_are_at_home_elsewhere() {
    let (mut table, mut home) = (Table::default(), Home::new(ME, Duration::from_secs(5)));
    let (now, other) = (Duration::ZERO, ServerId(2));
    ask(&mut table, &mut home, open("ann", Duration::from_secs(10), other), now);
    ask(&mut table, &mut home, acquire("ann", Duration::ZERO, other), now);
    assert_eq!(home.held.iter().count(), 0);
}

#[test]
fn the_end_of_another_stream_is_nothing_to_a_session() {
    let (now, second) = (Duration::ZERO, Duration::from_secs(1));
    let mut timer = SessionTimer::new(Revision(1), second * 10, Some(second), now);
    timer.attach(StreamId(1));
    assert!(!timer.disconnect(Some(StreamId(2)), now) && !timer.disconnect(None, now));
    assert_eq!(timer.stream(), Some(StreamId(1)));
    assert!(timer.disconnect(Some(StreamId(1)), now));
}
