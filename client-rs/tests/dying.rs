//! Servers die under waiting clients, and clients die while they wait, at any time and at the moment of the grant.

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
async fn queue(client: &Client) -> Vec<u64> {
    client.get_lock("job").await.expect("read").waiters.iter().map(|waiter| waiter.id).collect()
}

/// One holder of the lock, and two waiters in this order.
struct Scene {
    cluster: Cluster,
    holder: (Client, Session),
    waiting: Vec<(Client, Session, JoinHandle<tenure_client::Result<Guard>>)>,
    claims: Vec<u64>,
}

impl Scene {
    /// Connects the holder to the server `holder_at` and the waiters to the server `waiting_at`. Also returns the
    /// holder's guard.
    async fn set(holder_at: usize, waiting_at: usize) -> anyhow::Result<(Self, Guard)> {
        let cluster = Cluster::start(2).await?;
        let holder = client_at(&cluster, holder_at).await?;
        let guard = within(holder.1.lock("job").acquire()).await?;
        let mut waiting = Vec::new();
        let observer = cluster.bystander()?;
        for count in 1..=2 {
            let (client, session) = client_at(&cluster, waiting_at).await?;
            let asked = tokio::spawn(session.lock("job").acquire());
            waiters(&observer, "job", count).await;
            waiting.push((client, session, asked));
        }
        let claims = queue(&observer).await;
        Ok((Self { cluster, holder, waiting, claims }, guard))
    }

    /// Waits until all sessions have the other server as their home.
    async fn all_have_gone_on(&self) -> anyhow::Result<()> {
        let observer = self.cluster.bystander()?;
        let sessions: Vec<&Session> = self.waiting.iter().map(|(_, session, _)| session).collect();
        let home = within(observer.get_session(self.holder.1.id())).await?.home;
        until("they have gone on", async || {
            let found = sessions.iter().map(|session| observer.get_session(session.id()));
            futures::future::join_all(found).await.iter().all(|found| found.as_ref().is_ok_and(|it| it.home == home))
        })
        .await;
        assert_eq!(queue(&observer).await, self.claims, "the same claims in the same places");
        Ok(())
    }

    /// Checks that each waiter is granted the lock once, in order, and that nothing is left behind.
    async fn check(mut self, released: Released) -> anyhow::Result<()> {
        within(released).await??;
        let mut sessions = vec![self.holder.1.id()];
        let mut last = 0;
        for (_, session, asked) in &mut self.waiting {
            let guard = within(asked).await??;
            assert!(guard.is_valid() && guard.token() > last);
            last = guard.token();
            assert_eq!(self.cluster.granted(session.id()).await, last, "the one grant that there was");
            within(guard.release()).await?;
            sessions.push(session.id());
        }
        self.cluster.holds_only(&[], &sessions).await;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_takes_no_wait_along() -> anyhow::Result<()> {
    let (scene, guard) = Scene::set(1, 0).await?;
    scene.cluster.kill(0);
    scene.all_have_gone_on().await?;
    scene.check(tokio::spawn(guard.release())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_drains_takes_no_wait_along() -> anyhow::Result<()> {
    let (mut scene, guard) = Scene::set(1, 0).await?;
    within(scene.cluster.drain(0)).await;
    scene.all_have_gone_on().await?;
    scene.check(tokio::spawn(guard.release())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_dies_before_it_can_tell_of_a_grant_that_another_one_made() -> anyhow::Result<()> {
    let (scene, guard) = Scene::set(1, 0).await?;
    scene.cluster.relay(0).deafen();
    let released = tokio::spawn(guard.release());
    scene.cluster.granted(scene.waiting[0].1.id()).await;
    scene.cluster.kill(0);
    scene.check(released).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_dies_before_it_can_tell_of_its_own_grant() -> anyhow::Result<()> {
    for fault in [None, Some(Fault::OutcomeUnknown)] {
        let (scene, guard) = Scene::set(0, 0).await?;
        scene.cluster.relay(0).deafen();
        if let Some(fault) = fault {
            scene.cluster.database.fail_next(fault);
        }
        let released = tokio::spawn(guard.release());
        scene.cluster.granted(scene.waiting[0].1.id()).await;
        scene.cluster.kill(0);
        scene.check(released).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_dies_before_its_grant_is_committed() -> anyhow::Result<()> {
    for fault in [None, Some(Fault::OutcomeUnknownAndLost)] {
        let (scene, guard) = Scene::set(0, 0).await?;
        let hold = scene.cluster.database.hold_appends();
        if let Some(fault) = fault {
            scene.cluster.database.fail_next(fault);
        }
        let released = tokio::spawn(guard.release());
        within(hold.reached()).await;
        scene.cluster.kill(0);
        drop(hold);
        scene.check(released).await?;
    }
    Ok(())
}

/// A client that can die: it runs entirely in its own runtime.
struct Mortal {
    runtime: Runtime,
    session: Session,
}

impl Mortal {
    /// Joins the queue, behind `behind` waiters.
    async fn queue(cluster: &Cluster, behind: u64) -> anyhow::Result<Self> {
        let runtime = Runtime::new()?;
        let options = cluster.options();
        let asking = runtime.spawn(async move {
            let client = options.connect()?;
            let session = client.session(SessionOptions::new().ttl(TTL)).await?;
            let asked = tokio::spawn(session.lock("job").acquire());
            // The result is never read, and nothing of the client is dropped.
            std::mem::forget((client, asked));
            Ok::<_, tenure_client::Error>(session)
        });
        let session = within(asking).await??;
        waiters(&cluster.bystander()?, "job", behind + 1).await;
        Ok(Self { runtime, session })
    }

    /// Breaks the connections without sending anything more.
    fn die(self) {
        self.runtime.shutdown_background();
        // With the runtime gone, dropping the session sends nothing.
        drop(self.session);
    }
}

/// Checks that the surviving client is granted the lock, and that nothing is left of the dead clients.
async fn outlived(cluster: &Cluster, living: JoinHandle<tenure_client::Result<Guard>>) -> anyhow::Result<()> {
    let guard = within(living).await??;
    assert!(guard.is_valid());
    assert_eq!(cluster.granted(guard.session().id()).await, guard.token());
    cluster.holds_only(&[("job", guard.token())], &[guard.session().id()]).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_die_in_the_queue_are_not_in_the_way() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let client = cluster.bystander()?;
    let guard = within(client.lock("job").acquire()).await?;
    let mut mortals = Vec::new();
    for behind in 0..3 {
        mortals.push(Mortal::queue(&cluster, behind).await?);
    }
    let living = tokio::spawn(client.lock("job").acquire());
    waiters(&client, "job", 4).await;
    // The last one dies at the moment at which the lock becomes free.
    let last = mortals.pop();
    mortals.into_iter().for_each(Mortal::die);
    let hold = cluster.database.hold_appends();
    let released = tokio::spawn(guard.release());
    within(hold.reached()).await;
    last.into_iter().for_each(Mortal::die);
    drop(hold);
    within(released).await??;
    outlived(&cluster, living).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_dies_without_having_heard_of_its_grant_is_not_in_the_way() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.bystander()?;
    let guard = within(client.lock("job").acquire()).await?;
    let mortal = Mortal::queue(&cluster, 0).await?;
    let living = tokio::spawn(client.lock("job").acquire());
    waiters(&client, "job", 2).await;
    cluster.relay(0).deafen();
    within(guard.release()).await?;
    cluster.granted(mortal.session.id()).await;
    mortal.die();
    outlived(&cluster, living).await
}
