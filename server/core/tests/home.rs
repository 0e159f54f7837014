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
const GRACE: Duration = Duration::from_secs(2);
const STREAM: StreamId = StreamId(1);
const OTHER_STREAM: StreamId = StreamId(2);

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
        self.open_with(session, TTL, None, home, now);
    }

    fn open_with(&mut self, session: &str, ttl: Duration, grace: Option<Duration>, home: ServerId, now: Tick) {
        let (owner, metadata) = (Text::from(""), Arc::new(BTreeMap::new()));
        let opening = Opening { ttl, disconnect_grace: grace, owner, metadata };
        self.ask(Command::OpenSession { session: session.into(), opening, home }, now);
    }

    /// Opens a session with a disconnect grace, attached to a stream.
    fn open_on(&mut self, session: &str, stream: StreamId, now: Tick) {
        self.open_with(session, TTL, Some(GRACE), ME, now);
        assert_eq!(self.home.attach(&session.into(), stream, now), Ok(None));
    }

    fn acquire(&mut self, session: &str, min_hold: Duration, now: Tick) -> Outcome {
        let command = Command::Acquire {
            session: session.into(),
            opening: None,
            home: self.table.session(session).expect("open").spec.home,
            names: vec!["a".into()].into(),
            mode: tenure_core::AskedMode::Exclusive,
            queue: true,
            priority: 0,
            metadata: Arc::new(BTreeMap::new()),
            min_hold,
        };
        self.ask(command, now)
    }

    /// The sessions whose end is due, which are ended, and why.
    fn end(&mut self, now: Tick) -> Vec<(String, EndReason)> {
        let due = self.home.due(now);
        let mut ended = Vec::new();
        for command in due {
            if let Command::EndSession { session, reason, .. } = &command {
                ended.push((session.to_string(), *reason));
            }
            self.ask(command, now);
        }
        ended
    }

    /// The sessions whose TTL has passed, which are ended.
    fn expire(&mut self, now: Tick) -> Vec<String> {
        let ended = self.end(now);
        assert!(ended.iter().all(|(_, reason)| *reason == EndReason::Expired), "{ended:?}");
        ended.into_iter().map(|(session, _)| session).collect()
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
    assert_eq!(lab.home.renew("ann", at(10)), Err(NotKept::Over(EndReason::Expired)));
    assert_eq!(lab.home.renew("ann", at(9)), Err(NotKept::Over(EndReason::Expired)), "whatever came in between");
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
    lab.open_with("ann", at(3), None, ME, at(1));
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
    assert_eq!(lab.home.attach(&"ann".into(), old, at(0)), Ok(None));
    assert_eq!(lab.home.attach(&"ann".into(), old, at(0)), Ok(None));
    assert_eq!(lab.home.keep_alive("ann", old, at(1)), Ok(TTL));
    assert_eq!(lab.home.attach(&"ann".into(), new, at(1)), Ok(Some(old)));
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

/// The one session that a test ended, as [`Lab::end`] tells of it.
fn disconnected(session: &str) -> Vec<(String, EndReason)> {
    vec![(session.to_owned(), EndReason::Disconnected)]
}

#[test]
fn a_session_outlives_its_stream_by_its_grace() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.home.disconnected(STREAM, at(3));
    assert_eq!(lab.home.next_deadline(), Some(at(5)));
    assert_eq!(lab.home.remaining("ann", at(3)), Some(GRACE));
    assert_eq!(lab.home.keep_alive("ann", STREAM, at(4)), Err(NotKept::NotAttached));
    assert!(lab.end(at(4)).is_empty());
    assert_eq!(lab.end(at(5)), disconnected("ann"));
}

#[test]
fn a_session_that_comes_back_within_its_grace_lives_on() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.home.disconnected(STREAM, at(3));
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(4)), Ok(None));
    lab.home.disconnected(STREAM, at(4));
    assert!(lab.end(at(13)).is_empty(), "its TTL counts again");
    assert_eq!(lab.end(at(14)), [("ann".to_owned(), EndReason::Expired)]);
}

#[test]
fn nothing_revives_a_session_after_its_grace() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.home.disconnected(STREAM, at(3));
    let over = NotKept::Over(EndReason::Disconnected);
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(5)), Err(over));
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(4)), Err(over), "whatever came in between");
    assert_eq!(lab.home.renew("ann", at(4)), Err(over));
    assert_eq!(lab.end(at(5)), disconnected("ann"));
}

#[test]
fn without_a_grace_the_end_of_a_stream_means_nothing() {
    let mut lab = Lab::new();
    lab.open("ann", ME, at(0));
    lab.home.attach(&"ann".into(), STREAM, at(0)).expect("open");
    lab.home.disconnected(STREAM, at(3));
    assert!(lab.end(at(9)).is_empty());
    assert_eq!(lab.expire(at(10)), ["ann"]);
}

