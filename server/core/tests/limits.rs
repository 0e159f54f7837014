//! Limits per identity on the objects that it has at once.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    AskedMode, CLAIM_BYTES, Claim, ClaimState, Command, GroupCommand, Limits, Opening, Origin, Outcome, Recorded,
    Rejection, ServerId, Table, Text,
};

const HOME: ServerId = ServerId(1);
const ANN: &str = "token:ann";
const BOB: &str = "token:bob";

struct Lab {
    table: Table,
    events: Vec<Recorded>,
    limits: Limits,
}

impl Lab {
    fn new(limits: Limits) -> Self {
        Self { table: Table::default(), events: Vec::new(), limits }
    }

    fn ask(&mut self, identity: &str, command: Command) -> Result<Outcome, Rejection> {
        let command = command.by(Some(&identity.into()), self.limits);
        let outcome = self.table.decide(command, &mut self.events);
        self.table.commit();
        outcome
    }

    fn give(&mut self, identity: &str, command: Command) -> Outcome {
        self.ask(identity, command).expect("within the limits")
    }

    /// Asserts that a command is rejected because of this limit, and changes nothing.
    fn refused(&mut self, identity: &str, command: Command, what: &str, bound: usize) {
        let before = self.events.len();
        let limit = Box::leak(format!("{what} of this identity in the namespace").into_boxed_str());
        assert_eq!(self.ask(identity, command), Err(Rejection::LimitReached { limit, bound }));
        assert_eq!(self.events.len(), before);
    }

    /// The table replayed from its log, as at another server.
    fn replayed(&self) -> Self {
        let mut table = Table::default();
        self.events.iter().for_each(|event| table.apply(event));
        assert_eq!(table, self.table);
        Self { table, events: self.events.clone(), limits: self.limits }
    }
}

fn opening() -> Opening {
    let (owner, metadata) = (Text::from(""), Arc::default());
    Opening { ttl: Duration::from_secs(9), disconnect_grace: None, owner, metadata, identity: None }
}

fn open(session: &str) -> Command {
    Command::OpenSession { session: session.into(), opening: opening(), home: HOME, attachment: 0, client: None }
}

fn close(session: &str) -> Command {
    Command::CloseSession { session: session.into(), client: None }
}

fn asks(session: &str, name: &str, queue: bool) -> Command {
    Command::Acquire {
        session: session.into(),
        opening: Some(opening()),
        home: HOME,
        origin: Origin::default(),
        opened: None,
        names: Text::from(name).into(),
        mode: AskedMode::Exclusive,
        queue,
        priority: 0,
        metadata: Arc::default(),
        min_hold: Duration::ZERO,
    }
}

fn acquire(session: &str, name: &str) -> Command {
    asks(session, name, true)
}

fn cancel(session: &str, name: &str) -> Command {
    Command::CancelAcquire { session: session.into(), attached: None, names: Text::from(name).into() }
}

fn join(session: &str, group: &str) -> Command {
    let (group, session, metadata) = (group.into(), session.into(), Arc::default());
    Command::Group(GroupCommand::Join {
        group,
        session,
        opening: Some(opening()),
        home: HOME,
        attached: None,
        opened: None,
        metadata,
    })
}

fn leave(session: &str, group: &str) -> Command {
    Command::Group(GroupCommand::Leave { group: group.into(), session: session.into(), member: None })
}

#[test]
fn sessions_are_counted_however_they_are_opened() {
    for third in [open("s3"), acquire("s3", "a"), join("s3", "g")] {
        let mut lab = Lab::new(Limits { sessions: Some(2), ..Limits::NONE });
        lab.give(ANN, open("s1"));
        lab.give(ANN, open("s2"));
        lab.refused(ANN, third.clone(), "sessions", 2);
        lab.give(ANN, open("s2"));
        lab.give(ANN, acquire("s1", "b"));
        lab.give(BOB, open("s4"));
        lab.give(ANN, close("s1"));
        lab.give(ANN, third);
    }
}

#[test]
fn claims_are_counted_held_or_waiting() {
    let mut lab = Lab::new(Limits { claims: Some(2), ..Limits::NONE });
    lab.give(BOB, acquire("b", "y"));
    lab.give(ANN, acquire("a", "x"));
    assert!(matches!(lab.give(ANN, acquire("a", "y")), Outcome::Waiting { .. }));
    lab.refused(ANN, acquire("a", "z"), "claims", 2);
    lab.refused(ANN, acquire("a2", "z"), "claims", 2);
    assert!(matches!(lab.give(ANN, acquire("a", "x")), Outcome::Held { .. }), "it has that already");
    assert!(matches!(lab.give(ANN, asks("a", "y", false)), Outcome::Waiting { .. }), "and that");
    lab.give(BOB, acquire("b", "z"));
    assert!(matches!(lab.give(ANN, asks("a", "z", false)), Outcome::Busy { .. }), "nothing would come of it");
    lab.give(ANN, cancel("a", "y"));
    lab.give(ANN, acquire("a", "w"));
    lab.refused(ANN, acquire("a", "v"), "claims", 2);
}

