//! Groups against servers.

use crate::support;

use std::time::Duration;

use support::{Cluster, within};
use tenure_client::v1::{EndReason, ErrorReason, Group, GroupEventType, WatchRequest, watch_response::Kind};
use tenure_client::{Assignments, Client, Error, LostReason, Membership, SessionOptions, Standing};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;

const GROUP: &str = "throughput";

fn evenly(group: &Group) -> Assignments {
    let total: usize = group.config.as_deref().and_then(|total| total.parse().ok()).unwrap_or_default();
    group.assign(|_, _| (total / group.members.len()).to_string())
}

async fn join(client: &Client, owner: &str) -> tenure_client::Result<Membership> {
    within(client.group(GROUP).owner(owner).join()).await
}

/// Waits until a membership satisfies `wanted`.
async fn until(membership: &Membership, what: &str, wanted: impl FnMut(&Standing) -> bool) -> Standing {
    let mut standings = membership.standings();
    let found = tokio::time::timeout(support::PATIENCE, standings.wait_for(wanted)).await;
    match found {
        Ok(standing) => standing.expect("the membership is followed").clone(),
        Err(_) => panic!("not in time: {what}; the member is {:?}", membership.standing()),
    }
}

fn has(share: &str) -> impl Fn(&Standing) -> bool {
    move |standing| standing.is_current() && standing.assignment() == Some(share)
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_assigns_anew_after_each_change_of_members_or_config() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let (one, two) = (cluster.client()?, cluster.client()?);
    one.configure_group(GROUP, Some("1000"), None).await?;
    let first = join(&one, "first").await?;
    let second = join(&two, "second").await?;
    assert!(second.number() > first.number());
    let mut shares = second.assignments();
    assert_eq!(within(shares.next()).await, Some(None), "no leader has assigned yet");
    tokio::select! {
        ended = async { tokio::join!(first.lead(evenly), second.lead(evenly)) } => panic!("{ended:?}"),
        () = async {
            assert_eq!(within(shares.next()).await, Some(Some("500".to_owned())));
            let standing = until(&first, "half", has("500")).await;
            assert!(standing.leads() && !second.standing().leads());
            assert_eq!(standing.token(), standing.group.leader.as_ref().map(|leader| leader.token));

            one.configure_group(GROUP, Some("300"), None).await.expect("allowed");
            assert_eq!(within(shares.next()).await, Some(Some("150".to_owned())));
            let third = join(&two, "third").await.expect("below the limit");
            assert_eq!(within(shares.next()).await, Some(Some("100".to_owned())));
            within(third.leave()).await.expect("a member");
            assert_eq!(within(shares.next()).await, Some(Some("150".to_owned())));
        } => {}
    }
    within(first.leave()).await?;
    let standing = until(&second, "it leads", Standing::leads).await;
    assert!(!standing.is_current(), "and has to divide");
    tokio::select! {
        ended = second.lead(evenly) => panic!("{ended:?}"),
        share = within(shares.next()) => assert_eq!(share, Some(Some("300".to_owned()))),
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn membership_survives_failover() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(2).await?;
    let client = cluster.client()?;
    let member = join(&client, "first").await?;
    let other = Client::connect(cluster.options())?;
    let dividing = async {
        for round in 1..=4 {
            if round == 4 {
                cluster.relay(1).heal();
                let serving = cluster.serving().await;
                cluster.drain(serving).await;
            } else {
                let (cut, healed) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
                cluster.relay(healed).heal();
                cluster.relay(cut).cut();
            }
            let total = (round * 100).to_string();
            within(other.configure_group(GROUP, Some(&total), None)).await.expect("allowed");
            until(&member, "the whole", has(&total)).await;
        }
    };
    tokio::select! {
        ended = member.lead(evenly) => panic!("{ended:?}"),
        () = dividing => {}
    }
    let group = within(other.get_group(GROUP)).await?;
    assert_eq!(group.members.iter().map(|member| member.number).collect::<Vec<_>>(), [member.number()]);
    assert_eq!(group.leader.map(|leader| leader.token), Some(member.number()), "it has led all the time");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn disconnected_member_is_notified_and_rejoins_as_a_new_member() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let cut_off = Client::builder().endpoints([cluster.relay(0).url()]).connect()?;
    let other = Client::builder().endpoints([cluster.relay(1).url()]).connect()?;
    other.configure_group(GROUP, Some("1000"), None).await?;
    let (sender, mut received) = mpsc::unbounded_channel();
    // Long enough to renew in time on a busy machine.
    let ttl = Duration::from_secs(2);
    let taking_part = tokio::spawn(async move {
        let group = cut_off.group(GROUP).ttl(ttl).owner("cut off");
        let on_change = move |standing: &Standing| drop(sender.send(standing.clone()));
        group.take_part(evenly, on_change).await
    });
    let mut next = async |what: &str, wanted: &dyn Fn(&Standing) -> bool| loop {
        let standing = tokio::time::timeout(support::PATIENCE, received.recv()).await;
        let standing = standing.unwrap_or_else(|_| panic!("not in time: {what}")).expect("take_part does not end");
        if wanted(&standing) {
            return standing;
        }
    };
    let whole = next("the whole", &has("1000")).await;
    let second = join(&other, "other").await?;
    next("half", &has("500")).await;

    cluster.relay(0).freeze();
    let lost = next("the loss", &|standing| standing.lost.is_some()).await;
    assert_eq!((lost.number, lost.assignment(), lost.leads()), (whole.number, None, false));
    tokio::select! {
        ended = second.lead(evenly) => panic!("{ended:?}"),
        () = async {
            until(&second, "all that is left", has("1000")).await;
            cluster.relay(0).heal();
            let back = next("half again", &has("500")).await;
            assert!(back.number > second.number(), "as a new member");
            assert!(!back.leads());
        } => {}
    }
    taking_part.abort();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_membership_does_not_end_its_session() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let session = within(client.session(SessionOptions::new())).await?;
    let membership = within(client.group(GROUP).in_session(&session).metadata("takes", "10").join()).await?;
    let again = within(client.group(GROUP).in_session(&session).join()).await;
    let is_overlap = again.is_err_and(|error| error.reason() == Some(ErrorReason::MembershipOverlap));
    assert!(is_overlap, "one membership for each session");
    let metadata = membership.standing().group.members[0].metadata.clone();
    assert_eq!(metadata["takes"], "10");
    let mut watch = client.watch(WatchRequest { groups: vec![GROUP.into()], ..Default::default() });
    let Some(Kind::Snapshot(snapshot)) = within(watch.next()).await.expect("an item")?.kind else {
        panic!("a snapshot")
    };
    assert_eq!(snapshot.groups[0].members.len(), 1);
    let mut standings = membership.standings();
    drop(membership);
    let left = loop {
        let Some(Kind::Events(batch)) = within(watch.next()).await.expect("an item")?.kind else { continue };
        if let Some(left) = batch.group_events.into_iter().find(|event| event.r#type() == GroupEventType::Left) {
            break left;
        }
    };
    assert_eq!((left.end_reason(), left.leader), (EndReason::Released, 0));
    let lost = within(standings.wait_for(|standing| standing.lost.is_some())).await?.lost.clone();
    assert_eq!(lost, Some(LostReason::Released), "its receivers are notified");
    assert!(session.is_valid());

    let own = join(&client, "own").await?;
    let number = own.number();
    drop(own);
    let gone = async {
        while client.get_group(GROUP).await?.member(number).is_some() {
            tokio::task::yield_now().await;
        }
        Ok::<(), Error>(())
    };
    within(gone).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_assignments_and_configs_are_rejected_with_the_reason() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let client = cluster.client()?;
    let first = join(&client, "first").await?;
    let old = first.standing().group;
    let second = join(&client, "second").await?;
    let reason = |error: Error| error.reason();
    let stale = within(first.assign(&old, old.assign(|_, _| String::new()))).await.expect_err("second has joined");
    assert_eq!(reason(stale), Some(ErrorReason::StaleAssignment));
    let current = until(&first, "both", |standing| standing.group.members.len() == 2).await.group;
    let unfit = within(first.assign(&current, Assignments::new())).await.expect_err("the assignments name no member");
    assert_eq!(reason(unfit), Some(ErrorReason::InvalidField));
    let other = within(second.assign(&current, current.assign(|_, _| String::new()))).await;
    assert!(matches!(other, Err(Error::Invalid { field: "group", .. })), "{other:?}");
    let led = within(first.lead(|_| Assignments::new())).await;
    assert_eq!(reason(led.expect_err("it never fits")), Some(ErrorReason::InvalidField));

    let revision = within(client.configure_group(GROUP, Some("1"), Some(0))).await?;
    let conflict = within(client.configure_group(GROUP, Some("2"), Some(0))).await.expect_err("there is one");
    assert_eq!(reason(conflict), Some(ErrorReason::ConfigConflict));
    assert!(within(client.configure_group(GROUP, Some("2"), Some(revision))).await? > revision);
    assert_eq!(within(client.configure_group(GROUP, None, None)).await?, 0);
    let names: Vec<String> = within(client.list_groups("").map(|group| group.expect("listed").name).collect()).await;
    assert_eq!(names, [GROUP]);
    within(client.close()).await?;
    assert_eq!(within(first.lost()).await, LostReason::Closed);
    Ok(())
}
