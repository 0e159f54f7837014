//! Renewal that depends on progress: a holder that hangs loses its hold, and the next candidate acquires it.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use support::{Cluster, reaches, until, waiters, within};
use tenure_client::{Client, ClientOptions, Error, Hold, LostReason, Progress, SessionOptions, SessionState};
use tenure_harness::Yardstick;
use tokio::sync::mpsc;

/// Long enough for a client to renew, and for a thread to tick, in time on a busy machine.
const TTL: Duration = Duration::from_secs(3);
const STALL: Duration = Duration::from_secs(1);

/// One run of a body: the candidate, its hold, and the start time.
type Work = (usize, Hold, Instant);

/// A candidate in a runtime of its own, like a separate process: blocking it does not block the others.
struct Candidate(Option<tokio::runtime::Runtime>);

impl Candidate {
    /// Campaigns and works; its fifth body hangs as `hang` does.
    fn start<F: Future<Output = ()> + Send + 'static>(
        number: usize,
        options: ClientOptions,
        work: mpsc::UnboundedSender<Work>,
        hang: impl Fn() -> F + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.spawn(async move {
            let election = options.connect()?.election("leader").ttl(TTL).stall_after(STALL);
            let mut bodies = 0;
            let leading = election.lead_every(Duration::from_millis(20), |hold| {
                bodies += 1;
                let hanging = (bodies == 5).then(&hang);
                let _ = work.send((number, hold, Instant::now()));
                async {
                    if let Some(hanging) = hanging {
                        hanging.await;
                    }
                }
            });
            leading.await
        });
        Ok(Self(Some(runtime)))
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Starts two candidates, of which the first leads and hangs. Returns the last hold and body of the first, and the
/// first ones of the second.
async fn replace<F: Future<Output = ()> + Send + 'static>(
    hang: impl Fn() -> F + Send + Sync + 'static,
) -> anyhow::Result<((Hold, Instant), (Hold, Instant))> {
    let cluster = Cluster::start(1).await?;
    let (work, mut worked) = mpsc::unbounded_channel();
    let _first = Candidate::start(0, cluster.options(), work.clone(), hang)?;
    let (_, hold, at) = within(worked.recv()).await.expect("work");
    let _second = Candidate::start(1, cluster.options(), work, std::future::pending)?;
    let mut first = (hold, at);
    let second = within(async {
        loop {
            match worked.recv().await.expect("work") {
                (0, hold, at) => first = (hold, at),
                (_, hold, at) => return (hold, at),
            }
        }
    })
    .await;
    Ok((first, second))
}

