//! Planned handoffs against servers: no holder loses the lock without its consent, and the lock is never without a
//! holder.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use support::{Cluster, waiters, watching, within};
use tenure_client::v1::{
    ConfigureLockRequest, EndReason, ErrorReason, Event, EventType, LockSettings, Preempt, TransferRequest,
    watch_response::Kind,
};
use tenure_client::{Client, Error, Guard, LostReason, Metadata, SessionOptions, Watch};
use tokio::task::JoinHandle;

const LONG: Duration = Duration::from_secs(60);

/// A transfer by an operator, with this drain.
fn transfer(drain: Duration) -> TransferRequest {
    let drain = drain.try_into().ok();
    TransferRequest { name: "job".into(), operator: "ops".into(), drain, ..Default::default() }
}

/// Starts a session that waits for the lock.
async fn waiter(client: &Client, id: &str) -> anyhow::Result<JoinHandle<tenure_client::Result<Guard>>> {
    let before = client.get_lock("job").await?.waiter_count;
    let session = client.session(SessionOptions::default().id(id)).await?;
    let waiting = tokio::spawn(session.lock("job").acquire());
    waiters(client, "job", before + 1).await;
    Ok(waiting)
}

/// Returns the events up to the first of this kind.
async fn events_until(watch: &mut Watch, kind: EventType) -> Vec<Event> {
    let mut seen = Vec::new();
    within(async {
        while !seen.iter().any(|event: &Event| event.r#type() == kind) {
            if let Some(Kind::Events(batch)) = watch.next().await.expect("an item").expect("watched").kind {
                seen.extend(batch.events);
            }
        }
    })
    .await;
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn transfer_is_requested_confirmed_and_grants_the_named_waiter() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let guard = client.lock("job").acquire().await?;
    let first = guard.token();
    let _bob = waiter(&client, "bob").await?;
    let cid = waiter(&client, "cid").await?;
    let mut watch = client.watch(watching("job"));
    within(watch.next()).await.expect("a snapshot")?;
    let operator = client.clone();
    let to_cid = TransferRequest { to_session_id: "cid".into(), note: "maintenance".into(), ..transfer(LONG) };
    let transfer = tokio::spawn(async move { operator.transfer(to_cid).await });

    let request = within(guard.transfer_requested()).await;
    assert_eq!((&*request.pending.operator, &*request.pending.note), ("ops", "maintenance"));
    assert!(request.remaining() > LONG / 2 && request.remaining() < LONG);
    assert!(guard.is_valid(), "it holds on until it confirms");
    let pending = client.get_lock("job").await?.holders[0].transfer.clone().expect("a handoff is pending");
    assert_eq!(pending.to_session_id, "cid");
    guard.release().await?;

    let next = within(cid).await??;
    let transferred = within(transfer).await??;
    assert_eq!((transferred.session_id.as_str(), transferred.token), ("cid", next.token()));
    assert!(next.token() > first);
    let events = events_until(&mut watch, EventType::Transferred).await;
    let kinds: Vec<EventType> = events.iter().map(Event::r#type).collect();
    assert_eq!(kinds, [EventType::TransferStarted, EventType::Transferred]);
    assert!(events.iter().all(|event| event.vacant_names.is_empty()), "the lock always has a holder");
    let last = &events[1];
    assert_eq!(last.end_reason(), EndReason::Transferred);
    assert_eq!(last.previous.as_ref().map(|previous| previous.token), Some(first));
    assert_eq!(last.claim.as_ref().map(|claim| claim.token), Some(next.token()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unconfirmed_transfer_leaves_the_hold() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let guard = client.lock("job").acquire().await?;
    let bob = waiter(&client, "bob").await?;
    let refused = within(client.transfer(transfer(Duration::from_millis(100)))).await.expect_err("not confirmed");
    assert_eq!(refused.reason(), Some(ErrorReason::TransferNotConfirmed));
    assert!(guard.is_valid());
    assert!(client.get_lock("job").await?.holders[0].transfer.is_none());
    guard.release().await?;
    within(bob).await??.release().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn holder_transfers_to_a_waiter_without_a_gap() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let guard = client.lock("job").acquire().await?;
    let rejected = within(guard.transfer_to(None)).await.expect_err("there is no waiter");
    assert_eq!(rejected.reason(), Some(ErrorReason::TransferImpossible));

    let guard = within(client.lock("job").acquire()).await?;
    let bob = waiter(&client, "bob").await?;
    let hold = guard.hold();
    let token = within(guard.transfer_to(Some("bob"))).await?;
    assert_eq!(within(bob).await??.token(), token);
    assert_eq!(hold.lost_reason(), Some(LostReason::Released), "it is not valid from the call on");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn transfer_request_reaches_a_holder_after_its_failover() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let holder = cluster.client()?;
    let guard = holder.lock("job").ttl(Duration::from_secs(20)).acquire().await?;
    let operator = cluster.client()?;
    let bob = waiter(&operator, "bob").await?;
    cluster.relay(0).cut();
    cluster.relay(1).cut();
    let direct = cluster.direct_client(1)?;
    let witness = direct.clone();
    let transfer = tokio::spawn(async move { direct.transfer(transfer(LONG)).await });
    within(async {
        while witness.get_lock("job").await.expect("readable").holders[0].transfer.is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(guard.transfer_request(), None, "no server could notify it");
    cluster.relay(0).heal();
    cluster.relay(1).heal();
    within(guard.transfer_requested()).await;
    guard.release().await?;
    within(transfer).await??;
    within(bob).await??;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lead_every_confirms_transfers() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let leading = Arc::new(AtomicU64::new(0));
    let mut loops = Vec::new();
    for _ in 0..2 {
        let (election, leading) = (cluster.client()?.election("job"), Arc::clone(&leading));
        loops.push(tokio::spawn(async move {
            let work = |hold: tenure_client::Hold| {
                leading.store(hold.token(), Ordering::SeqCst);
                std::future::ready(())
            };
            election.lead_every(Duration::from_millis(5), work).await
        }));
    }
    waiters(&client, "job", 1).await;
    for _ in 0..5 {
        let next = within(client.transfer(transfer(LONG))).await?;
        let token = next.token;
        within(async {
            while leading.load(Ordering::SeqCst) != token {
                tokio::task::yield_now().await;
            }
        })
        .await;
        waiters(&client, "job", 1).await;
    }
    loops.iter().for_each(JoinHandle::abort);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hung_body_is_cancelled_before_the_drain_is_over() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let election = cluster.client()?.election("job");
    let stuck = tokio::spawn(async move { election.lead(async |_| std::future::pending().await).await });
    within(async { while client.get_lock("job").await.expect("readable").holder().is_none() {} }).await;
    let bob = waiter(&client, "bob").await?;
    within(client.transfer(transfer(Duration::from_secs(5)))).await?;
    within(bob).await??;
    stuck.abort();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn waiter_of_higher_priority_preempts_the_holder() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let preempt = Preempt { settling: Duration::from_millis(50).try_into().ok(), drain: LONG.try_into().ok() };
    let settings = Some(LockSettings { limit: 0, preempt: Some(preempt) });
    let (name, operator) = ("job".into(), "ops".into());
    client.configure_lock(ConfigureLockRequest { name, settings, operator, ..Default::default() }).await?;
    let guard = client.lock("job").acquire().await?;
    let equal = waiter(&client, "equal").await?;
    let better = client.session(SessionOptions::default().id("better")).await?;
    let better = tokio::spawn(better.lock("job").priority(1).acquire());
    let request = within(guard.transfer_requested()).await;
    assert_eq!(request.pending.operator, "", "the lock's settings ask");
    guard.release().await?;
    let better = within(better).await??;
    assert!(!equal.is_finished());
    better.release().await?;
    within(equal).await??.release().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn holder_replaces_its_metadata() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let guard = client.lock("job").metadata("address", "10.0.0.1").acquire().await?;
    let mut watch = client.watch(watching("job"));
    within(watch.next()).await.expect("a snapshot")?;
    let labels = Metadata::from([("address".to_owned(), "10.0.0.2".to_owned())]);
    guard.update_metadata(labels.clone()).await?;
    assert_eq!(client.get_lock("job").await?.holders[0].metadata, labels);
    let events = events_until(&mut watch, EventType::Updated).await;
    assert_eq!(events[0].claim.as_ref().map(|claim| (claim.token, &claim.metadata)), Some((guard.token(), &labels)));
    let stale = client.update_claim("job", guard.session().id(), guard.token() + 1_000, Metadata::new()).await;
    assert!(matches!(stale, Err(Error::Refused(_))), "{stale:?}");
    Ok(())
}
