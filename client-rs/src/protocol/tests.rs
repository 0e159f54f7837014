//! The engine against a scripted server, with the time passed in.

mod attachment;
mod grace;
mod opening;
mod overtaking;
mod progress;
mod releases;
mod stray;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind as Commanded;
use tokio::sync::{mpsc, oneshot};

use super::{Engine, Verdict};
use crate::clock::{self, Moment};
use crate::connection::{
    AcquireOutcome, AcquireSpec, ClaimKey, Connection, Inbox, Note, Request, SessionHandle, Wait, WatchKey,
};
use crate::convert::to_wire;
use crate::error::{Error, LostReason, Result};
use crate::guard::Guard;
use crate::model::WatchEvent;
use crate::options::{SessionOptions, WatchOptions};
use crate::session::Session;
use crate::trace::Trace;

const TTL: Duration = Duration::from_millis(1_200);
const CALL: Duration = Duration::from_secs(5);
const CLIENT: &str = "this program";

/// An engine, its time, and the requests of its handles.
struct Bench {
    engine: Engine,
    now: Moment,
    connection: Connection,
    inbox: Inbox,
    keys: u64,
}

impl Bench {
    /// An engine that is connected. Its time begins now, because handles look at the real clock.
    fn new() -> Self {
        let (connection, inbox) = Connection::new("default".to_owned(), CALL);
        let mut bench = Self {
            engine: Engine::new("default".to_owned(), CLIENT.to_owned()),
            now: clock::now(),
            connection,
            inbox,
            keys: 0,
        };
        bench.engine.connected(bench.now);
        bench
    }

    /// Lets time pass, with each timer executed when it is due.
    fn pass(&mut self, while_: Duration) {
        let until = self.now.after(while_);
        while let Some(next) = self.engine.next_deadline().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.engine.due(self.now);
        }
        self.now = until;
    }

    fn sent(&mut self) -> Vec<(u64, Commanded)> {
        let commands = self.engine.take_outgoing(usize::MAX);
        commands.into_iter().filter_map(|command| Some((command.id, command.kind?))).collect()
    }

    /// The only command sent.
    fn sent_one(&mut self) -> (u64, Commanded) {
        let mut sent = self.sent();
        assert_eq!(sent.len(), 1, "{sent:?}");
        sent.remove(0)
    }

    fn receive(&mut self, id: u64, kind: Answered) {
        let answers = vec![v1::Answer { id, kind: Some(kind) }];
        self.engine.received(v1::StreamResponse { answers }, self.now);
    }

    fn refuse(&mut self, id: u64, reason: &str) {
        self.receive(id, Answered::Refusal(v1::Refusal { reason: reason.to_owned(), ..Default::default() }));
    }

    /// Passes the notes of dropped handles to the engine.
    fn take_notes(&mut self) {
        while let Ok(note) = self.inbox.notes.try_recv() {
            self.engine.note(note, self.now);
        }
    }

    fn session(&mut self, id: &str) -> Session {
        self.session_with(id, SessionOptions::new().ttl(TTL), session(id, &[]))
    }

    fn session_with(&mut self, id: &str, options: SessionOptions, granted: v1::Session) -> Session {
        let grace = options.disconnect_grace.map(to_wire);
        let mut answer = self.opening(id, options);
        let (command, kind) = self.sent_one();
        assert!(matches!(kind, Commanded::OpenSession(request) if request.disconnect_grace == grace));
        self.receive(command, Answered::OpenSession(Box::new(v1::OpenSessionResponse { session: Some(granted) })));
        Session::of(&Arc::new(answer.try_recv().unwrap().unwrap()))
    }

    fn opening(&mut self, id: &str, options: SessionOptions) -> oneshot::Receiver<Result<SessionHandle>> {
        let (reply, answer) = oneshot::channel();
        let request = Request::Open {
            id: id.into(),
            options: Box::new(options),
            connection: self.connection.clone(),
            trace: Trace::default(),
            deadline: self.now.after(CALL),
            reply,
        };
        self.engine.request(request, self.now);
        answer
    }

    fn acquire(&mut self, session: &Session, wait: Wait) -> (ClaimKey, oneshot::Receiver<Result<AcquireOutcome>>) {
        self.acquire_as(session, AcquireSpec::new(vec!["job".to_owned()]), wait)
    }

    fn acquire_as(
        &mut self,
        session: &Session,
        spec: AcquireSpec,
        wait: Wait,
    ) -> (ClaimKey, oneshot::Receiver<Result<AcquireOutcome>>) {
        self.keys += 1;
        let claim = ClaimKey(self.keys);
        let (reply, answer) = oneshot::channel();
        let session = Arc::clone(session.handle());
        let request = Request::Acquire { claim, session, spec, wait, asked: self.now, reply };
        self.engine.request(request, self.now);
        (claim, answer)
    }

    fn hold(&mut self, session: &Session, token: u64) -> Guard {
        let (_, mut answer) = self.acquire(session, Wait::Forever);
        let (command, _) = self.sent_one();
        self.receive(command, acquired(token));
        guard_of(&mut answer)
    }

    fn reconnect(&mut self) {
        self.engine.disconnected("gone".to_owned());
        self.engine.connected(self.now);
    }
}