#[tokio::test(flavor = "multi_thread")]
async fn hung_leader_is_replaced() -> anyhow::Result<()> {
    let yardstick = Yardstick::start();
    let ((hold, since), (next, at)) = replace(std::future::pending).await?;
    assert_eq!(hold.lost_reason(), Some(LostReason::Stalled));
    assert!(next.token() > hold.token());
    yardstick.assert_in_time(&[at - since], STALL + TTL);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_that_blocks_its_thread_is_replaced() -> anyhow::Result<()> {
    let (block, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::new(std::sync::Mutex::new(blocked));
    let hang = move || {
        let blocked = Arc::clone(&blocked);
        async move {
            // Without any await, this cannot be cancelled. It ends with the test.
            let _ = blocked.lock().map(|blocked| blocked.recv());
        }
    };
    let yardstick = Yardstick::start();
    let ((hold, since), (next, at)) = replace(hang).await?;
    assert!(!hold.is_valid() && next.token() > hold.token());
    yardstick.assert_in_time(&[at - since], STALL + TTL);
    drop(block);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn loop_waiting_for_its_period_does_not_stall() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let election = cluster.client()?.election("leader").ttl(TTL).stall_after(STALL);
    let (work, mut worked) = mpsc::unbounded_channel();
    let leading = tokio::spawn(async move {
        election
            .lead_every(TTL * 2, |hold| {
                let _ = work.send(hold.token());
                async {}
            })
            .await
    });
    // After this period, far longer than the TTL and the stall time, it is still the first term.
    let first = within(worked.recv()).await.expect("work");
    assert_eq!(within(worked.recv()).await, Some(first));
    leading.abort();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn session_lives_while_another_thread_ticks() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (client, other) = (cluster.client()?, cluster.client()?);
    let progress = Progress::within(STALL);
    let session = within(client.session(SessionOptions::new().ttl(TTL).renew_while(&progress))).await?;
    let guard = within(session.lock("job").acquire()).await?;
    let is_at_work = Arc::new(AtomicBool::new(true));
    let working = Arc::clone(&is_at_work);
    let worker = std::thread::spawn(move || {
        while working.load(Ordering::Relaxed) {
            progress.tick();
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Instant::now()
    });
    let next = tokio::spawn(other.lock("job").acquire());
    waiters(&client, "job", 1).await;
    let kept = tokio::time::timeout((STALL + TTL) * 2, guard.lost()).await;
    assert!(kept.is_err(), "lost: {kept:?}");

    let mut states = session.states();
    is_at_work.store(false, Ordering::Relaxed);
    let (stopped, yardstick) = (worker.join().expect("it does not panic"), Yardstick::start());
    within(reaches(&mut states, SessionState::AtRisk)).await;
    assert!(guard.is_valid());
    assert_eq!(within(guard.lost()).await, LostReason::Stalled);
    let next = within(next).await??;
    assert!(!guard.is_valid() && next.token() > guard.token());
    yardstick.assert_in_time(&[stopped.elapsed()], STALL + TTL);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failover_does_not_renew_a_stalled_session() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let client = cluster.client()?;
    let guard = within(client.lock("job").ttl(TTL).stall_after(STALL).acquire()).await?;
    let (acquired, yardstick) = (Instant::now(), Yardstick::start());
    let serving = cluster.serving().await;
    let other = Client::connect(cluster.relay(1 - serving).url())?;
    let next = tokio::spawn(other.lock("job").acquire());
    waiters(&client, "job", 1).await;
    let home = client.get_session(guard.session().id()).await?.home;
    let mut states = guard.session().states();
    within(reaches(&mut states, SessionState::AtRisk)).await;
    // The client moves to another server, with its session, which stays paused.
    cluster.relay(serving).cut();
    until("it has moved", async || {
        other.get_session(guard.session().id()).await.is_ok_and(|session| session.home != home)
    })
    .await;
    assert!(guard.is_valid());
    assert_eq!(within(guard.lost()).await, LostReason::Stalled);
    within(next).await??;
    yardstick.assert_in_time(&[acquired.elapsed()], STALL + TTL);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tick_in_time_makes_a_session_healthy_again() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let guard = within(client.lock("job").ttl(TTL).stall_after(STALL).acquire()).await?;
    let mut states = guard.session().states();
    for _ in 0..2 {
        within(reaches(&mut states, SessionState::AtRisk)).await;
        guard.tick();
        within(reaches(&mut states, SessionState::Healthy)).await;
    }
    assert!(guard.is_valid());
    within(guard.release()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stall_reported_by_the_program_ends_the_session() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let progress = Progress::within(Duration::MAX);
    let options = SessionOptions::new().ttl(TTL).renew_while(&progress);
    let guard = within(client.lock("job").session(options).acquire()).await?;
    progress.stall();
    let (stalled, yardstick) = (Instant::now(), Yardstick::start());
    assert_eq!(within(guard.lost()).await, LostReason::Stalled);
    yardstick.assert_in_time(&[stalled.elapsed()], TTL);
    assert!(matches!(guard.release().await, Err(Error::Lost(LostReason::Stalled))));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_interval_of_zero_is_rejected() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let never = Progress::within(Duration::ZERO);
    let session = client.session(SessionOptions::new().renew_while(&never)).await;
    assert!(matches!(session, Err(Error::Invalid { field: "renew_while", .. })), "{session:?}");
    let guard = client.lock("job").stall_after(Duration::ZERO).acquire().await;
    assert!(matches!(guard, Err(Error::Invalid { field: "stall_after", .. })), "{guard:?}");
    Ok(())
}
