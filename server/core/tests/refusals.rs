//! Refusals, each told apart, and what leaves no trace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    Command, EndReason, Event, Eviction, Opening, Outcome, Recorded, Rejection, Revision, ServerId, Table, Text,
};

const HOME: ServerId = ServerId(1);

/// A table whose decisions are committed at once.
#[derive(Default)]
struct Lab {
    table: Table,
    events: Vec<Recorded>,
}

impl Lab {
    fn ask(&mut self, command: Command) -> Result<Outcome, Rejection> {
        let outcome = self.table.decide(command, &mut self.events);
        self.table.commit();
        outcome
    }

    fn acquire(&mut self, session: &str, name: &str, queue: bool, min_hold: Duration) -> Result<Outcome, Rejection> {
        let opening = Opening {
            ttl: Duration::from_secs(9),
            disconnect_grace: None,
            owner: Text::from("o"),
            metadata: Arc::new(BTreeMap::new()),
        };
        self.ask(Command::Acquire {
            session: session.into(),
            opening: Some(opening),
            home: HOME,
            names: vec![name.into()].into(),
            mode: tenure_core::AskedMode::Exclusive,
            queue,
            priority: 0,
            metadata: Arc::new(BTreeMap::new()),
            min_hold,
        })
    }

    fn hold(&mut self, session: &str, name: &str) -> Revision {
        match self.acquire(session, name, false, Duration::ZERO) {
            Ok(Outcome::Held { claim, .. }) => claim.token().expect("held"),
            other => panic!("{session} should hold {name}: {other:?}"),
        }
    }

    fn release(&mut self, session: &str, name: &str, token: Revision) -> Result<Outcome, Rejection> {
        self.ask(Command::Release { session: session.into(), name: name.into(), token })
    }

    fn end(&mut self, session: &str) {
        let opened = self.table.session(session).expect("open").opened;
        let ended = Command::EndSession { session: session.into(), opened, home: HOME, reason: EndReason::Expired };
        assert_eq!(self.ask(ended), Ok(Outcome::Done));
    }
}

#[test]
fn a_release_can_be_repeated() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    assert_eq!(lab.release("ann", "a", token), Ok(Outcome::Done));
    let count = lab.events.len();
    assert_eq!(lab.release("ann", "a", token), Ok(Outcome::Done));
    assert_eq!(lab.events.len(), count, "the repetition changes nothing");
}

#[test]
fn a_late_release_does_not_end_a_later_hold() {
    let mut lab = Lab::default();
    let first = lab.hold("ann", "a");
    lab.release("ann", "a", first).expect("held");
    let second = lab.hold("ann", "a");
    assert!(second > first);
    assert_eq!(lab.release("ann", "a", first), Ok(Outcome::Done), "it had been released");
    assert_eq!(lab.table.lock("a").and_then(|lock| lock.holders().first().copied()), Some(second), "and that is all");
}

#[test]
fn releasing_what_one_does_not_hold_is_refused() {
    let mut lab = Lab::default();
    let anns = lab.hold("ann", "a");
    let bobs = lab.hold("bob", "b");
    let refused = lab.release("bob", "a", anns).expect_err("bob does not hold a");
    assert!(matches!(&refused, Rejection::NotHolder { holder: Some(holder), .. } if &**holder == "ann"), "{refused:?}");
    let refused = lab.release("bob", "c", bobs).expect_err("nobody holds c");
    assert!(matches!(refused, Rejection::NotHolder { holder: None, .. }), "{refused:?}");
    let refused = lab.release("bob", "b", anns).expect_err("the token is that of a");
    assert!(matches!(refused, Rejection::TokenMismatch { .. }), "{refused:?}");
    let refused = lab.release("bob", "b", Revision(99)).expect_err("from the future");
    assert!(matches!(refused, Rejection::TokenFromFuture { .. }), "{refused:?}");
}

#[test]
fn a_release_after_expiry_says_so() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    lab.end("ann");
    let expired = Err(Rejection::SessionEnded { session: "ann".into(), reason: EndReason::Expired });
    assert_eq!(lab.release("ann", "a", token), expired);
    let opened = lab.hold("ann", "b");
    assert!(opened > token);
    let refused = lab.release("ann", "a", token).expect_err("that hold is over");
    assert!(matches!(refused, Rejection::HoldEnded { reason: EndReason::Expired, .. }), "{refused:?}");
}

