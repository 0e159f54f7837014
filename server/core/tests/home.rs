//! The home's timers, with time passed in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    Command, EndReason, Event, Eviction, Home, NotKept, Opening, Outcome, Recorded, Revision, ServerId, StreamId,
    Table, Text, Tick,
};

const ME: ServerId = ServerId(1);
const OTHER: ServerId = ServerId(2);
const TTL: Duration = Duration::from_secs(10);

const fn at(seconds: u64) -> Tick {
    Duration::from_secs(seconds)
}

struct Lab {
    table: Table,
    home: Home,
}

impl Lab {
    fn new() -> Self {
        Self { table: Table::default(), home: Home::new(ME, Duration::from_secs(5)) }
    }

    fn ask(&mut self, command: Command, now: Tick) -> Outcome {
        let mut events: Vec<Recorded> = Vec::new();
        let outcome = self.table.decide(command, &mut events).expect("allowed");
        self.table.commit();
        for recorded in &events {
            self.home.observe(recorded, &self.table, now);
        }
        outcome
    }

    fn open(&mut self, session: &str, home: ServerId, now: Tick) {
        let opening = Opening { ttl: TTL, owner: Text::from(""), metadata: Arc::new(BTreeMap::new()) };
        self.ask(Command::OpenSession { session: session.into(), opening, home }, now);
    }

    fn acquire(&mut self, session: &str, min_hold: Duration, now: Tick) -> Outcome {
        let command = Command::Acquire {
            session: session.into(),
            opening: None,
            home: self.table.session(session).expect("open").spec.home,
            names: vec!["a".into()],
            mode: tenure_core::AskedMode::Exclusive,
            queue: true,
            priority: 0,
            metadata: Arc::new(BTreeMap::new()),
            min_hold,
        };
        self.ask(command, now)
    }

    /// The sessions whose end is due, which are ended.
    fn expire(&mut self, now: Tick) -> Vec<String> {
        let due = self.home.due(now);
        let mut ended = Vec::new();
        for command in due {
            if let Command::EndSession { session, reason, .. } = &command {
                assert_eq!(*reason, EndReason::Expired);
                ended.push(session.to_string());
            }
            self.ask(command, now);
        }
        ended
    }
}

#[test]
fn a_session_lives_for_its_ttl_and_not_longer() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    assert_eq!(lab.home.next_deadline(), Some(at(10)));
    assert!(lab.expire(at(9)).is_empty());
    assert_eq!(lab.home.renew("ann", at(9)), Ok(TTL));
    assert!(lab.expire(at(10)).is_empty(), "it was renewed");
    assert!(lab.expire(at(18)).is_empty());
    assert_eq!(lab.expire(at(19)), ["ann"]);
    assert_eq!(lab.home.renew("ann", at(19)), Err(NotKept::Elsewhere), "nothing revives it");
}

#[test]
fn a_late_renewal_revives_nothing_even_before_the_end_is_committed() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    assert_eq!(lab.home.renew("ann", at(10)), Err(NotKept::Over));
    assert_eq!(lab.home.renew("ann", at(9)), Err(NotKept::Over), "whatever came in between");
    assert_eq!(lab.expire(at(10)), ["ann"]);
}

#[test]
fn an_end_that_could_not_be_written_stays_due() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let due = lab.home.due(at(10));
    assert_eq!(due.len(), 1);
    assert!(lab.home.due(at(11)).is_empty(), "it is under way");
    lab.home.again(&due[0], at(12));
    assert_eq!(lab.expire(at(12)), ["ann"]);
}

#[test]
fn a_fresh_ttl_for_all_after_the_server_could_take_no_renewals() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.home.refresh(at(9));
    assert!(lab.expire(at(10)).is_empty());
    assert_eq!(lab.home.remaining("ann", at(10)), Some(Duration::from_secs(9)));
    assert_eq!(lab.expire(at(19)), ["ann"]);
}

#[test]
fn a_session_that_moves_away_is_no_longer_kept() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.ask(Command::AttachSession { session: "ann".into(), home: OTHER }, at(1));
    assert_eq!(lab.home.renew("ann", at(2)), Err(NotKept::Elsewhere));
    assert!(lab.expire(at(30)).is_empty());
}

#[test]
fn adopted_sessions_live_for_a_full_ttl() {
    let mut lab = Lab::new();
    lab.open("ann", OTHER, at(0));
    assert_eq!(lab.home.session_count(), 0);
    lab.ask(Command::Adopt { dead: OTHER, by: ME }, at(100));
    assert_eq!(lab.home.remaining("ann", at(100)), Some(TTL));
    assert!(lab.expire(at(109)).is_empty());
    assert_eq!(lab.expire(at(110)), ["ann"]);
}