fn guard_of(answer: &mut oneshot::Receiver<Result<AcquireOutcome>>) -> Guard {
    match answer.try_recv().unwrap().unwrap() {
        AcquireOutcome::Held(handle) => Guard::new(handle),
        AcquireOutcome::Busy(busy) => panic!("{busy:?}"),
    }
}

fn session(id: &str, tokens: &[u64]) -> v1::Session {
    let held = |token: &u64| v1::Claim {
        names: vec!["job".to_owned()],
        token: *token,
        state: v1::ClaimState::Held.into(),
        ..Default::default()
    };
    v1::Session {
        id: id.to_owned(),
        ttl: Some(to_wire(TTL)),
        claims: tokens.iter().map(held).collect(),
        ..Default::default()
    }
}

fn attached(id: &str, tokens: &[u64], revision: u64) -> Answered {
    Answered::AttachedSession(Box::new(v1::AttachedSession { session: Some(session(id, tokens)), revision }))
}

fn acquired(token: u64) -> Answered {
    Answered::Acquire(v1::AcquireResponse { acquired: true, token, ..Default::default() })
}

fn kept(id: &str) -> Answered {
    kept_for(id, TTL)
}

fn kept_for(id: &str, ttl: Duration) -> Answered {
    let kept = v1::KeptSession { session_id: id.to_owned(), ttl: Some(to_wire(ttl)), refusal: None };
    Answered::KeepAlive(v1::KeepAliveResponse { sessions: vec![kept] })
}

#[test]
fn sessions_are_renewed_together_at_a_third_of_the_ttl() {
    let mut bench = Bench::new();
    let _first = bench.session("a");
    bench.pass(Duration::from_millis(50));
    let _second = bench.session("b");
    bench.pass(Duration::from_millis(349));
    assert!(bench.sent().is_empty());
    bench.pass(Duration::from_millis(1));
    let (_, Commanded::KeepAlive(request)) = bench.sent_one() else { panic!("no keep-alive") };
    let mut ids = request.session_ids;
    ids.sort();
    assert_eq!(ids, ["a", "b"]);
}

#[test]
fn server_that_does_not_answer_a_renewal_is_left_in_time() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    bench.pass(Duration::from_millis(699));
    assert_eq!(bench.engine.take_verdict(), None);
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.engine.take_verdict(), Some(Verdict::Broken));
    bench.reconnect();
    let (command, kind) = bench.sent_one();
    assert!(matches!(kind, Commanded::AttachSession(_)));
    bench.receive(command, attached("a", &[], 1));
    // Counted from the sending of the attach.
    assert_eq!(session.presence().until(), bench.now.after(Duration::from_millis(1_128)));
    bench.pass(Duration::from_millis(400));
    assert!(matches!(bench.sent_one(), (_, Commanded::KeepAlive(_))));
}

