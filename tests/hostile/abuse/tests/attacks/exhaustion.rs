//! Excessive numbers of connections, descriptors, streams, sessions, waiters and watches.

use std::time::Duration;

use prost::Message;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tenure_abuse::frame::{data, headers};
use tenure_abuse::{Attack, FrameClient, GrpcCaller, Reaction, Target, block, many, message};
use tenure_proto::v1::{AcquireRequest, OpenSessionRequest};

const TTL: prost_types::Duration = prost_types::Duration { seconds: 5, nanos: 0 };

#[tokio::test]
async fn idle_connections_do_not_affect_other_clients() {
    let target = Target::shared().await;
    let count = many(1_000, 9_000);
    let attack = async {
        let mut idle = Vec::new();
        for _ in 0..count {
            idle.push(FrameClient::handshake(target.address()).await.unwrap());
        }
        target.assert_served().await;
        idle.last_mut().unwrap().reaction().await
    };
    let bound = u32::try_from(many(64, 512)).unwrap();
    let last = target.run(Attack::named("idle connections").memory(bound), attack).await;
    assert_eq!(last, Reaction::Served);
}

/// CVE-2023-4785: connected clients are still served, and new ones once descriptors are available again.
#[tokio::test]
async fn server_without_descriptors_serves_connected_clients() {
    let mut target = Target::start().await.unwrap();
    let process = target.server().process_id().and_then(|id| Pid::from_raw(id.cast_signed())).unwrap();
    let taken = std::fs::read_dir(format!("/proc/{}/fd", process.as_raw_nonzero())).unwrap().count();
    let few = taken as u64 + 60;
    prlimit(Some(process), Resource::Nofile, Rlimit { current: Some(few), maximum: Some(few) }).unwrap();
    let attack = async {
        let mut silent = Vec::new();
        for _ in 0..many(120, 1_000) {
            // A connection that is not accepted waits in the kernel's queue.
            silent.push(FrameClient::open(target.address()).await.unwrap());
        }
        let mut pace = tokio::time::interval(Duration::from_millis(100));
        for _ in 0..10 {
            pace.tick().await;
        }
    };
    target.run(Attack::named("no descriptors left"), attack).await;
}

/// Each stream of a connection waits for the rest of its call, which is never sent.
#[tokio::test]
async fn incomplete_calls_are_bounded() {
    let target = Target::shared().await;
    let attack = async {
        let mut client = FrameClient::handshake(target.address()).await.unwrap();
        // The maximum number of streams.
        for at in 0..1_000 {
            let id = at * 2 + 1;
            let call = headers(id, false, &block::call("/tenure.v1.LockService/Acquire"));
            client.send(&[call, data(id, false, &[0, 0])].concat()).await;
        }
        client.reaction().await
    };
    let reaction = target.run(Attack::named("incomplete calls"), attack).await;
    assert_eq!(reaction, Reaction::Served);
}

/// Sessions, waiters and watches of one client, all of which end with it.
#[tokio::test]
async fn floods_of_sessions_waiters_and_watches_are_served_or_shed() {
    let target = Target::start().await.unwrap();
    let attack = async {
        let caller = GrpcCaller::connect(target.address()).await.unwrap();
        let opened = (0..many(500, 20_000)).map(|at| {
            let session_id = format!("flood-{at}");
            let open = OpenSessionRequest { session_id, ttl: Some(TTL), ..OpenSessionRequest::default() };
            let (open, caller) = (message(&open.encode_to_vec()), &caller);
            async move { caller.call("/tenure.v1.SessionService/OpenSession", &[], &open).await }
        });
        let answers = futures::future::join_all(opened.collect::<Vec<_>>()).await;
        let codes: std::collections::BTreeSet<_> = answers.into_iter().map(|answer| answer.unwrap().grpc).collect();
        let mut client = FrameClient::handshake(target.address()).await.unwrap();
        // Each watch is notified of the waiters. One connection has no more of both.
        for at in 0..u32::try_from(many(300, 500)).unwrap() {
            let id = at * 4 + 1;
            let acquire = AcquireRequest {
                names: vec!["wanted".to_owned()],
                session_id: format!("waiter-{at}"),
                ttl: Some(TTL),
                ..AcquireRequest::default()
            };
            let acquire = message(&acquire.encode_to_vec());
            let wait = headers(id, false, &block::call("/tenure.v1.LockService/Acquire"));
            let watch = headers(id + 2, false, &block::call("/tenure.v1.WatchService/Watch"));
            let frames = [wait, data(id, true, &acquire), watch, data(id + 2, true, &message(&[]))];
            client.send(&frames.concat()).await;
        }
        (codes, client.reaction().await)
    };
    let allowed = Attack::named("sessions, waiters and watches").may_change();
    let bound = u32::try_from(many(64, 320)).unwrap();
    let (codes, reaction) = target.run(allowed.memory(bound), attack).await;
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 8))), "neither served nor rejected as too many: {codes:?}");
    assert_eq!(reaction, Reaction::Served);
}
