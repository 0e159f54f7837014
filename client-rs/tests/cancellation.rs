//! A client cancels a wait: before, after and at the very moment of the grant. In each order, nothing is left behind,
//! and the next waiter is served.

use crate::support;

use std::time::Duration;

use support::{Cluster, eviction, until, waiters, within};
use tenure_client::v1::EndReason;
use tenure_client::{Attempt, Client, Error, Guard, LostReason, Session, SessionOptions};
use tenure_server::store::Fault;
use tokio::task::JoinHandle;

/// How the second of the three clients cancels its wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Its future is dropped.
    Dropped,
    /// Its wait times out.
    TimedOut,
    /// Its session is closed.
    SessionClosed,
    /// Its client is closed.
    ClientClosed,
}

const WAYS: [Way; 4] = [Way::Dropped, Way::TimedOut, Way::SessionClosed, Way::ClientClosed];

/// The timeout of a bounded wait.
const SHORT: Duration = Duration::from_millis(300);

type Pending<T> = JoinHandle<tenure_client::Result<T>>;

/// Three clients of one lock: the first holds it, the second and the third wait.
struct Three {
    cluster: Cluster,
    other: Client,
    client: Client,
    second: Session,
    pending: Pending<Attempt<Guard>>,
    third: Pending<Guard>,
}

impl Three {
    /// Sets up the three clients. Also returns the first client's guard.
    async fn queue(way: Way) -> anyhow::Result<(Self, Guard)> {
        let cluster = Cluster::start(1).await?;
        let (other, client) = (cluster.bystander()?, cluster.client()?);
        let first = within(other.lock("job").acquire()).await?;
        let second = within(client.session(SessionOptions::new())).await?;
        let wait = if way == Way::TimedOut { SHORT } else { support::PATIENCE };
        let pending = tokio::spawn(second.lock("job").acquire_within(wait));
        waiters(&other, "job", 1).await;
        let third = tokio::spawn(other.lock("job").acquire());
        until("both wait", async || {
            let lock = other.get_lock("job").await.expect("read");
            lock.waiter_count == 2 || (way == Way::TimedOut && lock.waiter_count == 1 && pending.is_finished())
        })
        .await;
        Ok((Self { cluster, other, client, second, pending, third }, first))
    }

    /// Starts the cancellation.
    fn cancel(&self, way: Way) {
        match way {
            Way::Dropped => self.pending.abort(),
            // The wait times out by itself.
            Way::TimedOut => {}
            Way::SessionClosed => {
                let session = self.second.clone();
                tokio::spawn(async move { session.close().await });
            }
            Way::ClientClosed => {
                let client = self.client.clone();
                tokio::spawn(async move { client.close().await });
            }
        }
    }

    /// Checks that a granted client knows of its hold, and that a cancelled one does not block the next.
    async fn check(self, way: Way, released: Pending<()>) -> anyhow::Result<()> {
        within(released).await??;
        let mut guard = None;
        match within(self.pending).await {
            Ok(Ok(Attempt::Acquired(held))) => {
                assert_eq!(way, Way::TimedOut, "{held:?}");
                assert_eq!(self.cluster.granted(self.second.id()).await, held.token());
                guard = Some(held);
            }
            Ok(Ok(Attempt::Busy(_))) => assert_eq!(way, Way::TimedOut),
            Ok(Err(Error::Lost(LostReason::Closed))) => assert!(matches!(way, Way::SessionClosed | Way::ClientClosed)),
            Err(error) if error.is_cancelled() => assert_eq!(way, Way::Dropped),
            other => panic!("{way:?}: {other:?}"),
        }
        if let Some(guard) = guard {
            within(guard.release()).await?;
        }
        let third = within(self.third).await??;
        let id = third.session().id();
        assert_eq!(self.cluster.granted(id).await, third.token());
        let sessions =
            if matches!(way, Way::SessionClosed | Way::ClientClosed) { vec![id] } else { vec![id, self.second.id()] };
        self.cluster.holds_only(&[("job", third.token())], &sessions).await;
        assert!(third.is_valid());
        drop(self.other);
        Ok(())
    }
}