#[test]
fn session_lives_by_renewals_and_ends_after_silence() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    for _ in 0..50 {
        bench.pass(Duration::from_millis(400));
        let (command, _) = bench.sent_one();
        bench.receive(command, kept("a"));
    }
    let until = session.presence().until();
    assert_eq!(until, bench.now.after(Duration::from_millis(1_128)));
    bench.engine.disconnected("gone".to_owned());
    bench.pass(Duration::from_millis(1_128));
    assert!(!session.is_valid());
    // It is closed on the next stream.
    bench.engine.connected(bench.now);
    assert!(matches!(bench.sent_one(), (_, Commanded::CloseSession(_))));
}

#[test]
fn session_with_a_shorter_ttl_is_renewed_earlier() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    bench.pass(Duration::from_millis(400));
    let (command, _) = bench.sent_one();
    let until = session.presence().until();
    bench.receive(command, kept_for("a", Duration::from_millis(300)));
    assert_eq!(session.presence().until(), until, "what was promised before still stands");
    bench.pass(Duration::from_millis(100));
    assert!(matches!(bench.sent_one(), (_, Commanded::KeepAlive(_))));
}

#[test]
fn hold_unknown_to_the_server_is_lost_on_attaching() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let guard = bench.hold(&session, 7);
    bench.reconnect();
    let (command, _) = bench.sent_one();
    bench.receive(command, attached("a", &[7], 9));
    assert!(guard.is_valid());
    // A state from before the grant says nothing about it.
    bench.reconnect();
    let (command, _) = bench.sent_one();
    bench.receive(command, attached("a", &[], 6));
    assert!(guard.is_valid());
    bench.reconnect();
    let (command, _) = bench.sent_one();
    bench.receive(command, attached("a", &[], 9));
    assert_eq!(guard.lost_reason(), Some(LostReason::Forgotten));
    assert!(session.is_valid());
}

#[test]
fn waiting_acquire_is_repeated_with_the_rest_of_its_wait() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let (_, mut answer) = bench.acquire(&session, Wait::AtMost(Duration::from_secs(1)));
    let (_, Commanded::Acquire(request)) = bench.sent_one() else { panic!("no acquire") };
    assert_eq!(request.wait, Some(to_wire(Duration::from_secs(1))));
    bench.pass(Duration::from_millis(300));
    bench.reconnect();
    let (attach, _) = bench.sent_one();
    bench.receive(attach, attached("a", &[], 1));
    let (command, Commanded::Acquire(request)) = bench.sent_one() else { panic!("no acquire") };
    assert_eq!(request.wait, Some(to_wire(Duration::from_millis(700))));
    bench.receive(command, acquired(3));
    assert_eq!(guard_of(&mut answer).token(), 3);
}

#[test]
fn cancelled_acquire_ends_before_it_is_withdrawn() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let (claim, answer) = bench.acquire(&session, Wait::Forever);
    let (acquire, _) = bench.sent_one();
    drop(answer);
    bench.engine.note(Note::ClaimDropped { session: session.handle().id.clone(), claim }, bench.now);
    let (_, Commanded::Cancel(cancel)) = bench.sent_one() else { panic!("no cancel") };
    assert_eq!(cancel.command_id, acquire);
    let (_, mut next) = bench.acquire(&session, Wait::Forever);
    assert!(bench.sent().is_empty(), "the next one waits for its turn");
    // It was granted meanwhile.
    bench.receive(acquire, acquired(3));
    let (withdrawal, kind) = bench.sent_one();
    assert!(matches!(kind, Commanded::CancelAcquire(_)));
    bench.receive(withdrawal, Answered::CancelAcquire(v1::CancelAcquireResponse { revision: 4 }));
    let (command, _) = bench.sent_one();
    bench.receive(command, acquired(5));
    assert_eq!(guard_of(&mut next).token(), 5);
}

#[test]
fn undelivered_grant_is_released() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let (_, answer) = bench.acquire(&session, Wait::Forever);
    let (command, _) = bench.sent_one();
    drop(answer);
    bench.receive(command, acquired(3));
    bench.take_notes();
    let (_, Commanded::Release(request)) = bench.sent_one() else { panic!("no release") };
    assert_eq!(request.token, 3);
}

