//! Locks and sessions against a server.

use crate::support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use support::{Cluster, eviction, waiters, within};
use tenure_client::v1::{EndReason, ErrorReason, EvictRequest, history_entry::Kind};
use tenure_client::{Attempt, Client, Error, LostReason, SessionOptions};
use tokio_stream::StreamExt;

/// Waits until a lock has no holder.
async fn idle(client: &Client, name: &str) {
    within(async {
        while client.get_lock(name).await.expect("read").holder().is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn try_acquire_of_a_held_lock_returns_the_holder() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (first, second) = (cluster.client()?, cluster.client()?);
    let guard = within(first.lock("job").owner("host-1").metadata("pid", "7").acquire()).await?;
    assert!(guard.is_valid() && guard.token() > 0);
    assert_eq!(guard.names(), ["job"]);

    let Attempt::Busy(busy) = within(second.lock("job").try_acquire()).await? else { panic!("the lock is held twice") };
    let holder = busy.holder.expect("a holder");
    assert_eq!((holder.owner.as_str(), holder.token), ("host-1", guard.token()));
    assert_eq!(holder.metadata["pid"], "7");

    let token = guard.token();
    let view = guard.hold();
    guard.release().await?;
    assert!(!view.is_valid());
    assert_eq!(view.lost().await, LostReason::Released);
    let next = within(second.lock("job").try_acquire()).await?.acquired().expect("the lock is free");
    assert!(next.token() > token);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn release_grants_the_lock_to_the_waiter() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (first, second) = (cluster.client()?, cluster.client()?);
    let guard = within(first.lock("job").acquire()).await?;
    let waiting = tokio::spawn(second.lock("job").acquire());
    waiters(&first, "job", 1).await;
    let token = guard.token();
    guard.release().await?;
    let next = within(waiting).await??;
    assert!(next.token() > token);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn bounded_wait_ends_with_the_holder() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (first, second) = (cluster.client()?, cluster.client()?);
    let guard = within(first.lock("job").owner("first").acquire()).await?;
    let attempt = within(second.lock("job").acquire_within(Duration::from_millis(50))).await?;
    let Attempt::Busy(busy) = attempt else { panic!("the lock is held twice") };
    assert_eq!(busy.holder.expect("a holder").owner, "first");
    assert_eq!(first.get_lock("job").await?.waiter_count, 0);
    drop(guard);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_guard_is_released_in_the_background() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new())).await?;
    drop(within(session.lock("job").acquire()).await?);
    idle(&client, "job").await;
    assert!(session.is_valid());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_wait_leaves_no_claim() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (first, second) = (cluster.client()?, cluster.client()?);
    let guard = within(first.lock("job").acquire()).await?;
    let session = within(second.session(SessionOptions::new())).await?;
    let waiting = tokio::spawn(session.lock("job").acquire());
    waiters(&first, "job", 1).await;
    waiting.abort();
    waiters(&first, "job", 0).await;
    guard.release().await?;
    idle(&first, "job").await;
    // The session itself can still acquire.
    assert!(within(session.lock("job").try_acquire()).await?.acquired().is_some());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn acquires_dropped_at_any_moment_leave_no_claim() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new())).await?;
    for turns in 0..40 {
        let mut asking = Box::pin(session.lock("job").acquire());
        for _ in 0..turns {
            if futures::poll!(&mut asking).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    idle(&client, "job").await;
    within(session.lock("job").acquire()).await?.release().await?;
    let info = client.get_session(session.id()).await?;
    assert_eq!(info.claims, []);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_one_session_take_turns() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new().owner("me"))).await?;
    let guard = within(session.lock("job").acquire()).await?;
    let Attempt::Busy(busy) = within(session.lock("job").try_acquire()).await? else {
        panic!("the lock is held twice")
    };
    assert_eq!(busy.holder.map(|holder| (holder.owner, holder.token)), Some(("me".into(), guard.token())));
    let short = within(session.lock("job").acquire_within(Duration::from_millis(20))).await?;
    assert!(matches!(short, Attempt::Busy(_)));

    let mut waiting: Vec<_> = (0..5).map(|_| tokio::spawn(session.locks(["job", "other"]).acquire())).collect();
    let mut token = guard.token();
    guard.release().await?;
    while !waiting.is_empty() {
        let (next, _, rest) = within(futures::future::select_all(waiting)).await;
        let next = next??;
        assert!(next.token() > token);
        token = next.token();
        assert!(rest.iter().all(|waiting| !waiting.is_finished()), "the lock is held twice");
        next.release().await?;
        waiting = rest;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn body_runs_only_under_the_lock() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (first, second) = (cluster.client()?, cluster.client()?);
    let answer = within(first.lock("job").run(async |hold| {
        let busy = second.lock("job").try_run(async |_| ()).await;
        assert!(matches!(busy, Ok(Attempt::Busy(_))), "{busy:?}");
        hold.token()
    }))
    .await?;
    assert!(answer > 0);
    assert!(matches!(within(second.lock("job").try_run(async |_| 5)).await?, Attempt::Acquired(5)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn eviction_cancels_the_body_at_once() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (first, second) = (cluster.client()?, cluster.client()?);
    let (started, has_started) = tokio::sync::oneshot::channel();
    let body = tokio::spawn(first.lock("job").run(move |hold| async move {
        let _ = started.send(hold.token());
        std::future::pending::<()>().await
    }));
    let token = within(has_started).await?;
    let evicted = second.evict(EvictRequest { token, note: "stuck".into(), ..eviction("job") }).await?;
    assert_eq!(evicted.len(), 1);
    let Err(Error::Lost(LostReason::Ended(ended))) = within(body).await? else { panic!("not lost") };
    assert_eq!((ended.reason(), &*ended.operator, &*ended.note), (EndReason::Evicted, "ops", "stuck"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_session_releases_its_holds() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new().id("worker-7").metadata("zone", "a"))).await?;
    assert_eq!(client.get_session("worker-7").await?.metadata["zone"], "a");
    let guard = within(session.lock("job").acquire()).await?;
    session.close().await?;
    assert!(!session.is_valid() && !guard.is_valid());
    assert_eq!(guard.lost().await, LostReason::Closed);
    assert!(client.get_lock("job").await?.holder().is_none());
    assert!(matches!(session.lock("job").acquire().await, Err(Error::Lost(LostReason::Closed))));
    assert_eq!(client.get_session("worker-7").await.unwrap_err().reason(), Some(ErrorReason::SessionEnded));
    // The id is free again, and the old handles do not affect the new session.
    let again = within(client.session(SessionOptions::new().id("worker-7"))).await?;
    drop((session, guard));
    within(again.lock("job").acquire()).await?.release().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rejections_name_their_reason() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let refused = within(client.session(SessionOptions::new().ttl(Duration::ZERO))).await.unwrap_err();
    let Error::Refused(refusal) = refused else { panic!("{refused}") };
    assert_eq!((refusal.error_reason(), &*refusal.metadata["field"]), (ErrorReason::InvalidField, "ttl"));
    let refused = within(client.lock("line\nbreak").acquire()).await.unwrap_err();
    assert_eq!(refused.reason(), Some(ErrorReason::InvalidField));
    let twice = within(client.locks(["a", "a"]).acquire()).await.unwrap_err();
    assert!(matches!(twice, Error::Invalid { field: "names", .. }));
    let unknown = client.release("job", "unknown", 1).await.unwrap_err();
    assert!(unknown.reason().is_some(), "{unknown}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_read_all_pages() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new())).await?;
    let asked = (0..120).map(|number| session.lock(format!("job-{number:03}")).acquire());
    let guards = within(futures::future::try_join_all(asked)).await?;
    let locks: Vec<_> = within(client.list_locks("job-").collect::<Result<Vec<_>, _>>()).await?;
    assert_eq!(locks.len(), 120);
    assert!(locks.windows(2).all(|pair| pair[0].name < pair[1].name));
    let sessions: Vec<_> = within(client.list_sessions().collect::<Result<Vec<_>, _>>()).await?;
    assert_eq!(sessions.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), [session.id()]);
    drop(guards);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn history_reads_all_pages() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new().owner("host-1"))).await?;
    let mut tokens = Vec::new();
    for _ in 0..110 {
        let guard = within(session.lock("job").metadata("step", "one").acquire()).await?;
        tokens.insert(0, guard.token());
        guard.release().await?;
    }
    let last = within(session.lock("job").acquire()).await?;
    within(client.evict(EvictRequest { note: "stuck".into(), ..eviction("job") })).await?;
    tokens.insert(0, last.token());
    let held = within(session.lock("job").acquire()).await?;
    tokens.insert(0, held.token());

    let entries = within(client.history("job").collect::<Result<Vec<_>, _>>()).await?;
    let holds: Vec<_> = entries
        .into_iter()
        .map(|entry| match entry.kind {
            Some(Kind::Hold(hold)) => hold,
            other => panic!("{other:?} is no hold"),
        })
        .collect();
    assert_eq!(holds.iter().map(|hold| hold.token).collect::<Vec<_>>(), tokens);
    assert_eq!(holds[0].ended_time, None, "it lasts");
    assert!(holds[0].longest_pause.is_some_and(|pause| pause.seconds < 10));
    let evicted = &holds[1];
    assert_eq!(evicted.end_reason(), EndReason::Evicted);
    assert_eq!((evicted.operator.as_str(), evicted.note.as_str()), ("ops", "stuck"));
    let oldest = holds.last().expect("many");
    assert_eq!(oldest.end_reason(), EndReason::Released);
    assert_eq!((oldest.owner.as_str(), oldest.metadata["step"].as_str()), ("host-1", "one"));
    let waited = oldest.waited.is_some_and(|waited| (waited.seconds, waited.nanos) == (0, 0));
    assert!(oldest.granted_time.is_some() && waited && oldest.ttl.is_some());

    let first: Vec<_> = within(client.history("job").take(3).collect::<Result<Vec<_>, _>>()).await?;
    assert_eq!(first.len(), 3, "a stream may be left at any point");
    let refused = within(client.history("").next()).await.expect("an item").unwrap_err();
    assert_eq!(refused.reason(), Some(ErrorReason::InvalidField));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_client_releases_its_holds() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (first, second) = (cluster.client()?, cluster.client()?);
    let guard = within(first.lock("job").acquire()).await?;
    within(first.close()).await?;
    assert!(!guard.is_valid());
    assert!(within(second.lock("job").try_acquire()).await?.acquired().is_some());
    assert!(matches!(within(first.lock("job").acquire()).await, Err(Error::Closed)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_without_a_server_end_at_their_deadline() -> anyhow::Result<()> {
    let client = Client::builder().endpoints(["127.0.0.1:1"]).call_timeout(Duration::from_secs(1)).connect()?;
    for error in
        [within(client.lock("job").acquire()).await.unwrap_err(), within(client.get_lock("job")).await.unwrap_err()]
    {
        let Error::Unavailable(problem) = error else { panic!("{error}") };
        assert!(problem.contains("127.0.0.1:1"), "{problem}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn validity_can_be_read_while_sessions_end() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let opened = (0..200).map(|_| client.session(SessionOptions::new()));
    let sessions = Arc::new(within(futures::future::try_join_all(opened)).await?);
    let read = Arc::clone(&sessions);
    let reader = tokio::task::spawn_blocking(move || {
        for session in read.iter() {
            while session.valid_until() > Instant::now() {}
        }
    });
    for session in sessions.iter() {
        within(session.close()).await?;
    }
    within(reader).await?;
    Ok(())
}