/// Waits for sent messages to arrive. Arrival cannot be observed: a late message arrives after those meant to follow
/// it, and that order has to work as well.
async fn wait_for_arrival() {
    tokio::time::sleep(SHORT / 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_cancelled_before_the_grant_lets_the_next_in() -> anyhow::Result<()> {
    for way in WAYS {
        let (three, first) = Three::queue(way).await?;
        three.cancel(way);
        waiters(&three.other, "job", 1).await;
        three.check(way, tokio::spawn(first.release())).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_cancelled_during_commit_of_the_grant_lets_the_next_in() -> anyhow::Result<()> {
    for way in WAYS {
        let (three, first) = Three::queue(way).await?;
        let hold = three.cluster.database.hold_appends();
        let released = tokio::spawn(first.release());
        within(hold.reached()).await;
        three.cancel(way);
        if way == Way::TimedOut {
            tokio::time::sleep(SHORT).await;
        }
        wait_for_arrival().await;
        drop(hold);
        three.check(way, released).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_cancelled_just_before_the_release_lets_the_next_in() -> anyhow::Result<()> {
    for way in WAYS {
        let (three, first) = Three::queue(way).await?;
        let hold = three.cluster.database.hold_appends();
        three.cancel(way);
        // The cancellation is being committed when the lock is released, unless the wait timed out even before.
        tokio::select! {
            () = within(hold.reached()) => {}
            () = until("the wait is over", async || three.pending.is_finished()), if way == Way::TimedOut => {}
        }
        let released = tokio::spawn(first.release());
        wait_for_arrival().await;
        drop(hold);
        three.check(way, released).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_cancelled_with_unknown_outcome_of_the_grant_lets_the_next_in() -> anyhow::Result<()> {
    for fault in [Fault::OutcomeUnknown, Fault::OutcomeUnknownAndLost] {
        for way in WAYS {
            let (three, first) = Three::queue(way).await?;
            let hold = three.cluster.database.hold_appends();
            three.cluster.database.fail_next(fault);
            let released = tokio::spawn(first.release());
            within(hold.reached()).await;
            three.cancel(way);
            drop(hold);
            three.check(way, released).await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn eviction_at_the_moment_of_the_grant_ends_the_hold() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (client, other) = (cluster.client()?, cluster.bystander()?);
    let session = within(client.session(SessionOptions::new())).await?;
    within(other.get_lock("job")).await?;
    // While one append hangs, the next batch fills: first the grant, then the eviction.
    let hold = cluster.database.hold_appends();
    let opening = client.clone();
    let opening = tokio::spawn(async move { opening.session(SessionOptions::new().id("other")).await });
    within(hold.reached()).await;
    let pending = tokio::spawn(session.lock("job").acquire());
    wait_for_arrival().await;
    let evicting = other.clone();
    let evicted = tokio::spawn(async move { evicting.evict(eviction("job")).await });
    wait_for_arrival().await;
    drop(hold);
    let opened = within(opening).await??;
    let evicted = within(evicted).await??;
    let guard = match within(pending).await? {
        // Both are in one commit, and only the last state is reported.
        Err(Error::Refused(refusal)) if refusal.end_reason() == Some(EndReason::Evicted) => {
            assert_eq!(evicted.len(), 1);
            cluster.holds_only(&[], &[session.id(), opened.id()]).await;
            return Ok(());
        }
        guard => guard?,
    };
    if let [evicted] = &evicted[..] {
        assert_eq!(evicted.token, guard.token());
        let lost = within(guard.lost()).await;
        assert!(matches!(&lost, LostReason::Ended(ended) if ended.operator == "ops"), "{lost:?}");
        cluster.holds_only(&[], &[session.id(), opened.id()]).await;
    } else {
        // The eviction arrived before the acquire.
        assert!(evicted.is_empty() && guard.is_valid());
    }
    Ok(())
}
