//! Client operations that survive server failures.

use crate::support;

use std::time::{Duration, Instant};

use support::{Cluster, reaches, state_change, until, waiters, within};
use tenure_client::v1::WatchRequest;
use tenure_client::{Attempt, Client, Error, LostReason, SessionOptions, SessionState};
use tenure_harness::Yardstick;

/// Long enough for a client to renew in time on a busy machine.
const TTL: Duration = Duration::from_secs(3);

/// Waits until the home of a session is no longer `home`.
async fn moved(client: &Client, session_id: &str, home: u64) -> u64 {
    within(async {
        loop {
            match client.get_session(session_id).await {
                Ok(session) if session.home != home => return session.home,
                Ok(_) | Err(Error::Unavailable(_)) => tokio::task::yield_now().await,
                Err(error) => panic!("the session has ended: {error}"),
            }
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_survives_the_loss_of_its_server() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let client = cluster.client()?;
    let guard = within(client.lock("job").ttl(TTL).acquire()).await?;
    let first = cluster.serving().await;
    let home = client.get_session(guard.session().id()).await?.home;

    cluster.relay(first).cut();
    let (cut, yardstick) = (Instant::now(), Yardstick::start());
    moved(&client, guard.session().id(), home).await;
    yardstick.assert_in_time(&[cut.elapsed()], Duration::ZERO);
    assert!(guard.is_valid());
    // The lock stays held for longer than the TTL, and the token is still valid for a release.
    let other = within(client.lock("job").acquire_within(TTL * 2)).await?;
    assert!(matches!(other, Attempt::Busy(_)));
    assert!(guard.is_valid());
    within(guard.release()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_server_is_left_within_the_ttl() -> anyhow::Result<()> {
    let cluster = Cluster::start(3).await?;
    let client = cluster.client()?;
    let guard = within(client.lock("job").ttl(TTL).acquire()).await?;
    for _ in 0..2 {
        let session = client.get_session(guard.session().id()).await?;
        let serving = cluster.serving().await;
        cluster.relay(serving).freeze();
        moved(&client, guard.session().id(), session.home).await;
        assert!(guard.is_valid());
        // Cuts its connections, so that `serving` does not return this server again.
        cluster.relay(serving).cut();
    }
    within(guard.release()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn waiter_keeps_its_place_after_failover() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let (holder, early, late) = (cluster.client()?, cluster.client()?, cluster.client()?);
    let guard = within(holder.lock("job").acquire()).await?;
    let first = tokio::spawn(early.lock("job").owner("early").acquire());
    waiters(&holder, "job", 1).await;
    let second = tokio::spawn(late.lock("job").owner("late").acquire());
    waiters(&holder, "job", 2).await;

    cluster.relay(0).cut();
    cluster.relay(1).cut();
    cluster.relay(1).heal();
    within(guard.release()).await?;
    let first = within(first).await??;
    assert!(!second.is_finished());
    within(first.release()).await?;
    within(second).await??;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_server_is_left_without_risk_to_the_session() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(2).await?;
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new().ttl(TTL))).await?;
    let guard = within(session.lock("job").acquire()).await?;
    let change = state_change(&session);
    let home = client.get_session(session.id()).await?.home;

    let serving = cluster.serving().await;
    within(cluster.drain(serving)).await;
    moved(&client, session.id(), home).await;
    assert!(guard.is_valid());
    assert!(!change.is_finished(), "at risk: {:?}", change.await?);
    within(guard.release()).await?;
    Ok(())
}

/// The clients have no other server: neither their streams nor pending waits and watches delay the shutdown.
#[tokio::test(flavor = "multi_thread")]
async fn shutdown_of_the_last_server_does_not_wait_for_its_clients() -> anyhow::Result<()> {
    for count in [1, 2] {
        let mut cluster = Cluster::start(count).await?;
        let client = cluster.client()?;
        let session = within(client.session(SessionOptions::new().ttl(TTL))).await?;
        let guard = within(session.lock("job").acquire()).await?;
        let waiter = within(client.session(SessionOptions::new().ttl(TTL))).await?;
        let waiting = tokio::spawn({
            let lock = waiter.lock("job");
            async move { lock.acquire().await.map(drop) }
        });
        let mut watch = client.watch(WatchRequest::default());
        within(watch.next()).await.expect("the watch goes on")?;
        until("it waits", async || client.get_lock("job").await.is_ok_and(|lock| lock.waiter_count == 1)).await;
        if count == 2 {
            let home = client.get_session(session.id()).await?.home;
            let serving = cluster.serving().await;
            within(cluster.drain(serving)).await;
            moved(&client, session.id(), home).await;
        }
        let last = cluster.serving().await;
        let began = Instant::now();
        within(cluster.drain(last)).await;
        let took = began.elapsed();
        // The drain timeout is 5 s.
        assert!(took < Duration::from_millis(2_500), "with {count}: {took:?}");
        assert!(guard.is_valid() && !waiting.is_finished(), "sessions live by their TTL");
        waiting.abort();
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_without_servers_is_lost_before_its_ttl() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new().ttl(TTL))).await?;
    let guard = within(session.lock("job").acquire()).await?;
    let mut states = session.states();

    cluster.relay(0).cut();
    cluster.relay(1).cut();
    let cut = Instant::now();
    within(reaches(&mut states, SessionState::AtRisk)).await;
    assert!(guard.is_valid());
    let until = session.valid_until();
    assert!(until < cut + TTL, "valid for {:?}", until - cut);
    assert_eq!(within(guard.lost()).await, LostReason::Unrenewed);
    assert!(cut.elapsed() < TTL * 2, "it took {:?}", cut.elapsed());
    assert!(!guard.is_valid() && !session.is_valid());
    assert!(matches!(guard.release().await, Err(Error::Lost(LostReason::Unrenewed))));

    // The client continues, and the old session is closed rather than waited for.
    cluster.relay(0).heal();
    within(client.lock("job").acquire()).await?;
    assert!(!session.is_valid());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn body_is_cancelled_when_no_server_can_be_reached() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let (started, has_started) = tokio::sync::oneshot::channel();
    let body = client.lock("job").ttl(TTL).run(move |_| async move {
        let _ = started.send(());
        std::future::pending::<()>().await
    });
    let body = tokio::spawn(body);
    within(has_started).await?;
    cluster.relay(0).cut();
    assert!(matches!(within(body).await?, Err(Error::Lost(LostReason::Unrenewed))));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_survives_an_outage_of_the_database() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new().ttl(TTL))).await?;
    let guard = within(session.lock("job").acquire()).await?;
    let change = state_change(&session);

    cluster.database.set_available(false);
    let outage = tokio::time::timeout(TTL * 2, guard.lost()).await;
    assert!(outage.is_err(), "lost: {outage:?}");
    assert!(!change.is_finished(), "at risk: {:?}", change.await?);
    let waiting = tokio::spawn(session.lock("other").acquire());
    cluster.database.set_available(true);
    within(waiting).await??;
    within(guard.release()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_tries_the_next_server() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    // The server accepts connections but does not reply.
    cluster.relay(0).freeze();
    let client = cluster.client()?;
    let (start, yardstick) = (Instant::now(), Yardstick::start());
    within(client.lock("job").acquire()).await?;
    yardstick.assert_in_time(&[start.elapsed()], Duration::ZERO);
    Ok(())
}
