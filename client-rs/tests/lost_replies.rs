//! Stream replies that never reach the client: a repeated request gets the same reply.

use crate::support;

use std::time::Duration;

use support::{Cluster, until, waiters, within};
use tenure_client::{Attempt, Client, Guard, Session, SessionOptions};

/// Whether the client fails over to another server, or reconnects to the same one.
const WAYS: [bool; 2] = [true, false];

/// A client whose connection is known: its session, and the server that it is connected to.
struct Subject {
    client: Client,
    session: Session,
    server: usize,
}

impl Subject {
    async fn new(cluster: &Cluster) -> anyhow::Result<Self> {
        let client = cluster.client()?;
        let session = within(client.session(SessionOptions::new())).await?;
        Ok(Self { client, session, server: cluster.serving().await })
    }

    fn id(&self) -> &str {
        self.session.id()
    }

    /// Closes the client's connection, with all replies that were swallowed.
    async fn reconnect(&self, cluster: &Cluster, fails_over: bool) {
        if fails_over {
            cluster.relay(self.server).cut();
        } else {
            cluster.relay(1 - self.server).cut();
            cluster.relay(self.server).interrupt().await;
        }
    }
}

/// Another client, which holds the lock and receives all of its replies.
async fn holder(cluster: &Cluster) -> anyhow::Result<(Client, Guard)> {
    let client = cluster.bystander()?;
    let guard = within(client.lock("job").acquire()).await?;
    Ok((client, guard))
}

#[tokio::test(flavor = "multi_thread")]
async fn immediate_grant_is_returned_after_reconnect() -> anyhow::Result<()> {
    for fails_over in WAYS {
        let cluster = Cluster::start(2).await?;
        let subject = Subject::new(&cluster).await?;
        cluster.relay(subject.server).deafen();
        let pending = tokio::spawn(subject.session.lock("job").acquire());
        let token = cluster.granted(subject.id()).await;
        subject.reconnect(&cluster, fails_over).await;
        let guard = within(pending).await??;
        assert_eq!((guard.token(), guard.is_valid()), (token, true));
        cluster.holds_only(&[("job", token)], &[subject.id()]).await;
        within(guard.release()).await?;
        cluster.holds_only(&[], &[subject.id()]).await;
        assert_eq!(cluster.grants(None), [token]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn grant_after_a_wait_is_returned_after_reconnect() -> anyhow::Result<()> {
    for fails_over in WAYS {
        let cluster = Cluster::start(2).await?;
        let subject = Subject::new(&cluster).await?;
        let (other, held) = holder(&cluster).await?;
        let pending = tokio::spawn(subject.session.lock("job").acquire());
        waiters(&other, "job", 1).await;
        cluster.relay(subject.server).deafen();
        within(held.release()).await?;
        let token = cluster.granted(subject.id()).await;
        subject.reconnect(&cluster, fails_over).await;
        let guard = within(pending).await??;
        assert_eq!((guard.token(), guard.is_valid()), (token, true));
        cluster.holds_only(&[("job", token)], &[subject.id()]).await;
        within(guard.release()).await?;
        cluster.holds_only(&[], &[subject.id()]).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_reply_is_returned_after_reconnect() -> anyhow::Result<()> {
    for fails_over in WAYS {
        for wait in [Duration::ZERO, Duration::from_millis(50)] {
            let cluster = Cluster::start(2).await?;
            let subject = Subject::new(&cluster).await?;
            let (_other, held) = holder(&cluster).await?;
            cluster.relay(subject.server).deafen();
            let pending = tokio::spawn(subject.session.lock("job").acquire_within(wait));
            cluster.relay(subject.server).swallows().await;
            subject.reconnect(&cluster, fails_over).await;
            let Attempt::Busy(busy) = within(pending).await?? else { panic!("the lock is held twice") };
            assert_eq!(busy.holder.map(|holder| holder.token), Some(held.token()));
            cluster.holds_only(&[("job", held.token())], &[subject.id(), held.session().id()]).await;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_are_confirmed_after_reconnect() -> anyhow::Result<()> {
    for fails_over in WAYS {
        let cluster = Cluster::start(2).await?;
        let subject = Subject::new(&cluster).await?;
        let pending = (0..100).map(|number| subject.session.lock(format!("job-{number:03}")).acquire());
        let guards = within(futures::future::try_join_all(pending)).await?;
        cluster.relay(subject.server).deafen();
        let released = tokio::spawn(futures::future::try_join_all(guards.into_iter().map(Guard::release)));
        let other = cluster.bystander()?;
        until("all are free", async || {
            other.get_session(subject.id()).await.is_ok_and(|session| session.claims.is_empty())
        })
        .await;
        subject.reconnect(&cluster, fails_over).await;
        within(released).await??;
        cluster.holds_only(&[], &[subject.id()]).await;
        assert_eq!(cluster.grants(None).len(), 100);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_repeated_after_its_cancellation_is_granted_after_reconnect() -> anyhow::Result<()> {
    for fails_over in WAYS {
        let cluster = Cluster::start(2).await?;
        let subject = Subject::new(&cluster).await?;
        let (other, held) = holder(&cluster).await?;
        let pending = tokio::spawn(subject.session.lock("job").acquire());
        waiters(&other, "job", 1).await;
        cluster.relay(subject.server).deafen();
        pending.abort();
        waiters(&other, "job", 0).await;
        // The client repeats the request before it knows the outcome of the first one.
        let again = tokio::spawn(subject.session.lock("job").acquire());
        subject.reconnect(&cluster, fails_over).await;
        waiters(&other, "job", 1).await;
        within(held.release()).await?;
        let guard = within(again).await??;
        assert_eq!(cluster.granted(subject.id()).await, guard.token());
        within(guard.release()).await?;
        cluster.holds_only(&[], &[subject.id()]).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn transfer_is_confirmed_after_reconnect() -> anyhow::Result<()> {
    for fails_over in WAYS {
        let cluster = Cluster::start(2).await?;
        let subject = Subject::new(&cluster).await?;
        let guard = within(subject.session.lock("job").acquire()).await?;
        let other = cluster.bystander()?;
        let next = tokio::spawn(other.lock("job").acquire());
        waiters(&other, "job", 1).await;
        cluster.relay(subject.server).deafen();
        let handed = tokio::spawn(async move { guard.transfer_to(None).await });
        let next = within(next).await??;
        subject.reconnect(&cluster, fails_over).await;
        assert_eq!(within(handed).await??, next.token());
        cluster.holds_only(&[("job", next.token())], &[subject.id(), next.session().id()]).await;
        assert_eq!(cluster.grants(None).len(), 2);
        drop(subject.client);
    }
    Ok(())
}
