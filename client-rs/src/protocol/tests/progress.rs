//! Sessions that are renewed only while there is progress.

use proptest::prelude::*;

use super::*;
use crate::presence::SessionState;
use crate::progress::Progress;

const MS: Duration = Duration::from_millis(1);
const WITHIN: Duration = Duration::from_millis(600);

/// A session that depends on progress, which began with it.
fn depending(bench: &mut Bench, id: &str) -> (Session, Progress) {
    let progress = Progress::begun(WITHIN, bench.now);
    let session = bench.session_with(id, SessionOptions::new().ttl(TTL).renew_while(&progress), session(id, &[]));
    (session, progress)
}

/// A hold that depends on progress of its own.
fn hold_depending(bench: &mut Bench, session: &Session, token: u64) -> Guard {
    let spec = AcquireSpec { stall_after: Some(WITHIN), ..AcquireSpec::new(vec!["job".to_owned()]) };
    let (_, mut answer) = bench.acquire_as(session, spec, Wait::Forever);
    let (command, _) = bench.sent_one();
    bench.receive(command, acquired(token));
    guard_of(&mut answer)
}

/// Lets time pass, with each renewal answered at once. Returns the number of renewals.
fn pass_renewing(bench: &mut Bench, while_: Duration) -> usize {
    let until = bench.now.after(while_);
    let mut renewals = 0;
    while bench.now < until {
        bench.pass((10 * MS).min(until.since(bench.now)));
        for (id, kind) in bench.sent() {
            let Commanded::KeepAlive(request) = kind else { panic!("{kind:?}") };
            for session in request.session_ids {
                bench.receive(id, kept(&session));
                renewals += 1;
            }
        }
    }
    renewals
}

#[test]
fn stalled_session_is_at_risk_and_then_lost() {
    let mut bench = Bench::new();
    let (session, _progress) = depending(&mut bench, "a");
    let guard = bench.hold(&session, 7);
    // Renewed at 400, and at 800 not any more: 600 after the opening it is stalled.
    assert_eq!(pass_renewing(&mut bench, 1_127 * MS), 1);
    assert_eq!(*session.state().borrow(), SessionState::Healthy);
    bench.pass(MS);
    assert_eq!(*session.state().borrow(), SessionState::AtRisk);
    bench.pass(399 * MS);
    assert_eq!(*session.state().borrow(), SessionState::AtRisk);
    bench.pass(MS);
    assert_eq!(guard.lost_reason(), Some(LostReason::Stalled));
    // So that the next one need not wait for the TTL.
    assert!(matches!(bench.sent_one(), (_, Commanded::CloseSession(_))));
}

#[test]
fn progress_before_the_deadline_makes_a_session_healthy_again() {
    let mut bench = Bench::new();
    let (session, progress) = depending(&mut bench, "a");
    assert_eq!(pass_renewing(&mut bench, 1_450 * MS), 1);
    assert_eq!(*session.state().borrow(), SessionState::AtRisk);
    progress.tick_at(bench.now);
    // Progress is checked eight times in a period of renewals.
    bench.pass(50 * MS);
    let (command, kind) = bench.sent_one();
    assert!(matches!(kind, Commanded::KeepAlive(_)));
    bench.receive(command, kept("a"));
    assert_eq!(*session.state().borrow(), SessionState::Healthy);
    // From then on at the ordinary times, and only with ticks.
    progress.tick_at(bench.now);
    assert_eq!(pass_renewing(&mut bench, 1_000 * MS), 1);
}

#[test]
fn session_lost_without_a_reply_is_not_reported_stalled() {
    let mut bench = Bench::new();
    let (session, progress) = depending(&mut bench, "a");
    pass_renewing(&mut bench, 1_000 * MS);
    progress.tick_at(bench.now);
    bench.pass(50 * MS);
    assert!(matches!(bench.sent_one(), (_, Commanded::KeepAlive(_))));
    bench.pass(500 * MS);
    assert_eq!(*session.state().borrow(), SessionState::Lost(LostReason::Unrenewed));
}

#[test]
fn stalled_session_is_excluded_from_the_renewal_of_others() {
    let mut bench = Bench::new();
    let (_stalled, _progress) = depending(&mut bench, "a");
    let _other = bench.session("b");
    pass_renewing(&mut bench, 500 * MS);
    bench.pass(300 * MS);
    let (_, Commanded::KeepAlive(request)) = bench.sent_one() else { panic!("no keep-alive") };
    assert_eq!(request.session_ids, ["b"]);
}

