//! Holds that were given back, and that the server has again because its database lost that.

use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind as Commanded;

use super::{Bench, acquired, attached, guard_of};
use crate::connection::Wait;
use crate::session::Session;

impl Bench {
    /// A session that has held and given back, and is attached to a server that does not know of that.
    fn attached_with_a_stray(&mut self) -> Session {
        let session = self.session("a");
        let guard = self.hold(&session, 7);
        drop(guard);
        self.take_notes();
        let (command, kind) = self.sent_one();
        assert!(matches!(kind, Commanded::Release(release) if release.token == 7));
        self.receive(command, Answered::Release(Default::default()));
        self.reconnect();
        let (command, _) = self.sent_one();
        self.receive(command, attached("a", &[7], 20));
        session
    }
}

#[test]
fn released_hold_is_released_again() {
    let mut bench = Bench::new();
    let session = bench.attached_with_a_stray();
    let (command, kind) = bench.sent_one();
    let Commanded::Release(release) = kind else { panic!("{kind:?}") };
    assert_eq!((&*release.name, &*release.session_id, release.token), ("job", session.id(), 7));
    bench.receive(command, Answered::Release(Default::default()));
    assert!(bench.sent().is_empty());
}

#[test]
fn failed_release_of_a_stray_is_repeated_on_attaching() {
    let mut bench = Bench::new();
    let _session = bench.attached_with_a_stray();
    let (command, _) = bench.sent_one();
    bench.refuse(command, "STORE_UNAVAILABLE");
    bench.pass(super::TTL / 3);
    let (command, kind) = bench.sent_one();
    assert!(matches!(kind, Commanded::AttachSession(_)), "{kind:?}");
    bench.receive(command, attached("a", &[7], 20));
    assert!(matches!(bench.sent_one(), (_, Commanded::Release(release)) if release.token == 7));
}

#[test]
fn claim_requested_again_is_not_released() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let (_, mut answer) = bench.acquire(&session, Wait::Forever);
    bench.sent_one();
    bench.reconnect();
    let (command, _) = bench.sent_one();
    bench.receive(command, attached("a", &[7], 20));
    let (command, kind) = bench.sent_one();
    assert!(matches!(kind, Commanded::Acquire(_)), "{kind:?}");
    bench.receive(command, acquired(7));
    assert_eq!(guard_of(&mut answer).token(), 7);
}

#[test]
fn cancelled_wait_is_cancelled_again() {
    let mut bench = Bench::new();
    let _session = bench.session("a");
    bench.reconnect();
    let (command, _) = bench.sent_one();
    let mut attached = attached("a", &[0], 20);
    if let Answered::AttachedSession(answer) = &mut attached {
        let claims = answer.session.iter_mut().flat_map(|session| &mut session.claims);
        claims.for_each(|claim| claim.set_state(v1::ClaimState::Waiting));
    }
    bench.receive(command, attached);
    let (_, kind) = bench.sent_one();
    assert!(matches!(&kind, Commanded::CancelAcquire(cancel) if cancel.names == ["job"]), "{kind:?}");
}