#[test]
fn who_waits_is_counted_until_it_holds() {
    let mut lab = Lab::new(Limits { waiters: Some(1), ..Limits::NONE });
    for name in ["x", "y"] {
        lab.give(BOB, acquire("b", name));
    }
    lab.give(ANN, acquire("a", "x"));
    lab.refused(ANN, acquire("a", "y"), "waiters", 1);
    lab.give(ANN, acquire("a", "free"));
    lab.give(BOB, cancel("b", "x"));
    assert!(matches!(lab.give(ANN, acquire("a", "y")), Outcome::Waiting { .. }), "the first one holds now");
}

#[test]
fn memberships_are_counted() {
    let mut lab = Lab::new(Limits { memberships: Some(1), ..Limits::NONE });
    lab.give(ANN, join("a", "g"));
    lab.give(ANN, join("a", "g"));
    lab.refused(ANN, join("a", "h"), "memberships", 1);
    lab.refused(ANN, join("a2", "g"), "memberships", 1);
    lab.give(BOB, join("b", "g"));
    lab.give(ANN, leave("a", "g"));
    lab.give(ANN, join("a", "h"));
    lab.give(ANN, close("a"));
    lab.give(ANN, join("a", "g"));
}

#[test]
fn what_ends_with_a_session_counts_no_more() {
    let limits = Limits { sessions: Some(1), claims: Some(2), waiters: Some(1), memberships: Some(1) };
    let mut lab = Lab::new(limits);
    lab.give(BOB, acquire("b", "taken"));
    for session in ["one", "two"] {
        lab.give(ANN, acquire(session, "free"));
        lab.give(ANN, acquire(session, "taken"));
        lab.give(ANN, join(session, "g"));
        lab = lab.replayed();
        lab.refused(ANN, open("more"), "sessions", 1);
        lab.refused(ANN, acquire(session, "more"), "claims", 2);
        lab.refused(ANN, join(session, "more"), "memberships", 1);
        lab.give(ANN, close(session));
    }
}

#[test]
fn what_is_taken_back_was_never_there() {
    let mut lab = Lab::new(Limits { sessions: Some(1), claims: Some(1), waiters: None, memberships: Some(1) });
    for command in [open("a"), acquire("a", "x"), join("a", "g")] {
        lab.table.decide(command.by(Some(&ANN.into()), lab.limits), &mut Vec::new()).expect("within the limits");
    }
    lab.table.undo();
    assert_eq!(lab.table, Table::default());
    lab.give(ANN, acquire("b", "x"));
    lab.give(ANN, join("b", "g"));
}

#[test]
fn what_is_there_stays_when_a_limit_is_lowered() {
    let mut lab = Lab::new(Limits::NONE);
    for name in ["x", "y", "z"] {
        lab.give(ANN, acquire("a", name));
    }
    lab.limits = Limits { claims: Some(1), ..Limits::NONE };
    lab.refused(ANN, acquire("a", "w"), "claims", 1);
    lab.give(ANN, acquire("a", "y"));
    assert_eq!(lab.table.claims().count(), 3);
}

#[test]
fn nothing_may_be_allowed() {
    let mut lab = Lab::new(Limits { sessions: Some(0), ..Limits::NONE });
    lab.refused(ANN, open("a"), "sessions", 0);
}

/// Names, labels and claims each count with their size in a reply.
#[test]
fn claims_of_a_session_are_bounded_in_bytes() {
    let claim = |number: usize, labels: usize| Command::Acquire {
        session: "s".into(),
        opening: None,
        home: HOME,
        origin: Origin::Stream { attached: None },
        opened: None,
        names: Text::from(format!("name {number}")).into(),
        mode: AskedMode::Exclusive,
        queue: true,
        priority: 0,
        metadata: Arc::new([("label".to_owned(), "x".repeat(labels))].into()),
        min_hold: Duration::ZERO,
    };
    let full = Rejection::LimitReached { limit: "bytes of claims of one session", bound: CLAIM_BYTES };
    let mut lab = Lab::new(Limits::NONE);
    lab.give(ANN, open("s"));
    let held = (0..).take_while(|number| lab.ask(ANN, claim(*number, 4_000)).is_ok()).count();
    assert_eq!(held, CLAIM_BYTES / (4_000 + 128 + 2 * 16 + "label".len() + "name 123".len() + "s".len()));
    let small = (held..).take_while(|number| lab.ask(ANN, claim(*number, 0)).is_ok()).count();
    let (before, next) = (lab.events.len(), held + small);
    assert_eq!(lab.ask(ANN, claim(next, 0)), Err(full.clone()));
    // Repeating an acquire adds nothing, and labels may shrink.
    let Outcome::Held { claim: Claim { state: ClaimState::Held { token }, .. }, .. } = lab.give(ANN, claim(0, 4_000))
    else {
        panic!("it is held");
    };
    let update = |labels: usize| Command::UpdateClaim {
        session: "s".into(),
        name: "name 0".into(),
        token,
        metadata: Arc::new([("label".to_owned(), "x".repeat(labels))].into()),
    };
    assert_eq!(lab.ask(ANN, update(4_200)), Err(full), "there is not so much room");
    assert_eq!(lab.events.len(), before, "nothing has changed");
    lab.give(ANN, update(0));
    lab.give(ANN, claim(next, 3_000));
    lab.replayed();
}