#[test]
fn a_stream_that_was_left_for_another_one_ends_nothing() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(1)), Ok(Some(STREAM)));
    lab.home.disconnected(STREAM, at(2));
    assert!(lab.end(at(10)).is_empty());
    lab.home.keep_alive("ann", OTHER_STREAM, at(10)).expect("attached");
    lab.home.disconnected(OTHER_STREAM, at(10));
    assert_eq!(lab.end(at(12)), disconnected("ann"));
}

#[test]
fn a_session_that_moved_away_does_not_end_with_its_old_stream() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.ask(Command::AttachSession { session: "ann".into(), home: OTHER }, at(1));
    lab.home.disconnected(STREAM, at(1));
    assert!(lab.end(at(30)).is_empty());
    // Nor does it when it comes back.
    lab.ask(Command::AttachSession { session: "ann".into(), home: ME }, at(30));
    lab.home.disconnected(STREAM, at(30));
    assert_eq!(lab.home.remaining("ann", at(30)), Some(TTL));
}

#[test]
fn an_adopted_session_has_its_ttl_until_it_has_a_stream_here() {
    let mut lab = Lab::new();
    lab.open_with("ann", TTL, Some(GRACE), OTHER, at(0));
    lab.ask(Command::Adopt { dead: OTHER, by: ME }, at(100));
    assert_eq!(lab.home.remaining("ann", at(100)), Some(TTL));
    lab.home.attach(&"ann".into(), STREAM, at(101)).expect("at home");
    lab.home.disconnected(STREAM, at(102));
    assert_eq!(lab.end(at(104)), disconnected("ann"));
}

#[test]
fn a_stream_that_broke_before_the_attaching_counts_as_broken() {
    let mut lab = Lab::new();
    lab.open_with("ann", TTL, Some(GRACE), ME, at(0));
    lab.home.attached_in_vain(&"ann".into(), at(1));
    assert_eq!(lab.end(at(3)), disconnected("ann"));
    // But it is nothing to a session that has another stream.
    lab.open_on("bob", STREAM, at(3));
    lab.home.attached_in_vain(&"bob".into(), at(4));
    assert!(lab.end(at(12)).is_empty());
}

#[test]
fn a_grace_counts_anew_after_the_server_could_take_no_renewals() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.home.disconnected(STREAM, at(3));
    lab.home.refresh(at(4));
    assert!(lab.end(at(5)).is_empty());
    assert_eq!(lab.end(at(6)), disconnected("ann"));
}

#[test]
fn the_ttl_ends_a_session_even_within_its_grace() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.home.disconnected(STREAM, at(9));
    assert_eq!(lab.expire(at(10)), ["ann"]);
}

#[test]
fn who_renews_by_a_call_is_promised_the_ttl_whatever_becomes_of_the_stream() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    assert_eq!(lab.home.renew("ann", at(1)), Ok(TTL));
    lab.home.disconnected(STREAM, at(2));
    assert!(lab.end(at(10)).is_empty());
    assert_eq!(lab.expire(at(11)), ["ann"]);
    // Also if the stream has broken before.
    lab.open_on("bob", STREAM, at(20));
    lab.home.disconnected(STREAM, at(21));
    assert_eq!(lab.home.renew("bob", at(22)), Ok(TTL));
    assert!(lab.end(at(31)).is_empty());
    assert_eq!(lab.expire(at(32)), ["bob"]);
}

#[test]
fn a_changed_grace_counts_from_the_next_attaching_on() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    // Whoever is attached was told of two seconds, and counts on them.
    lab.open_with("ann", TTL, Some(at(1)), ME, at(1));
    lab.home.disconnected(STREAM, at(2));
    assert!(lab.end(at(3)).is_empty());
    assert_eq!(lab.home.attach(&"ann".into(), OTHER_STREAM, at(3)), Ok(None));
    lab.home.disconnected(OTHER_STREAM, at(4));
    assert_eq!(lab.end(at(5)), disconnected("ann"));
    lab.open_on("bob", STREAM, at(5));
    lab.open_with("bob", TTL, None, ME, at(5));
    lab.home.attach(&"bob".into(), STREAM, at(5)).expect("at home");
    lab.home.disconnected(STREAM, at(6));
    assert!(lab.end(at(14)).is_empty(), "it has none any more");
}

#[test]
fn a_shorter_ttl_does_not_delay_the_grace() {
    let mut lab = Lab::new();
    lab.open_on("ann", STREAM, at(0));
    lab.open_with("ann", at(5), Some(GRACE), ME, at(1));
    lab.home.disconnected(STREAM, at(2));
    assert_eq!(lab.end(at(4)), disconnected("ann"));
}
