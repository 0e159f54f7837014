//! Retries after a lost reply: they change nothing, and get the same reply.

use std::slice;

use tenure_core::testing::{Build, HOME, Lab, acquire, cancel, release, transfer};
use tenure_core::{Command, Outcome, Rejection, ServerId};

const OTHER: ServerId = ServerId(2);

/// Repeats a command at its server, and sends it to another one, which replies the same. Nothing changes.
fn repeat(lab: &mut Lab, command: &Command) -> Result<Outcome, Rejection> {
    repeat_all(lab, slice::from_ref(command)).remove(0)
}

fn repeat_all(lab: &mut Lab, commands: &[Command]) -> Vec<Result<Outcome, Rejection>> {
    let mut other = lab.replayed();
    let repeat = |command: &Command| {
        let [here, there] = [&mut lab.table, &mut other].map(|table| {
            let mut events = Vec::new();
            let outcome = table.decide(command.clone(), &mut events);
            table.commit();
            assert_eq!(events, [], "a repetition has an effect");
            outcome
        });
        assert_eq!(here, there);
        here
    };
    commands.iter().map(repeat).collect()
}

/// The lost history may contain the release of the hold.
#[test]
fn hold_from_before_a_loss_is_granted_anew_once() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    let jump = lab.lose();
    let anew = lab.hold("ann", "a");
    assert!(anew > jump);
    let outcome = repeat(&mut lab, &acquire("ann", "a"));
    assert!(matches!(outcome, Ok(Outcome::Held { claim, .. }) if claim.token() == Some(anew)));
    let holders: Vec<_> = lab.table.claims().map(|claim| claim.token()).collect();
    assert_eq!(holders, [Some(anew)]);
}

/// The lost history may contain a later hold, whichever server is called.
#[test]
fn hold_from_before_a_loss_is_granted_anew_at_another_server() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    let jump = lab.lose();
    assert!(lab.grant(acquire("ann", "a").at(OTHER)).token() > Some(jump));
}

#[test]
fn release_can_be_repeated_after_many_others() {
    let mut lab = Lab::default();
    // As many as a client may have in flight on one stream.
    let names: Vec<String> = (0..10_000).map(|number| format!("lock {number}")).collect();
    let releases: Vec<Command> =
        names.iter().map(|name| release("ann", name.as_str(), lab.hold("ann", name))).collect();
    for release in &releases {
        assert_eq!(lab.accept(release.clone()), Outcome::Done);
    }
    assert!(repeat_all(&mut lab, &releases).into_iter().all(|outcome| outcome == Ok(Outcome::Done)));
}

#[test]
fn release_can_be_repeated_after_many_sessions_have_ended_if_its_own_is_open_again() {
    let mut lab = Lab::default();
    let release = release("ann", "a", lab.hold("ann", "a"));
    lab.accept(release.clone());
    lab.close("ann");
    lab.hold("ann", "b");
    // As many as are remembered.
    for number in 0..10_000 {
        let session = format!("session {number}");
        lab.hold(&session, "a");
        lab.close(&session);
    }
    assert_eq!(repeat(&mut lab, &release), Ok(Outcome::Done));
}

#[test]
fn handoff_by_the_holder_can_be_repeated() {
    let mut lab = Lab::default();
    let handoff = transfer("a", lab.hold("ann", "a")).by_holder("ann");
    lab.wait("bob", "a");
    let reply = lab.accept(handoff.clone());
    let Outcome::Transferred { to, .. } = &reply else { panic!("{reply:?}") };
    assert_eq!(*to.spec.session, *"bob");
    assert_eq!(repeat(&mut lab, &handoff), Ok(reply.clone()));
    // The reply stays the same after the successor hands over in turn, and after the end of the session that handed
    // over.
    lab.accept(release("bob", "a", to.token().expect("held")));
    lab.close("ann");
    assert_eq!(repeat(&mut lab, &handoff), Ok(reply));
}

#[test]
fn handoff_by_an_operator_can_be_repeated() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    lab.wait("bob", "a");
    let handoff = transfer("a", token);
    let pending = lab.accept(handoff.clone());
    assert!(matches!(pending, Outcome::Transferring { .. }), "{pending:?}");
    assert_eq!(repeat(&mut lab, &handoff), Ok(pending), "it is still to be confirmed");
    lab.accept(release("ann", "a", token));
    let done = repeat(&mut lab, &handoff);
    let Ok(Outcome::Transferred { from, to }) = done else { panic!("{done:?}") };
    assert_eq!((from.token(), &*to.spec.session), (Some(token), "bob"));
}

#[test]
fn handoff_is_confirmed_only_to_its_holder_and_for_its_lock() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    lab.wait("bob", "a");
    lab.accept(transfer("a", token).by_holder("ann"));
    let foreign = repeat(&mut lab, &transfer("a", token).by_holder("bob"));
    assert!(matches!(foreign, Err(Rejection::TokenMismatch { .. })), "{foreign:?}");
    let of_another_lock = repeat(&mut lab, &transfer("b", token));
    assert!(matches!(of_another_lock, Err(Rejection::TransferImpossible { .. })), "{of_another_lock:?}");
}

#[test]
fn handoff_that_was_undone_is_not_confirmed() {
    let mut lab = Lab::default();
    let token = lab.hold("ann", "a");
    lab.wait("bob", "a");
    let handoff = transfer("a", token).by_holder("ann");
    lab.table.decide(handoff.clone(), &mut Vec::new()).expect("possible");
    // Another server committed first: it ended the hold.
    lab.table.undo();
    lab.close("ann");
    let rejected = repeat(&mut lab, &handoff);
    assert!(matches!(rejected, Err(Rejection::SessionEnded { .. })), "{rejected:?}");
    let rejected = repeat(&mut lab, &transfer("a", token));
    assert!(matches!(rejected, Err(Rejection::TransferImpossible { .. })), "{rejected:?}");
}

#[test]
fn cancel_can_be_repeated() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    lab.wait("bob", "a");
    for session in ["bob", "ann"] {
        assert_eq!(lab.accept(cancel(session, "a")), Outcome::Done);
        assert_eq!(lab.accept(cancel(session, "a")), Outcome::Done);
    }
    assert!(lab.table.lock("a").is_none());
}

#[test]
fn cancel_that_is_repeated_rejects_calls_received_after_the_first() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    assert_eq!(lab.accept(cancel("ann", "a")), Outcome::Done);
    let received = acquire("ann", "a").at(OTHER).received(lab.table.revision());
    assert_eq!(lab.accept(cancel("ann", "a")), Outcome::Done);
    let late = repeat(&mut lab, &received);
    assert!(matches!(late, Err(Rejection::AcquireCancelled(_))), "{late:?}");
}

#[test]
fn wait_is_ended_only_by_its_home() {
    let mut lab = Lab::default();
    lab.hold("ann", "a");
    let claim = lab.wait("bob", "a");
    lab.queue(acquire("bob", "a").at(OTHER));
    // The caller whose connection was lost here has reconnected there.
    let late = repeat(&mut lab, &Command::EndWait { claim, home: HOME });
    assert!(matches!(late, Ok(Outcome::Waiting { .. })), "{late:?}");
    let ended = lab.accept(Command::EndWait { claim, home: OTHER });
    assert!(matches!(ended, Outcome::Busy { .. }), "{ended:?}");
}
