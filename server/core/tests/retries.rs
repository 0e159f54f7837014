//! Retries after a lost reply: they change nothing, and get the same reply.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    AskedMode, Command, Event, Eviction, Handoff, Opening, Origin, Outcome, Recorded, Rejection, Revision, ServerId,
    Table, Text,
};

const HERE: ServerId = ServerId(1);
const THERE: ServerId = ServerId(2);

/// Two tables that follow one log, as two servers do.
#[derive(Default)]
struct Lab {
    here: Table,
    there: Table,
}

impl Lab {
    fn ask(&mut self, command: Command) -> Result<Outcome, Rejection> {
        let mut events: Vec<Recorded> = Vec::new();
        let outcome = self.here.decide(command, &mut events);
        self.here.commit();
        events.iter().for_each(|recorded| self.there.apply(recorded));
        outcome
    }

    /// Repeats a command, here and at the other server.
    fn again(&mut self, command: &Command) -> Result<Outcome, Rejection> {
        let [here, there] = [&mut self.here, &mut self.there].map(|table| {
            let mut events = Vec::new();
            let outcome = table.decide(command.clone(), &mut events);
            table.commit();
            assert_eq!(events, [], "asking again changes nothing");
            outcome
        });
        assert_eq!(here, there);
        here
    }

    fn acquire(&mut self, session: &str, name: &str) -> Revision {
        match self.ask(acquire(session, name, HERE)) {
            Ok(Outcome::Held { claim, .. } | Outcome::Waiting { claim, .. }) => claim.token().unwrap_or(claim.id),
            other => panic!("{other:?}"),
        }
    }
}

/// The lost history may contain the release of the hold.
#[test]
fn what_is_held_since_before_a_loss_is_granted_anew_and_once() {
    let mut lab = Lab::default();
    let before = lab.acquire("ann", "a");
    let jump = Revision(1_000);
    for table in [&mut lab.here, &mut lab.there] {
        table.apply(&Recorded { revision: jump, event: Event::HistoryLost { after: before } });
    }
    let anew = lab.acquire("ann", "a");
    assert!(anew > jump);
    assert_eq!(lab.here, lab.there);
    let outcome = lab.again(&acquire("ann", "a", HERE));
    assert!(matches!(outcome, Ok(Outcome::Held { claim, .. }) if claim.token() == Some(anew)));
    let holders: Vec<_> = lab.here.claims().map(|claim| claim.token()).collect();
    assert_eq!(holders, [Some(anew)]);
}

/// The request may be old, by way of a server that has not seen any later event.
#[test]
fn what_is_asked_for_by_way_of_another_server_after_a_loss_is_held_as_before() {
    let mut lab = Lab::default();
    let before = lab.acquire("ann", "a");
    for table in [&mut lab.here, &mut lab.there] {
        table.apply(&Recorded { revision: Revision(1_000), event: Event::HistoryLost { after: before } });
    }
    let outcome = lab.ask(acquire("ann", "a", THERE));
    assert!(matches!(outcome, Ok(Outcome::Held { claim, .. }) if claim.token() == Some(before)));
}

fn acquire(session: &str, name: &str, home: ServerId) -> Command {
    Command::Acquire {
        origin: Origin::default(),
        opened: None,
        session: session.into(),
        opening: Some(Opening {
            ttl: Duration::from_secs(9),
            disconnect_grace: None,
            owner: Text::from(""),
            metadata: Arc::default(),
            identity: None,
        }),
        home,
        names: vec![name.into()].into(),
        mode: AskedMode::Exclusive,
        queue: true,
        priority: 0,
        metadata: Arc::default(),
        min_hold: Duration::ZERO,
    }
}

fn release(session: &str, name: &str, token: Revision) -> Command {
    Command::Release { session: session.into(), name: name.into(), token }
}

fn transfer(name: &str, token: Revision, by: Handoff) -> Command {
    Command::Transfer { name: name.into(), token: Some(token), to: None, by }
}

fn by_operator() -> Handoff {
    let by = Eviction { operator: "op".into(), note: "".into() };
    Handoff::ByOperator { by, drain: Duration::from_secs(1) }
}

fn by_holder(session: &str) -> Handoff {
    Handoff::ByHolder { session: session.into() }
}

#[test]
fn all_of_many_releases_can_be_repeated() {
    let mut lab = Lab::default();
    // As many as a client may have in flight on one stream.
    let names: Vec<String> = (0..10_000).map(|number| format!("lock {number}")).collect();
    let releases: Vec<Command> = names.iter().map(|name| release("ann", name, lab.acquire("ann", name))).collect();
    for release in &releases {
        assert_eq!(lab.ask(release.clone()), Ok(Outcome::Done));
    }
    for release in &releases {
        assert_eq!(lab.again(release), Ok(Outcome::Done));
    }
}

#[test]
fn a_release_can_be_repeated_however_many_sessions_have_ended_since_if_its_own_is_open_again() {
    let mut lab = Lab::default();
    let release = release("ann", "a", lab.acquire("ann", "a"));
    let close = |session: &str| Command::CloseSession { session: session.into(), client: None };
    lab.ask(release.clone()).expect("held");
    lab.ask(close("ann")).expect("open");
    lab.acquire("ann", "b");
    // As many as are remembered.
    for number in 0..10_000 {
        let session = format!("session {number}");
        lab.acquire(&session, "a");
        lab.ask(close(&session)).expect("open");
    }
    assert_eq!(lab.again(&release), Ok(Outcome::Done));
}