#[test]
fn transient_rejection_is_retried_until_the_deadline() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let (_, mut answer) = bench.acquire(&session, Wait::No);
    let asked = bench.now;
    let mut tries = 0;
    let outcome = loop {
        if let Ok(outcome) = answer.try_recv() {
            break outcome;
        }
        assert!(bench.now.since(asked) <= CALL, "no answer after {tries} tries");
        for (id, kind) in bench.sent() {
            match kind {
                Commanded::Acquire(_) => {
                    tries += 1;
                    bench.refuse(id, "STORE_UNAVAILABLE");
                }
                Commanded::KeepAlive(_) => bench.receive(id, kept("a")),
                _ => {}
            }
        }
        bench.pass(Duration::from_millis(10));
    };
    let Err(Error::Refused(refusal)) = outcome else { panic!("{outcome:?}") };
    assert!(refusal.is_transient());
    assert!((10..200).contains(&tries), "{tries}");
    assert_eq!(bench.engine.take_verdict(), None, "the server is not to blame");
}

#[test]
fn moved_session_is_attached_again_and_old_replies_are_ignored() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    bench.pass(Duration::from_millis(400));
    let (renewal, _) = bench.sent_one();
    let until = session.presence().until();
    bench.pass(Duration::from_millis(10));
    bench.receive(0, Answered::SessionMoved(v1::SessionMoved { session_id: "a".into() }));
    bench.receive(renewal, kept("a"));
    assert_eq!(session.presence().until(), until);
    bench.pass(Duration::from_millis(1));
    let (command, kind) = bench.sent_one();
    assert!(matches!(kind, Commanded::AttachSession(_)));
    bench.receive(command, attached("a", &[], 2));
    assert!(session.presence().until() > until);
}

#[test]
fn departing_server_is_left() {
    for reason in ["DRAINING", "LEASE_LOST"] {
        let mut bench = Bench::new();
        let session = bench.session("a");
        let _answer = bench.acquire(&session, Wait::Forever);
        let (command, _) = bench.sent_one();
        bench.refuse(command, reason);
        assert_eq!(bench.engine.take_verdict(), Some(Verdict::Leave), "{reason}");
    }
    let mut bench = Bench::new();
    bench.receive(0, Answered::GoingAway(v1::GoingAway::default()));
    assert_eq!(bench.engine.take_verdict(), Some(Verdict::Leave));
    assert!(bench.engine.is_settled());
}

#[test]
fn watch_of_a_slow_reader_pauses_and_resumes_without_gaps() {
    let mut bench = Bench::new();
    let (items, mut reader) = mpsc::channel(1);
    let paused = Arc::new(AtomicBool::new(false));
    let options = WatchOptions::names(["job"]).after_revision(4);
    let started = Note::WatchStarted { watch: WatchKey(1), options, items, paused };
    bench.engine.note(started, bench.now);
    let (command, _) = bench.sent_one();
    let events = |revision| {
        let kind = Some(v1::watch_response::Kind::Events(v1::Events::default()));
        Answered::Watch(v1::WatchResponse { revision, kind })
    };
    bench.receive(command, events(5));
    bench.receive(command, events(6));
    let (_, Commanded::Cancel(cancel)) = bench.sent_one() else { panic!("no cancel") };
    assert_eq!(cancel.command_id, command);
    bench.receive(command, events(7));
    assert!(matches!(reader.try_recv(), Ok(Ok(WatchEvent::Events { revision: 5, .. }))));
    assert!(reader.try_recv().is_err());
    bench.engine.note(Note::WatchDrained { watch: WatchKey(1) }, bench.now);
    let (_, Commanded::Watch(request)) = bench.sent_one() else { panic!("no watch") };
    assert_eq!(request.after_revision, 5);
}

#[test]
fn shutdown_closes_open_sessions() {
    let mut bench = Bench::new();
    let session = bench.session("a");
    let guard = bench.hold(&session, 7);
    let (reply, mut answer) = oneshot::channel();
    bench.engine.request(Request::ShutDown { deadline: bench.now.after(CALL), reply }, bench.now);
    assert!(!guard.is_valid() && !bench.engine.take_shut_down());
    let (command, _) = bench.sent_one();
    bench.receive(command, Answered::CloseSession(v1::CloseSessionResponse {}));
    assert!(bench.engine.take_shut_down());
    assert!(matches!(answer.try_recv(), Ok(Ok(()))));
}
