//! Tests of a job that several hosts start by their own clocks, and of one that waits for another.

use std::time::{Duration, Instant};

use tenure_e2e::{Calls, Store, on_every_store, rejection, seconds, tries};
use tenure_harness::{Yardstick, wait_until};
use tenure_proto::v1::{AcquireRequest, ClaimState, GetSessionRequest};
use tonic::Code;

on_every_store!(
    one_of_four_hosts_runs_the_job,
    releases_of_unheld_and_expired_locks_are_rejected_differently,
    minimum_hold_outlives_a_short_job,
    release_wakes_the_waiter
);

const MINUTE: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(30);

async fn remaining(calls: &Calls, session: &str) -> Duration {
    let request = GetSessionRequest { session_id: session.into(), ..GetSessionRequest::default() };
    let session = calls.sessions.clone().get_session(request).await.unwrap().into_inner().session.unwrap();
    session.remaining.unwrap().try_into().unwrap()
}

async fn one_of_four_hosts_runs_the_job(store: Store) {
    let server = store.server().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    let hosts = ["host-1", "host-2", "host-3", "host-4"];
    let tries = hosts.map(|host| {
        let calls = calls.clone();
        tokio::spawn(async move { calls.try_lock("nightly", host, MINUTE).await.unwrap() })
    });
    let mut replies = Vec::new();
    for reply in tries {
        replies.push(reply.await.unwrap());
    }
    let (run, others): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.acquired);
    let [winner] = &run[..] else { panic!("not exactly one runs: {run:?}") };
    assert_eq!(others.len(), 3);
    for reply in &others {
        let holder = reply.holder.as_ref().unwrap();
        assert_eq!(
            (&holder.session_id, &holder.owner, holder.token),
            (&winner.session_id, &winner.session_id, winner.token)
        );
        assert_eq!(reply.token, 0);
    }

    // A repeated request of the same owner extends the same hold: by more than the time until that is read.
    let owner = &winner.session_id;
    wait_until(PATIENCE, "the remaining time shrinks", async || {
        remaining(&calls, owner).await < MINUTE - Duration::from_secs(2)
    })
    .await;
    let before = remaining(&calls, owner).await;
    let again = calls.try_lock("nightly", owner, MINUTE).await.unwrap();
    assert_eq!((again.acquired, again.token), (true, winner.token));
    assert!(remaining(&calls, owner).await > before);

    // After the release another host can acquire it, with a higher token; and the first one again after that.
    let other = hosts.into_iter().find(|host| host != owner).unwrap();
    calls.release("nightly", owner, winner.token).await.unwrap();
    calls.release("nightly", owner, winner.token).await.expect("a release may be repeated");
    let next = calls.try_lock("nightly", other, MINUTE).await.unwrap();
    assert!(next.acquired && next.token > winner.token);
    calls.release("nightly", other, next.token).await.unwrap();
    let last = calls.try_lock("nightly", owner, MINUTE).await.unwrap();
    assert!(last.acquired && last.token > next.token);
}

async fn releases_of_unheld_and_expired_locks_are_rejected_differently(store: Store) {
    let server = store.server().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    calls.try_lock("another job", "host-2", MINUTE).await.unwrap();

    let ttl = Duration::from_secs(3);
    let token = calls.try_lock("nightly", "host-1", ttl).await.unwrap().token;
    let not_owner = rejection(calls.release("nightly", "host-2", token).await);
    assert_eq!((not_owner.code, not_owner.reason.as_str()), (Code::FailedPrecondition, "NOT_HOLDER"));
    assert_eq!(not_owner.fact("holder"), "host-1");

    wait_until(PATIENCE, "the hold has expired", async || calls.lock("nightly").await.unwrap().holders.is_empty())
        .await;
    let expired = rejection(calls.release("nightly", "host-1", token).await);
    assert_eq!((expired.code, expired.reason.as_str()), (Code::FailedPrecondition, "SESSION_ENDED"));
    assert_eq!((expired.fact("end_reason"), expired.fact("session_id")), ("expired", "host-1"));
    assert_ne!(not_owner.message, expired.message);
}

async fn minimum_hold_outlives_a_short_job(store: Store) {
    let server = store.server().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    let min_hold = Duration::from_secs(4);
    let request = AcquireRequest {
        wait: Some(prost_types::Duration::default()),
        min_hold: Some(seconds(min_hold.as_secs_f64())),
        ..calls.acquire_request("nightly", "host-1", MINUTE)
    };
    let start = Instant::now();
    let held = calls.acquire(request).await.unwrap();
    calls.release("nightly", "host-1", held.token).await.unwrap();

    // The job is done, and still a host with a late clock does not run it a second time.
    let late = calls.try_lock("nightly", "host-2", MINUTE).await.unwrap();
    assert!(!late.acquired);
    assert_eq!(late.holder.unwrap().state(), ClaimState::Lingering);
    let next = calls.acquire(calls.acquire_request("nightly", "host-2", MINUTE)).await.unwrap();
    assert!(next.acquired && next.token > held.token);
    assert!(start.elapsed() >= min_hold, "granted after {:?}", start.elapsed());
    assert!(start.elapsed() < min_hold * 3, "granted after {:?}", start.elapsed());
}

async fn release_wakes_the_waiter(store: Store) {
    let server = store.server().await.unwrap();
    let calls = Calls::connect(&server.url()).await.unwrap();
    let (mut times, yardstick) = (Vec::new(), Yardstick::start());
    let mut holder = calls.try_lock("baton", "runner 0", MINUTE).await.unwrap();
    for number in 1..=tries().max(15) {
        let (waiting, session) = (calls.clone(), format!("runner {number}"));
        let waiter = tokio::spawn(async move {
            let granted = waiting.acquire(waiting.acquire_request("baton", &session, MINUTE)).await.unwrap();
            (granted, Instant::now())
        });
        wait_until(PATIENCE, "the waiter is in the queue", async || {
            calls.lock("baton").await.unwrap().waiter_count == 1
        })
        .await;
        calls.release("baton", &holder.session_id, holder.token).await.unwrap();
        // Measured from the commit of the release, which takes as long as the disk does.
        let released = Instant::now();
        let (granted, at) = waiter.await.unwrap();
        assert!(granted.acquired && granted.token > holder.token);
        times.push(at.saturating_duration_since(released));
        holder = granted;
    }
    times.sort_unstable();
    println!("release to grant: {times:?}");
    // A poller would be far slower, in more than half of them.
    yardstick.assert_in_time(&times[..=times.len() / 2], Duration::ZERO);
}