#[test]
fn a_holders_handoff_can_be_repeated() {
    let mut lab = Lab::default();
    let token = lab.acquire("ann", "a");
    lab.acquire("bob", "a");
    let handoff = transfer("a", token, by_holder("ann"));
    let answer = lab.ask(handoff.clone());
    assert!(matches!(&answer, Ok(Outcome::Transferred { to, .. }) if *to.spec.session == *"bob"), "{answer:?}");
    assert_eq!(lab.again(&handoff), answer);
    // The reply stays the same after the successor hands over in turn, and after the end of the session that handed
    // over.
    let Ok(Outcome::Transferred { to, .. }) = &answer else { unreachable!() };
    lab.ask(release("bob", "a", to.token().expect("held"))).expect("held");
    lab.ask(Command::CloseSession { session: "ann".into(), client: None }).expect("open");
    assert_eq!(lab.again(&handoff), answer);
}

#[test]
fn an_operators_handoff_of_a_hold_can_be_repeated() {
    let mut lab = Lab::default();
    let token = lab.acquire("ann", "a");
    lab.acquire("bob", "a");
    let handoff = transfer("a", token, by_operator());
    let asked = lab.ask(handoff.clone());
    assert!(matches!(asked, Ok(Outcome::Transferring { .. })), "{asked:?}");
    assert_eq!(lab.again(&handoff), asked, "it is still to be confirmed");
    lab.ask(release("ann", "a", token)).expect("held");
    let done = lab.again(&handoff);
    let Ok(Outcome::Transferred { from, to }) = done else { panic!("{done:?}") };
    assert_eq!((from.token(), &*to.spec.session), (Some(token), "bob"));
}

#[test]
fn only_who_handed_over_is_told_so() {
    let mut lab = Lab::default();
    let token = lab.acquire("ann", "a");
    lab.acquire("bob", "a");
    lab.ask(transfer("a", token, by_holder("ann"))).expect("possible");
    let foreign = lab.again(&transfer("a", token, by_holder("bob")));
    assert!(matches!(foreign, Err(Rejection::TokenMismatch { .. })), "{foreign:?}");
    let elsewhere = lab.again(&transfer("b", token, by_operator()));
    assert!(matches!(elsewhere, Err(Rejection::TransferImpossible { .. })), "{elsewhere:?}");
}

#[test]
fn a_handoff_that_was_undone_was_none() {
    let mut lab = Lab::default();
    let token = lab.acquire("ann", "a");
    lab.acquire("bob", "a");
    let handoff = transfer("a", token, by_holder("ann"));
    lab.here.decide(handoff.clone(), &mut Vec::new()).expect("possible");
    // Another server committed first: it ended the hold.
    lab.here.undo();
    lab.ask(Command::CloseSession { session: "ann".into(), client: None }).expect("open");
    let refused = lab.again(&handoff);
    assert!(matches!(refused, Err(Rejection::SessionEnded { .. })), "{refused:?}");
    let refused = lab.again(&transfer("a", token, by_operator()));
    assert!(matches!(refused, Err(Rejection::TransferImpossible { .. })), "{refused:?}");
}

#[test]
fn giving_up_can_be_repeated() {
    let mut lab = Lab::default();
    lab.acquire("ann", "a");
    lab.acquire("bob", "a");
    for session in ["bob", "ann"] {
        let cancel = Command::CancelAcquire { session: session.into(), attached: None, names: vec!["a".into()].into() };
        assert_eq!(lab.ask(cancel.clone()), Ok(Outcome::Done));
        assert_eq!(lab.ask(cancel), Ok(Outcome::Done));
    }
    assert!(lab.here.lock("a").is_none());
}

#[test]
fn cancel_that_is_repeated_rejects_what_was_received_after_the_first() {
    let mut lab = Lab::default();
    lab.acquire("ann", "a");
    let cancel = Command::CancelAcquire { session: "ann".into(), attached: None, names: vec!["a".into()].into() };
    assert_eq!(lab.ask(cancel.clone()), Ok(Outcome::Done));
    let mut received = acquire("ann", "a", THERE);
    if let Command::Acquire { origin, .. } = &mut received {
        *origin = Origin::Call { received: lab.here.revision() };
    }
    assert_eq!(lab.ask(cancel), Ok(Outcome::Done));
    let late = lab.again(&received);
    assert!(matches!(late, Err(Rejection::AcquireCancelled { .. })), "{late:?}");
}

#[test]
fn only_the_home_ends_a_wait() {
    let mut lab = Lab::default();
    lab.acquire("ann", "a");
    let waiting = lab.acquire("bob", "a");
    let moved = lab.ask(acquire("bob", "a", THERE));
    assert!(matches!(moved, Ok(Outcome::Waiting { .. })), "{moved:?}");
    // The caller whose connection was lost here has reconnected there.
    let late = lab.again(&Command::EndWait { claim: waiting, home: HERE });
    assert!(matches!(late, Ok(Outcome::Waiting { .. })), "{late:?}");
    let ended = lab.ask(Command::EndWait { claim: waiting, home: THERE });
    assert!(matches!(ended, Ok(Outcome::Busy { .. })), "{ended:?}");
}