#[test]
fn a_shorter_ttl_takes_nothing_from_what_was_promised() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let opening = Opening { ttl: at(3), owner: Text::from(""), metadata: Arc::new(BTreeMap::new()) };
    lab.ask(Command::OpenSession { session: "ann".into(), opening, home: ME }, at(1));
    assert!(lab.expire(at(9)).is_empty(), "whoever renewed before counts on ten seconds");
    assert_eq!(lab.home.renew("ann", at(9)), Ok(at(3)));
    assert!(lab.expire(at(11)).is_empty());
    assert_eq!(lab.expire(at(12)), ["ann"]);
}

#[test]
fn a_minimum_hold_counts_from_the_grant() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    let Outcome::Held { claim, .. } = lab.acquire("ann", at(6), at(1)) else { panic!("free") };
    let token = claim.token().expect("held");
    lab.ask(Command::Release { session: "ann".into(), name: "a".into(), token }, at(2));
    assert!(lab.table.lock("a").is_some(), "it lingers");
    lab.expire(at(6));
    assert!(lab.table.lock("a").is_some(), "until six seconds after the grant");
    lab.expire(at(7));
    assert!(lab.table.lock("a").is_none());
}

#[test]
fn a_wait_that_nobody_attends_to_is_given_up_unless_somebody_comes_back() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", ME, at(0));
    lab.acquire("ann", Duration::ZERO, at(0));
    let Outcome::Waiting { claim, .. } = lab.acquire("bob", Duration::ZERO, at(0)) else { panic!("held by ann") };
    lab.home.leave(claim.id, at(1));
    lab.home.attend(claim.id);
    lab.expire(at(6));
    assert!(lab.table.claim(claim.id).is_some(), "somebody came back");
    lab.home.leave(claim.id, at(6));
    lab.home.renew("bob", at(9)).expect("open");
    lab.home.renew("ann", at(9)).expect("open");
    lab.expire(at(11));
    assert!(lab.table.claim(claim.id).is_none(), "nobody came back");
}

#[test]
fn waits_that_come_with_a_session_are_given_up_unless_asked_for() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.open("bob", OTHER, at(0));
    lab.acquire("ann", Duration::ZERO, at(0));
    let Outcome::Waiting { claim, .. } = lab.acquire("bob", Duration::ZERO, at(0)) else { panic!("held by ann") };
    lab.ask(Command::Adopt { dead: OTHER, by: ME }, at(1));
    lab.home.renew("ann", at(5)).expect("open");
    lab.expire(at(5));
    assert!(lab.table.claim(claim.id).is_some());
    lab.expire(at(6));
    assert!(lab.table.claim(claim.id).is_none());
}

#[test]
fn only_the_stream_attached_last_keeps_a_session_alive() {
    let mut lab = Lab::new();
    let (old, new) = (StreamId(1), StreamId(2));
    lab.open("ann", ME, at(0));
    assert_eq!(lab.home.attach("ann", old), Ok(None));
    assert_eq!(lab.home.attach("ann", old), Ok(None));
    assert_eq!(lab.home.keep_alive("ann", old, at(1)), Ok(TTL));
    assert_eq!(lab.home.attach("ann", new), Ok(Some(old)));
    assert_eq!(lab.home.keep_alive("ann", old, at(2)), Err(NotKept::NotAttached));
    assert_eq!(lab.home.keep_alive("ann", new, at(2)), Ok(TTL));
}

/// What the events in which holds end tell of the renewals, when these commands are carried out at once.
fn told(lab: &mut Lab, commands: Vec<Command>, now: Tick) -> Vec<Option<Duration>> {
    let mut events: Vec<Recorded> = Vec::new();
    for command in commands {
        lab.table.decide(command, &mut events).expect("allowed");
    }
    lab.home.tell_pauses(&mut events, now);
    lab.table.commit();
    for recorded in &events {
        lab.home.observe(recorded, &lab.table, now);
    }
    let longest = |recorded: Recorded| match recorded.event {
        Event::ClaimLingering { longest_pause, .. } | Event::ClaimEnded { longest_pause, .. } => Some(longest_pause),
        _ => None,
    };
    events.into_iter().filter_map(longest).collect()
}

fn close(session: &str) -> Vec<Command> {
    vec![Command::CloseSession { session: session.into() }]
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
    let claim = *lab.table.session("ann").expect("open").claim_ids().first().expect("held");
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
