//! Results of several commands in one message.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tenure_core::Revision;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::{AttachSession, CancelAcquireRequest, CancelCommand, GetLockRequest, OpenSessionRequest};
use tonic::Code;

use crate::calls::cluster::Cluster;
use crate::calls::stream::{ClientStream, acquire, refused, release, token};
use crate::serving::within;

#[tokio::test]
async fn each_command_of_a_message_gets_a_reply() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = ClientStream::open(&caller, &["default"]).await;
    let name = |id: u64| format!("lock/{id}");
    stream.send((10..510).map(|id| (id, acquire("", &name(id))))).await;
    let granted = stream.answers(10..510).await;
    assert_eq!(caller.holder(&name(77)).await, Some(("ann".to_owned(), token(&granted[&77]))));
    stream.send(granted.iter().map(|(id, answer)| (id + 1_000, release("", &name(*id), token(answer))))).await;
    let released = stream.answers(1_010..1_510).await;
    assert!(released.values().all(|answer| matches!(answer, Answered::Release(_))));
    assert_eq!(caller.holder(&name(77)).await, None);
}

#[tokio::test]
async fn stream_closed_for_sending_receives_the_remaining_replies() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = ClientStream::open(&caller, &["default"]).await;
    let look = GetLockRequest { name: "a".to_owned(), ..GetLockRequest::default() };
    stream.send((10..20).map(|id| (id, Kind::GetLock(look.clone())))).await;
    let hold = cluster.database.hold_appends();
    stream.send([(20, acquire("", "a")), (21, acquire("", "b"))]).await;
    stream.close_requests();
    hold.reached().await;
    drop(hold);
    let mut answers = stream.answers(10..22).await;
    assert!(answers.split_off(&20).values().all(|answer| token(answer) > 0));
    assert!(answers.values().all(|answer| matches!(answer, Answered::GetLock(_))), "{answers:?}");
}

#[tokio::test]
async fn commands_of_one_message_share_one_append() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = ClientStream::open(&caller, &["default"]).await;
    let before = cluster.database.log("default").len();
    stream.send((10..510).map(|id| (id, acquire("", &format!("lock/{id}"))))).await;
    stream.answers(10..510).await;
    assert_eq!(cluster.database.log("default").len(), before + 1, "one batch");
}

#[tokio::test]
async fn invalid_command_of_a_message_is_rejected_alone() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = ClientStream::open(&caller, &["default"]).await;
    stream
        .send([(10, acquire("", "a")), (11, acquire("", "")), (12, acquire("UPPER", "a")), (13, release("", "b", 0))])
        .await;
    let answers = stream.answers(10..14).await;
    token(&answers[&10]);
    for id in 11..14 {
        assert_eq!(refused(&answers[&id]), "INVALID_FIELD", "{id}");
    }
}

#[tokio::test]
async fn message_may_have_commands_of_several_namespaces() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = ClientStream::open(&caller, &["default", "other"]).await;
    let namespace = |id: u64| if id.is_multiple_of(2) { "default" } else { "other" };
    stream.send((10..20).map(|id| (id, acquire(namespace(id), &format!("lock/{id}"))))).await;
    let granted = stream.answers(10..20).await;
    for (id, answer) in &granted {
        stream.send([(id + 100, release(namespace(*id), &format!("lock/{id}"), token(answer)))]).await;
        let released = stream.answers([id + 100]).await;
        assert!(matches!(released[&(id + 100)], Answered::Release(_)), "held in its own namespace");
    }
}

#[tokio::test]
async fn acquire_can_be_cancelled_in_the_same_message() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = ClientStream::open(&caller, &["default"]).await;
    caller.hold("bob", "a").await;
    let cancel = Kind::Cancel(CancelCommand { command_id: 10 });
    stream.send([(10, acquire("", "a")), (11, cancel)]).await;
    let answers = stream.answers([10, 11]).await;
    assert!(matches!(&answers[&10], Answered::Acquire(answer) if !answer.acquired));
    caller.wait_for_waiters("a", 0).await;
}

/// A client that finds a claim it had cancelled releases it, and acquires anew, without waiting for a reply.
#[tokio::test]
async fn cancel_and_acquire_in_one_message_are_executed_in_order() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = ClientStream::open(&caller, &["default"]).await;
    stream.send([(10, acquire("", "a"))]).await;
    let first = token(&stream.answers([10]).await[&10]);
    let request = CancelAcquireRequest {
        names: vec!["a".to_owned()],
        session_id: "ann".to_owned(),
        ..CancelAcquireRequest::default()
    };
    let cancel = || Kind::CancelAcquire(request.clone());
    stream.send([(11, cancel()), (12, acquire("", "a"))]).await;
    let answers = stream.answers([11, 12]).await;
    let second = token(&answers[&12]);
    assert!(second > first, "the cancelled hold has ended");
    assert_eq!(caller.holder("a").await, Some(("ann".to_owned(), second)));
    stream.send([(13, acquire("", "b")), (14, cancel()), (15, acquire("", "a")), (16, cancel())]).await;
    stream.answers(13..17).await;
    assert_eq!(caller.holder("a").await, None, "the acquire precedes the cancel");
}

