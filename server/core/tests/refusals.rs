//! Rejections: each has its own reason, and none leaves a trace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    AskedMode, Attached, Command, EndReason, Event, Eviction, GroupCommand, Opening, Origin, Outcome, Recorded,
    Rejection, Revision, ServerId, Table, Text,
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
            identity: None,
        };
        self.ask(Command::Acquire {
            origin: Origin::default(),
            opened: None,
            session: session.into(),
            opening: Some(opening),
            home: HOME,
            names: vec![name.into()].into(),
            mode: AskedMode::Exclusive,
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
fn a_table_that_was_restored_explains_what_it_is_told_of_the_past() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    lab.release("ann", "a", token).expect("held");
    lab.end("ann");
    lab.table = Table::restore(lab.table.revision(), Revision(0), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let unknown = Err(Rejection::SessionNotFound { session: "bob".into() });
    assert_eq!(lab.release("bob", "a", token), unknown);
    lab.events.iter().for_each(|recorded| lab.table.recall(recorded));
    assert_eq!(lab.release("ann", "a", token), Ok(Outcome::Done), "it had been released");
    assert_eq!(lab.release("bob", "a", token), unknown);
}

#[test]
fn new_metadata_is_seen_by_all_and_changes_nothing_else() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    let metadata = Arc::new(BTreeMap::from([("shard".to_owned(), "7".to_owned())]));
    let update = Command::UpdateClaim { session: "ann".into(), name: "a".into(), token, metadata: metadata.clone() };
    let updated = lab.ask(update).expect("held");
    let claim = lab.table.claims().next().expect("held").clone();
    assert_eq!((&claim.spec.metadata, claim.token()), (&metadata, Some(token)));
    assert_eq!(updated, Outcome::Updated(claim));
}

#[test]
fn the_history_of_a_lock_is_what_happened_to_claims_to_it() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    lab.hold("bob", "b");
    lab.acquire("bob", "a", true, Duration::ZERO).expect("queued");
    lab.release("ann", "a", token).expect("held");
    let about = |recorded: &&Recorded| recorded.event.is_about("a");
    let history: Vec<&Event> = lab.events.iter().filter(about).map(|recorded| &recorded.event).collect();
    let granted = |event: &Event| matches!(event, Event::ClaimGranted { .. });
    assert!(
        matches!(&*history, [first, Event::ClaimQueued(_), Event::ClaimEnded { .. }, last] if granted(first) && granted(last)),
        "{history:?}"
    );
}

#[test]
fn an_unknown_session_is_told_from_one_that_ended() {
    let mut lab = Lab::default();
    let attach =
        |session: &str| Command::AttachSession { session: session.into(), home: HOME, attachment: 0, client: None };
    assert_eq!(lab.ask(attach("ann")), Err(Rejection::SessionNotFound { session: "ann".into() }));
    lab.hold("ann", "a");
    lab.ask(Command::CloseSession { session: "ann".into(), client: None }).expect("open");
    let closed = Err(Rejection::SessionEnded { session: "ann".into(), reason: EndReason::Closed });
    assert_eq!(lab.ask(attach("ann")), closed);
}

#[test]
fn trying_in_vain_leaves_no_trace() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    let count = lab.events.len();
    let outcome = lab.acquire("bob", "a", false, Duration::ZERO).expect("an answer, not an error");
    assert!(
        matches!(&outcome, Outcome::Busy { blocker, ttl: None, opened: None } if &*blocker.spec.session == "ann"),
        "{outcome:?}"
    );
    assert_eq!(lab.events.len(), count);
    assert!(lab.table.session("bob").is_none());
}

