//! Elections and watches against servers.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use support::{Cluster, eviction, watching, within};
use tenure_client::Watch;
use tenure_client::v1::{ClaimState, Event, EventType, WatchRequest, watch_response::Kind};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;

#[tokio::test(flavor = "multi_thread")]
async fn only_the_leader_runs_its_body_and_a_new_term_has_a_new_token() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (work, mut worked) = mpsc::channel(64);
    let mut candidates = Vec::new();
    for number in 0..3 {
        let election =
            cluster.client()?.election("leader").ttl(Duration::from_secs(3)).owner(format!("candidate-{number}"));
        let work = work.clone();
        let candidate = async move {
            election
                .lead_every(Duration::from_millis(5), move |hold| {
                    let work = work.clone();
                    async move {
                        let _ = work.send((number, hold.token())).await;
                    }
                })
                .await
        };
        candidates.push(tokio::spawn(candidate));
    }
    let (leader, token) = within(worked.recv()).await.expect("work");
    for _ in 0..5 {
        assert_eq!(within(worked.recv()).await, Some((leader, token)));
    }

    let client = cluster.client()?;
    client.evict(eviction("leader")).await?;
    let (second, next) = within(async {
        loop {
            match worked.recv().await.expect("work") {
                (_, old) if old == token => {}
                next => return next,
            }
        }
    })
    .await;
    assert!(next > token);

    // Dropping the leader's future resigns.
    candidates[second].abort();
    let (third, last) = within(async {
        loop {
            match worked.recv().await.expect("work") {
                (_, old) if old == next => {}
                next => return next,
            }
        }
    })
    .await;
    assert!(last > next && third != second);
    candidates.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn observers_receive_each_leader() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let client = cluster.client()?;
    let election = client.election("leader").owner("me").metadata("address", "10.0.0.1:80");
    let mut leaders = election.observe();
    assert_eq!(within(leaders.next()).await.expect("an item")?, None);
    let leadership = within(election.campaign()).await?;
    let leader = within(leaders.next()).await.expect("an item")?.expect("a leader");
    assert_eq!((leader.owner.as_str(), leader.token), ("me", leadership.token()));
    assert_eq!(leader.metadata["address"], "10.0.0.1:80");
    assert_eq!(within(election.leader()).await?, Some(leader));

    cluster.relay(cluster.serving().await).cut();
    within(leadership.release()).await?;
    assert_eq!(within(leaders.next()).await.expect("an item")?, None);
    Ok(())
}

/// Returns the next events, in order of their revisions.
async fn events(watch: &mut Watch) -> Vec<(u64, EventType, Vec<String>)> {
    loop {
        match within(watch.next()).await.expect("an item").expect("no error").kind {
            Some(Kind::Events(batch)) => {
                let event = |event: Event| (event.revision, event.r#type(), event.names);
                return batch.events.into_iter().map(event).collect();
            }
            Some(Kind::Progress(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_resumes_at_the_next_server_without_gaps() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let (client, other) = (cluster.client()?, cluster.client()?);
    let held = within(other.lock("job-0").owner("holder").acquire()).await?;
    let mut watch = client.watch(WatchRequest { prefixes: vec!["job-".into()], ..Default::default() });
    let first = within(watch.next()).await.expect("an item")?;
    let Some(Kind::Snapshot(snapshot)) = first.kind else { panic!("no snapshot") };
    assert_eq!(snapshot.locks.len(), 1);
    let holder = snapshot.locks[0].holder().map(|claim| (claim.state(), claim.token));
    assert_eq!(holder, Some((ClaimState::Held, held.token())));

    let mut last = first.revision;
    for round in 1..20_u64 {
        if round % 5 == 0 {
            let (cut, healed) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
            cluster.relay(healed).heal();
            cluster.relay(cut).cut();
        }
        let name = format!("job-{round}");
        let guard = within(other.lock(&name).acquire()).await?;
        let token = guard.token();
        within(guard.release()).await?;
        let mut seen = Vec::new();
        while seen.last() != Some(&EventType::Ended) {
            for (revision, kind, names) in events(&mut watch).await {
                assert!(revision > last, "{revision} after {last}");
                assert_eq!(names, [name.as_str()]);
                if kind == EventType::Granted {
                    assert_eq!(revision, token);
                }
                last = revision;
                seen.push(kind);
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_reader_receives_every_event_and_blocks_no_other_call() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let mut watch = client.watch(watching("job"));
    let first = within(watch.next()).await.expect("an item")?;
    assert!(matches!(first.kind, Some(Kind::Snapshot(_))), "{first:?}");
    let session = within(client.session(Default::default())).await?;
    let mut granted = Vec::new();
    for _ in 0..300 {
        let guard = within(session.lock("job").acquire()).await?;
        granted.push(guard.token());
        within(guard.release()).await?;
    }
    let mut received = Vec::new();
    while received.len() < granted.len() {
        let grants = events(&mut watch).await.into_iter().filter(|(_, kind, _)| *kind == EventType::Granted);
        received.extend(grants.map(|(revision, _, _)| revision));
    }
    assert_eq!(received, granted);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_watch_ends_with_the_reason() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let mut watch = cluster.client()?.watch(watching("line\nbreak"));
    assert!(matches!(within(watch.next()).await, Some(Err(_))));
    assert!(within(watch.next()).await.is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn sole_candidate_leads_again_after_its_body_returns() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let election = cluster.client()?.election("leader");
    let terms = Arc::new(AtomicU64::new(0));
    let (tokens, mut received) = mpsc::channel(8);
    let leading = {
        let terms = Arc::clone(&terms);
        tokio::spawn(async move {
            election
                .lead(move |hold| {
                    let tokens = tokens.clone();
                    terms.fetch_add(1, Ordering::SeqCst);
                    async move {
                        let _ = tokens.send(hold.token()).await;
                    }
                })
                .await
        })
    };
    let first = within(received.recv()).await;
    let second = within(received.recv()).await;
    assert!(second > first);
    leading.abort();
    Ok(())
}