#[test]
fn an_unknown_session_is_told_from_one_that_ended() {
    let mut lab = Lab::default();
    let attach = |session: &str| Command::AttachSession { session: session.into(), home: HOME };
    assert_eq!(lab.ask(attach("ann")), Err(Rejection::SessionNotFound { session: "ann".into() }));
    lab.hold("ann", "a");
    lab.ask(Command::CloseSession { session: "ann".into() }).expect("open");
    let closed = Err(Rejection::SessionEnded { session: "ann".into(), reason: EndReason::Closed });
    assert_eq!(lab.ask(attach("ann")), closed);
}

#[test]
fn trying_in_vain_leaves_no_trace() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    let count = lab.events.len();
    let outcome = lab.acquire("bob", "a", false, Duration::ZERO).expect("an answer, not an error");
    assert!(matches!(&outcome, Outcome::Busy { blocker, ttl: None } if &*blocker.spec.session == "ann"), "{outcome:?}");
    assert_eq!(lab.events.len(), count);
    assert!(lab.table.session("bob").is_none());
}

#[test]
fn a_minimum_hold_outlasts_the_release_and_the_session() {
    let mut lab = Lab::default();
    let outcome = lab.acquire("ann", "a", false, Duration::from_secs(5)).expect("free");
    let Outcome::Held { claim, .. } = outcome else { panic!("{outcome:?}") };
    lab.release("ann", "a", claim.token().expect("held")).expect("held");
    lab.ask(Command::CloseSession { session: "ann".into() }).expect("open");
    let outcome = lab.acquire("bob", "a", true, Duration::ZERO).expect("queued");
    assert!(matches!(outcome, Outcome::Waiting { .. }), "{outcome:?}");
    let elsewhere = Command::EndLingering { claim: claim.id, home: ServerId(7) };
    lab.ask(elsewhere).expect("without effect");
    assert_eq!(
        lab.table.lock("a").and_then(|lock| lock.holders().first().copied()),
        Some(claim.id),
        "only its home ends it"
    );
    lab.ask(Command::EndLingering { claim: claim.id, home: HOME }).expect("due");
    let granted = matches!(&lab.events.last().expect("events").event, Event::ClaimGranted { spec, .. } if &*spec.session == "bob");
    assert!(granted, "{:?}", lab.events.last());
}

#[test]
fn an_eviction_is_recorded_and_names_the_operator() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    let eviction = Eviction { operator: "root".into(), note: "stuck".into() };
    let evict = |token| Command::Evict { name: "a".into(), token, eviction: eviction.clone() };
    assert_eq!(lab.ask(evict(Some(token.next()))), Ok(Outcome::Evicted(Vec::new())), "not that hold");
    let outcome = lab.ask(evict(Some(token))).expect("evicted");
    assert!(matches!(&outcome, Outcome::Evicted(claims) if claims.len() == 1), "{outcome:?}");
    let Event::ClaimEnded { eviction: recorded, reason, .. } = &lab.events.last().expect("events").event else {
        panic!()
    };
    assert_eq!((recorded.as_ref(), *reason), (Some(&eviction), EndReason::Evicted));
    let refused = lab.release("ann", "a", token).expect_err("evicted");
    assert!(matches!(refused, Rejection::HoldEnded { reason: EndReason::Evicted, .. }), "{refused:?}");
}

#[test]
fn a_claim_must_be_asked_for_again_with_the_same_names() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    let both = lab.ask(Command::Acquire {
        session: "ann".into(),
        opening: None,
        home: HOME,
        names: vec!["a".into(), "b".into()].into(),
        mode: tenure_core::AskedMode::Exclusive,
        queue: true,
        priority: 0,
        metadata: Arc::new(BTreeMap::new()),
        min_hold: Duration::ZERO,
    });
    assert_eq!(both, Err(Rejection::ClaimOverlap { name: "a".into(), session: "ann".into() }));
}

#[test]
fn an_end_decided_by_a_former_home_is_dropped() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    let opened = lab.table.session("ann").expect("open").opened;
    lab.ask(Command::AttachSession { session: "ann".into(), home: ServerId(2) }).expect("open");
    let count = lab.events.len();
    let late = Command::EndSession { session: "ann".into(), opened, home: HOME, reason: EndReason::Expired };
    assert_eq!(lab.ask(late), Ok(Outcome::Done));
    assert_eq!(lab.events.len(), count, "the session lives on at its new home");
}
