//! Shared locks, semaphores and sets, against a server.

use crate::support;

use std::time::Duration;

use support::{Cluster, waiters, watching, within};
use tenure_client::v1::{BlockedClaim, ConfigureLockRequest, ErrorReason, LockSettings, Mode, watch_response::Kind};
use tenure_client::{Attempt, Client, Error, Guard, SessionOptions};
use tokio_stream::StreamExt;

const AT_ONCE: Duration = Duration::ZERO;

async fn waiter_count(client: &Client, name: &str) -> anyhow::Result<u64> {
    Ok(client.get_lock(name).await?.waiter_count)
}

fn acquired(attempt: Attempt<Guard>) -> Guard {
    attempt.acquired().expect("free")
}

fn reason<T: std::fmt::Debug>(refused: Result<T, Error>) -> Option<ErrorReason> {
    refused.expect_err("refused").reason()
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_share_and_a_waiting_writer_is_not_starved() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let first = acquired(client.lock("book").shared().try_acquire().await?);
    let second = acquired(client.lock("book").shared().try_acquire().await?);
    assert!(second.token() > first.token(), "each has a token of its own");
    let lock = client.get_lock("book").await?;
    assert_eq!((lock.holder_count, lock.holders[0].mode()), (2, Mode::Shared));

    let writer = tokio::spawn(client.lock("book").acquire());
    waiters(&client, "book", 1).await;
    let late = client.lock("book").shared().acquire_within(AT_ONCE).await?;
    assert!(late.acquired().is_none(), "a reader that comes after the writer waits behind it");
    let reader = tokio::spawn(client.lock("book").shared().acquire());
    waiters(&client, "book", 2).await;
    first.release().await?;
    assert_eq!(waiter_count(&client, "book").await?, 2, "one reader is still there");
    let last_reader = second.token();
    second.release().await?;
    let writer = within(writer).await??;
    assert!(writer.token() > last_reader);
    assert!(!reader.is_finished());
    writer.release().await?;
    within(reader).await??.release().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_in_use_never_exceed_the_limit() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let two = acquired(client.lock("pool").limit(3).permits(2).try_acquire().await?);
    let one = acquired(client.lock("pool").permits(1).try_acquire().await?);
    assert!(client.lock("pool").limit(3).try_acquire().await?.acquired().is_none(), "none is left");
    assert_eq!(client.get_lock("pool").await?.limit, 3);

    assert_eq!(reason(client.lock("pool").limit(4).try_acquire().await), Some(ErrorReason::LimitMismatch));
    assert_eq!(reason(client.lock("pool").permits(4).try_acquire().await), Some(ErrorReason::LimitMismatch));
    assert_eq!(reason(client.lock("other").permits(1).try_acquire().await), Some(ErrorReason::LimitUnknown));

    let heavy = tokio::spawn(client.lock("pool").permits(3).acquire());
    waiters(&client, "pool", 1).await;
    one.release().await?;
    assert!(!heavy.is_finished(), "it needs all three");
    two.release().await?;
    within(heavy).await??.release().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_changes_while_permits_are_in_use() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let limit = async |limit| {
        let (name, operator, note) = ("pool".into(), "ops".into(), "more workers".into());
        let settings = Some(LockSettings { limit, preempt: None });
        client.configure_lock(ConfigureLockRequest { name, settings, operator, note, ..Default::default() }).await
    };
    limit(1).await?;
    let first = acquired(client.lock("pool").permits(1).try_acquire().await?);
    let second = tokio::spawn(client.lock("pool").permits(1).acquire());
    waiters(&client, "pool", 1).await;
    let lock = limit(2).await?;
    assert_eq!(lock.limit, 2);
    let second = within(second).await??;

    limit(1).await?;
    assert!(first.is_valid() && second.is_valid(), "no holder is evicted");
    first.release().await?;
    assert!(
        client.lock("pool").permits(1).try_acquire().await?.acquired().is_none(),
        "one is out, and that is the limit"
    );
    let hopeless = tokio::spawn(client.lock("pool").permits(1).acquire());
    waiters(&client, "pool", 1).await;
    second.release().await?;
    let third = within(hopeless).await??;

    limit(5).await?;
    let greedy = tokio::spawn(client.lock("pool").permits(5).acquire());
    waiters(&client, "pool", 1).await;
    limit(4).await?;
    assert_eq!(reason(within(greedy).await?), Some(ErrorReason::ClaimEnded), "it would wait for ever");
    third.release().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_reports_the_release_of_the_last_of_several_holders() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let first = acquired(client.lock("book").shared().try_acquire().await?);
    let second = acquired(client.lock("book").shared().try_acquire().await?);
    let mut watch = client.watch(watching("book"));
    let snapshot = within(watch.next()).await.expect("an item")?;
    assert!(matches!(snapshot.kind, Some(Kind::Snapshot(snapshot)) if snapshot.locks[0].holders.len() == 2));
    first.release().await?;
    second.release().await?;
    let mut vacant = Vec::new();
    while vacant.len() < 2 {
        if let Some(Kind::Events(batch)) = within(watch.next()).await.expect("an item")?.kind {
            vacant.extend(batch.events.iter().map(|event| !event.vacant_names.is_empty()));
        }
    }
    assert_eq!(vacant, [false, true]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn sets_are_all_or_nothing_and_deadlocks_of_separate_acquires_are_reported() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let ann = client.session(SessionOptions::default().id("ann")).await?;
    let bob = client.session(SessionOptions::default().id("bob")).await?;
    let cid = client.session(SessionOptions::default().id("cid")).await?;
    let a = ann.lock("a").acquire().await?;
    let _b = bob.lock("b").acquire().await?;
    let _ann_waits = tokio::spawn(ann.lock("b").acquire());
    waiters(&client, "b", 1).await;
    let bob_waits = tokio::spawn(bob.lock("a").acquire());
    waiters(&client, "a", 1).await;
    let set = tokio::spawn(cid.locks(["a", "b", "c"]).acquire());
    waiters(&client, "c", 1).await;
    assert!(client.get_lock("c").await?.holder().is_none(), "nothing is held while waiting for another");

    let claim = |blocked: Result<BlockedClaim, Error>| blocked.expect("listed").claim.expect("a claim");
    let deadlocked: Vec<_> = client.list_blocked(true).map(claim).collect().await;
    let sessions: Vec<&str> = deadlocked.iter().map(|claim| claim.session_id.as_str()).collect();
    assert_eq!(sessions, ["ann", "bob"], "the set waits behind them but holds nothing");
    assert_eq!(deadlocked[0].deadlock.first().map(String::as_str), Some("ann"));
    let lock = client.get_lock("b").await?;
    assert!(lock.waiters.iter().any(|waiter| waiter.session_id == "ann" && !waiter.deadlock.is_empty()));
    let all: Vec<_> = client.list_blocked(false).map(claim).collect().await;
    assert_eq!(all.len(), 3);

    bob_waits.abort();
    waiters(&client, "a", 1).await;
    let deadlocked: Vec<_> = client.list_blocked(true).collect().await;
    assert!(deadlocked.is_empty(), "the cancelled wait breaks the deadlock");
    a.release().await?;
    bob.close().await?;
    ann.close().await?;
    within(set).await??.release().await?;
    Ok(())
}
