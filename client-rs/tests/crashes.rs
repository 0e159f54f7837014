//! Servers crash while clients wait, and clients crash while they wait: at any time, and at the moment of the grant.

use crate::support;

use std::time::Duration;

use support::{Cluster, until, waiters, within};
use tenure_client::{Client, Guard, Session, SessionOptions};
use tenure_server::store::Fault;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

const TTL: Duration = Duration::from_millis(1_500);

type Released = JoinHandle<tenure_client::Result<()>>;

/// Returns a client connected to this server, and its session.
async fn client_at(cluster: &Cluster, number: usize) -> anyhow::Result<(Client, Session)> {
    let others: Vec<usize> = (0..cluster.servers.len()).filter(|other| *other != number).collect();
    others.iter().for_each(|other| cluster.relay(*other).freeze());
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new())).await?;
    others.iter().for_each(|other| cluster.relay(*other).heal());
    Ok((client, session))
}

/// The claims that wait for the lock, in order.
async fn waiting_claims(client: &Client) -> Vec<u64> {
    client.get_lock("job").await.expect("read").waiters.iter().map(|waiter| waiter.id).collect()
}

/// One holder of the lock, and two waiters in this order.
struct Setup {
    cluster: Cluster,
    holder: (Client, Session),
    waiting: Vec<(Client, Session, JoinHandle<tenure_client::Result<Guard>>)>,
    claims: Vec<u64>,
}

impl Setup {
    /// Connects the holder to the server `holder_at` and the waiters to the server `waiting_at`. Also returns the
    /// holder's guard.
    async fn start(holder_at: usize, waiting_at: usize) -> anyhow::Result<(Self, Guard)> {
        let cluster = Cluster::start(2).await?;
        let holder = client_at(&cluster, holder_at).await?;
        let guard = within(holder.1.lock("job").acquire()).await?;
        let mut waiting = Vec::new();
        let observer = cluster.bystander()?;
        for count in 1..=2 {
            let (client, session) = client_at(&cluster, waiting_at).await?;
            let pending = tokio::spawn(session.lock("job").acquire());
            waiters(&observer, "job", count).await;
            waiting.push((client, session, pending));
        }
        let claims = waiting_claims(&observer).await;
        Ok((Self { cluster, holder, waiting, claims }, guard))
    }

    /// Waits until all sessions have the other server as their home.
    async fn all_failed_over(&self) -> anyhow::Result<()> {
        let observer = self.cluster.bystander()?;
        let sessions: Vec<&Session> = self.waiting.iter().map(|(_, session, _)| session).collect();
        let own = within(observer.session(SessionOptions::new())).await?;
        let home = within(observer.get_session(own.id())).await?.home;
        within(own.close()).await?;
        until("all sessions have failed over", async || {
            let found = sessions.iter().map(|session| observer.get_session(session.id()));
            futures::future::join_all(found).await.iter().all(|found| found.as_ref().is_ok_and(|it| it.home == home))
        })
        .await;
        assert_eq!(waiting_claims(&observer).await, self.claims, "the same claims in the same places");
        Ok(())
    }