#[tokio::test]
async fn duplicate_command_id_ends_the_stream_without_effect() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = ClientStream::open(&caller, &["default"]).await;
    stream.send([(10, acquire("", "a")), (10, acquire("", "b"))]).await;
    assert_eq!(stream.end().await.code(), Code::InvalidArgument);
    for name in ["a", "b"] {
        assert_eq!(caller.holder(name).await, None);
    }
    assert_eq!(cluster.database.revision("default"), Revision(1), "only the session was opened");
}

#[tokio::test(flavor = "multi_thread")]
async fn command_id_can_be_reused_after_its_reply() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = ClientStream::open(&caller, &["default"]).await;
    for _ in 0..1_000 {
        let read = GetLockRequest { name: "a".to_owned(), ..GetLockRequest::default() };
        stream.send([(10, Kind::GetLock(read))]).await;
        assert!(matches!(stream.answers([10]).await[&10], Answered::GetLock(_)));
    }
}

#[tokio::test]
async fn acquire_in_a_session_not_attached_to_the_stream_is_rejected() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let _first = ClientStream::open(&caller, &["default"]).await;
    let mut second = ClientStream::open(&caller, &[]).await;
    second.send([(10, acquire("", "a"))]).await;
    assert_eq!(refused(&second.answers([10]).await[&10]), "NOT_ATTACHED");
    assert_eq!(caller.holder("a").await, None);
}

/// An older attach request that is processed late does not move the session away from its client's server.
#[tokio::test]
async fn stale_attachment_is_rejected() {
    let cluster = Cluster::start(2).await;
    let attach = |attachment| {
        let session_id = "ann".to_owned();
        Kind::AttachSession(AttachSession { session_id, attachment, ..AttachSession::default() })
    };
    let (one, other) = (cluster.caller(0).await, cluster.caller(1).await);
    let mut left = ClientStream::open(&one, &["default"]).await;
    let mut stream = ClientStream::open(&other, &[]).await;
    stream.send([(10, attach(3))]).await;
    assert!(matches!(stream.answers([10]).await[&10], Answered::AttachedSession(_)));
    left.send([(10, attach(2)), (11, attach(1 << 63))]).await;
    let answers = loop {
        let (id, answer) = left.next().await;
        match answer {
            Answered::SessionMoved(_) => {}
            answer => break BTreeMap::from([(id, answer), left.next().await]),
        }
    };
    assert_eq!(refused(&answers[&10]), "LATE_ATTACHMENT");
    assert_eq!(refused(&answers[&11]), "INVALID_FIELD");
    stream.send([(11, acquire("", "a"))]).await;
    token(&stream.answers([11]).await[&11]);
}

#[tokio::test]
async fn command_times_out_while_the_store_hangs() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let mut stream = ClientStream::open(&caller, &["default"]).await;
    let hold = cluster.database.hold_appends();
    let sent = Instant::now();
    stream.send([(10, acquire("", "a"))]).await;
    let answers = stream.answers([10]).await;
    assert_eq!(refused(&answers[&10]), "OUTCOME_UNKNOWN");
    assert!(sent.elapsed() >= Duration::from_secs(9), "{:?}", sent.elapsed());
    // The number may be reused, and the late outcome is not taken for the reply to the new command.
    stream.send([(10, acquire("", "b"))]).await;
    drop(hold);
    let granted = token(&stream.answers([10]).await[&10]);
    assert_eq!(caller.holder("b").await, Some(("ann".to_owned(), granted)));
    within(async {
        while caller.holder("a").await.is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn rejected_request_does_not_renew_its_session() {
    let cluster = Cluster::start(1).await;
    let caller = cluster.caller(0).await;
    let open = |attachment| OpenSessionRequest {
        session_id: "ann".into(),
        ttl: Some(prost_types::Duration { seconds: 60, nanos: 0 }),
        attachment,
        ..OpenSessionRequest::default()
    };
    within(caller.sessions().open_session(open(0))).await.expect("opened");
    let remaining = async || {
        let remaining = caller.session("ann").await.expect("open").remaining.expect("known");
        Duration::try_from(remaining).expect("positive")
    };
    let before = async {
        loop {
            let remaining = remaining().await;
            if remaining < Duration::from_millis(59_900) {
                return remaining;
            }
        }
    };
    let before = within(before).await;
    let refused = within(caller.sessions().open_session(open(u64::MAX))).await.expect_err("out of bounds");
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    assert!(remaining().await <= before);
}