#[test]
fn stalled_session_is_renewed_by_no_other_command() {
    let mut bench = Bench::new();
    let (session, progress) = depending(&mut bench, "a");
    pass_renewing(&mut bench, 700 * MS);
    // Neither an acquire ...
    let (_, mut answer) = bench.acquire(&session, Wait::Forever);
    bench.pass(100 * MS);
    assert!(bench.sent().is_empty());
    // ... nor attaching to another stream ...
    bench.reconnect();
    bench.pass(100 * MS);
    assert!(bench.sent().is_empty());
    progress.tick_at(bench.now);
    bench.pass(50 * MS);
    let (command, kind) = bench.sent_one();
    assert!(matches!(kind, Commanded::AttachSession(_)));
    bench.receive(command, attached("a", &[], 1));
    let (command, kind) = bench.sent_one();
    assert!(matches!(kind, Commanded::Acquire(_)));
    bench.receive(command, acquired(3));
    assert_eq!(guard_of(&mut answer).token(), 3);
    // ... nor attaching after it was moved.
    bench.pass(600 * MS);
    bench.sent();
    bench.receive(0, Answered::SessionMoved(v1::SessionMoved { session_id: "a".into() }));
    bench.pass(200 * MS);
    assert!(bench.sent().is_empty());
}

#[test]
fn progress_of_a_hold_counts_from_its_grant_to_its_end() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    assert!(pass_renewing(&mut bench, 2_000 * MS) > 3);
    let guard = hold_depending(&mut bench, &session, 7);
    let progress = guard.hold().presence.progress.clone().unwrap();
    for _ in 0..5 {
        pass_renewing(&mut bench, 500 * MS);
        progress.tick_at(bench.now);
    }
    assert!(pass_renewing(&mut bench, 1_200 * MS) <= 2);
    assert_eq!(*session.state().borrow(), SessionState::AtRisk);
    drop(guard);
    bench.take_notes();
    let (command, kind) = bench.sent_one();
    assert!(matches!(kind, Commanded::Release(_)));
    bench.receive(command, Answered::Release(v1::ReleaseResponse::default()));
    assert!(pass_renewing(&mut bench, 2_000 * MS) > 3);
    assert_eq!(*session.state().borrow(), SessionState::Healthy);
}

#[test]
fn hold_ended_by_the_server_needs_no_progress() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let guard = hold_depending(&mut bench, &session, 7);
    let ended = v1::HoldEnded { session_id: "a".into(), token: 7, ..Default::default() };
    bench.receive(0, Answered::HoldEnded(Box::new(ended)));
    assert!(guard.lost_reason().is_some());
    assert!(pass_renewing(&mut bench, 3_000 * MS) > 6);
}

proptest! {
    /// Whatever happens: no renewing command is sent later than `WITHIN` after the last tick.
    #[test]
    fn renewing_command_is_sent_only_with_progress(
        steps in prop::collection::vec((0_u64..400, 0_u8..7), 1..60),
    ) {
        let mut bench = Bench::new();
        let (session, progress) = depending(&mut bench, "a");
        let mut last_tick = bench.now;
        let mut answers = Vec::new();
        for (pause, happens) in steps {
            for _ in 0..pause {
                bench.pass(MS);
                for (id, kind) in bench.sent() {
                    let renews =
                        matches!(kind, Commanded::KeepAlive(_) | Commanded::AttachSession(_) | Commanded::Acquire(_));
                    // It was sent at most one step ago.
                    prop_assert!(!renews || bench.now.since(last_tick) < WITHIN + MS, "{kind:?}");
                    match kind {
                        Commanded::KeepAlive(_) => bench.receive(id, kept("a")),
                        Commanded::AttachSession(_) => bench.receive(id, attached("a", &[], 1)),
                        Commanded::Acquire(_) => bench.refuse(id, "STORE_UNAVAILABLE"),
                        _ => {}
                    }
                }
            }
            match happens {
                0..=3 => {
                    last_tick = bench.now;
                    progress.tick_at(last_tick);
                }
                4 => bench.reconnect(),
                5 => bench.receive(0, Answered::SessionMoved(v1::SessionMoved { session_id: "a".into() })),
                _ => answers.push(bench.acquire(&session, Wait::Forever)),
            }
        }
    }
}