    /// Checks that each waiter is granted the lock once, in order, and that nothing is left behind.
    async fn check(mut self, released: Released) -> anyhow::Result<()> {
        within(released).await??;
        let mut sessions = vec![self.holder.1.id()];
        let mut last = 0;
        for (_, session, pending) in &mut self.waiting {
            let guard = within(pending).await??;
            assert!(guard.is_valid() && guard.token() > last);
            last = guard.token();
            assert_eq!(self.cluster.granted(session.id()).await, last, "its only grant");
            within(guard.release()).await?;
            sessions.push(session.id());
        }
        self.cluster.holds_only(&[], &sessions).await;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_survives_crash_of_its_server() -> anyhow::Result<()> {
    let (setup, guard) = Setup::start(1, 0).await?;
    setup.cluster.kill(0);
    setup.all_failed_over().await?;
    setup.check(tokio::spawn(guard.release())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_survives_drain_of_its_server() -> anyhow::Result<()> {
    let (mut setup, guard) = Setup::start(1, 0).await?;
    within(setup.cluster.drain(0)).await;
    setup.all_failed_over().await?;
    setup.check(tokio::spawn(guard.release())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn grant_by_another_server_survives_crash_before_its_notification() -> anyhow::Result<()> {
    let (setup, guard) = Setup::start(1, 0).await?;
    setup.cluster.relay(0).deafen();
    let released = tokio::spawn(guard.release());
    setup.cluster.granted(setup.waiting[0].1.id()).await;
    setup.cluster.kill(0);
    setup.check(released).await
}

#[tokio::test(flavor = "multi_thread")]
async fn grant_survives_crash_before_its_reply() -> anyhow::Result<()> {
    for fault in [None, Some(Fault::OutcomeUnknown)] {
        let (setup, guard) = Setup::start(0, 0).await?;
        setup.cluster.relay(0).deafen();
        if let Some(fault) = fault {
            setup.cluster.database.fail_next(fault);
        }
        let released = tokio::spawn(guard.release());
        setup.cluster.granted(setup.waiting[0].1.id()).await;
        setup.cluster.kill(0);
        setup.check(released).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_survives_crash_before_commit_of_its_grant() -> anyhow::Result<()> {
    for fault in [None, Some(Fault::OutcomeUnknownAndLost)] {
        let (setup, guard) = Setup::start(0, 0).await?;
        let hold = setup.cluster.database.hold_appends();
        if let Some(fault) = fault {
            setup.cluster.database.fail_next(fault);
        }
        let released = tokio::spawn(guard.release());
        within(hold.reached()).await;
        setup.cluster.kill(0);
        drop(hold);
        setup.check(released).await?;
    }
    Ok(())
}

/// A client that can crash: it runs entirely in its own runtime.
struct CrashingClient {
    runtime: Runtime,
    session: Session,
}

impl CrashingClient {
    /// Joins the queue, behind `behind` waiters.
    async fn enqueue(cluster: &Cluster, behind: u64) -> anyhow::Result<Self> {
        let runtime = Runtime::new()?;
        let options = cluster.options();
        let opening = runtime.spawn(async move {
            let client = options.connect()?;
            let session = client.session(SessionOptions::new().ttl(TTL)).await?;
            let pending = tokio::spawn(session.lock("job").acquire());
            // The result is never read, and nothing of the client is dropped.
            std::mem::forget((client, pending));
            Ok::<_, tenure_client::Error>(session)
        });
        let session = within(opening).await??;
        waiters(&cluster.bystander()?, "job", behind + 1).await;
        Ok(Self { runtime, session })
    }

    /// Breaks the connections without sending anything more.
    fn crash(self) {
        self.runtime.shutdown_background();
        // With the runtime gone, dropping the session sends nothing.
        drop(self.session);
    }
}

/// Checks that the surviving client is granted the lock, and that nothing is left of the crashed clients.
async fn check_survivor(cluster: &Cluster, survivor: JoinHandle<tenure_client::Result<Guard>>) -> anyhow::Result<()> {
    let guard = within(survivor).await??;
    assert!(guard.is_valid());
    assert_eq!(cluster.granted(guard.session().id()).await, guard.token());
    cluster.holds_only(&[("job", guard.token())], &[guard.session().id()]).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn crashed_waiters_do_not_block_the_queue() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let client = cluster.bystander()?;
    let guard = within(client.lock("job").acquire()).await?;
    let mut crashing_clients = Vec::new();
    for behind in 0..3 {
        crashing_clients.push(CrashingClient::enqueue(&cluster, behind).await?);
    }
    let survivor = tokio::spawn(client.lock("job").acquire());
    waiters(&client, "job", 4).await;
    // The last one crashes at the moment at which the lock becomes free.
    let last = crashing_clients.pop();
    crashing_clients.into_iter().for_each(CrashingClient::crash);
    let hold = cluster.database.hold_appends();
    let released = tokio::spawn(guard.release());
    within(hold.reached()).await;
    last.into_iter().for_each(CrashingClient::crash);
    drop(hold);
    within(released).await??;
    check_survivor(&cluster, survivor).await
}

#[tokio::test(flavor = "multi_thread")]
async fn client_crashed_before_receiving_its_grant_does_not_block_the_queue() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.bystander()?;
    let guard = within(client.lock("job").acquire()).await?;
    let crashing = CrashingClient::enqueue(&cluster, 0).await?;
    let survivor = tokio::spawn(client.lock("job").acquire());
    waiters(&client, "job", 2).await;
    cluster.relay(0).deafen();
    within(guard.release()).await?;
    cluster.granted(crashing.session.id()).await;
    crashing.crash();
    check_survivor(&cluster, survivor).await
}