#[test]
fn a_minimum_hold_outlasts_the_release_and_the_session() {
    let mut lab = Lab::default();
    let outcome = lab.acquire("ann", "a", false, Duration::from_secs(5)).expect("free");
    let Outcome::Held { claim, .. } = outcome else { panic!("{outcome:?}") };
    lab.release("ann", "a", claim.token().expect("held")).expect("held");
    lab.ask(Command::CloseSession { session: "ann".into(), client: None }).expect("open");
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
fn a_release_can_be_repeated_while_a_minimum_hold_lasts_and_however_that_ends() {
    let eviction = Eviction { operator: "root".into(), note: "stuck".into() };
    for evicted in [false, true] {
        let mut lab = Lab::default();
        let outcome = lab.acquire("ann", "a", false, Duration::from_secs(5)).expect("free");
        let Outcome::Held { claim, .. } = outcome else { panic!("{outcome:?}") };
        let token = claim.token().expect("held");
        lab.release("ann", "a", token).expect("held");
        assert_eq!(lab.release("ann", "a", token), Ok(Outcome::Done));
        lab.ask(match evicted {
            true => Command::Evict { name: "a".into(), token: None, eviction: eviction.clone() },
            false => Command::EndLingering { claim: claim.id, home: HOME },
        })
        .expect("it lingers");
        assert!(lab.table.lock("a").is_none());
        assert_eq!(lab.release("ann", "a", token), Ok(Outcome::Done));
    }
}

#[test]
fn an_eviction_ends_a_hold_before_its_minimum_and_is_told_to_its_holder() {
    let mut lab = Lab::default();
    let outcome = lab.acquire("ann", "a", false, Duration::from_secs(5)).expect("free");
    let Outcome::Held { claim, .. } = outcome else { panic!("{outcome:?}") };
    let eviction = Eviction { operator: "root".into(), note: "stuck".into() };
    lab.ask(Command::Evict { name: "a".into(), token: None, eviction }).expect("held");
    assert!(lab.table.lock("a").is_none());
    let refused = lab.release("ann", "a", claim.token().expect("held")).expect_err("evicted");
    assert!(matches!(refused, Rejection::HoldEnded { reason: EndReason::Evicted, .. }), "{refused:?}");
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
        origin: Origin::default(),
        opened: None,
        session: "ann".into(),
        opening: None,
        home: HOME,
        names: vec!["a".into(), "b".into()].into(),
        mode: AskedMode::Exclusive,
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
    lab.ask(Command::AttachSession { session: "ann".into(), home: ServerId(2), attachment: 0, client: None })
        .expect("open");
    let count = lab.events.len();
    let late = Command::EndSession { session: "ann".into(), opened, home: HOME, reason: EndReason::Expired };
    assert_eq!(lab.ask(late), Ok(Outcome::Done));
    assert_eq!(lab.events.len(), count, "the session lives on at its new home");
}

/// The client asked two servers, one after the other; the first one's command is executed last.
#[test]
fn an_attachment_that_its_client_has_followed_with_another_is_late() {
    let mut lab = Lab::default();
    let open = |home, attachment| {
        let opening = Opening {
            ttl: Duration::from_secs(10),
            disconnect_grace: None,
            owner: "".into(),
            metadata: Arc::default(),
            identity: None,
        };
        Command::OpenSession { session: "ann".into(), opening, home, attachment, client: None }
    };
    let attach = |home, attachment| Command::AttachSession { session: "ann".into(), home, attachment, client: None };
    let home = |lab: &Lab| lab.table.session("ann").expect("open").spec.home;
    lab.ask(open(HOME, 2)).expect("it is the first to arrive");
    let late = |attachment| Err(Rejection::LateAttachment { session: "ann".into(), attachment });
    assert_eq!(lab.ask(open(ServerId(9), 1)), late(2));
    lab.ask(attach(HOME, 4)).expect("open");
    assert_eq!(lab.events.len(), 2, "where it is at home already, too, so that others learn of it");
    assert_eq!(lab.ask(attach(ServerId(9), 3)), late(4));
    assert_eq!(home(&lab), HOME);
    lab.ask(attach(HOME, 4)).expect("open");
    assert_eq!(lab.events.len(), 2, "asking again changes nothing");
    lab.ask(attach(ServerId(9), 5)).expect("open");
    assert_eq!(home(&lab), ServerId(9));
    lab.ask(attach(HOME, 0)).expect("open");
    assert_eq!(home(&lab), HOME, "who does not count is never late");
    assert_eq!(lab.ask(attach(ServerId(9), 4)), late(5), "and changes no count");
}

/// An acquire by ann, with this attachment.
fn acquire_by(attached: Option<Attached>) -> Command {
    Command::Acquire {
        origin: Origin::Stream { attached },
        opened: None,
        session: "ann".into(),
        opening: None,
        home: HOME,
        names: Text::from("a").into(),
        mode: AskedMode::Exclusive,
        queue: true,
        priority: 0,
        metadata: Arc::default(),
        min_hold: Duration::ZERO,
    }
}

/// A join by ann, with this attachment.
fn join_by(attached: Option<Attached>) -> Command {
    let (group, session, metadata) = (Text::from("g"), Text::from("ann"), Arc::default());
    Command::Group(GroupCommand::Join { group, session, opening: None, home: HOME, attached, opened: None, metadata })
}

/// A delayed request must not move the session away from the server of its client.
#[test]
fn what_comes_by_a_stream_after_the_session_was_attached_elsewhere_is_refused() {
    let mut lab = Lab::default();
    lab.hold("ann", "b");
    lab.ask(Command::AttachSession { session: "ann".into(), home: ServerId(9), attachment: 0, client: None })
        .expect("open");
    let by_stream = Some(Attached { count: 0, lost: Revision(0) });
    for late in [acquire_by(by_stream), join_by(by_stream)] {
        assert_eq!(lab.ask(late.clone()).err(), Some(Rejection::SessionMoved { session: "ann".into() }), "{late:?}");
    }
    for plain in [acquire_by(None), join_by(None)] {
        assert!(lab.ask(plain).is_ok(), "whoever asks without a stream is where it asks");
    }
}

/// The request waited at a server while its client failed over and reconnected: by now the client may know of a hold
/// that this request would grant anew, or end.
#[test]
fn what_came_by_an_attachment_before_the_last_one_is_refused() {
    let mut lab = Lab::default();
    lab.hold("ann", "b");
    let attach = |attachment| Command::AttachSession { session: "ann".into(), home: HOME, attachment, client: None };
    lab.ask(attach(2)).expect("open");
    let by = |count| Some(Attached { count, lost: Revision(0) });
    let acquire = |count| acquire_by(by(count));
    let cancel =
        |count| Command::CancelAcquire { session: "ann".into(), attached: by(count), names: Text::from("a").into() };
    let join = |count| join_by(by(count));
    let held = lab.ask(acquire(2)).expect("granted");
    for late in [acquire(1), cancel(1), join(1)] {
        assert_eq!(lab.ask(late.clone()).err(), Some(Rejection::SessionMoved { session: "ann".into() }), "{late:?}");
    }
    assert_eq!(lab.ask(acquire(2)), Ok(held), "it is still held");
    lab.ask(join(2)).expect("it joins");
    lab.ask(cancel(2)).expect("given back");
    assert!(lab.table.lock("a").is_none());
}

/// The attachments that would show that the request is late may have been lost.
#[test]
fn what_came_by_a_stream_before_history_was_lost_is_refused() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    let (lost, after) = (Revision(1_000), lab.table.revision());
    lab.table.apply(&Recorded { revision: lost, event: Event::HistoryLost { after } });
    let acquire = |lost| acquire_by(Some(Attached { count: 0, lost }));
    let refused = lab.ask(acquire(Revision(0)));
    assert_eq!(refused.err(), Some(Rejection::SessionMoved { session: "ann".into() }));
    assert_eq!(lab.table.lock("a").map(|lock| lock.holders().len()), Some(1), "it holds on with {token}");
    let Ok(Outcome::Held { claim, .. }) = lab.ask(acquire(lost)) else { panic!("it is asked anew") };
    assert!(claim.token() > Some(lost), "who asks after that holds anew");
}
