//! Group events in a watch.

use prost::Message;
use tenure_proto::v1::watch_response::Kind;
use tenure_proto::v1::{EndReason, Events, Group, GroupEventType, HistoryGoneCause, Snapshot, WatchRequest};
use tenure_server::store::Store;

use crate::groups::client::{GroupClient, assignments_of};
use crate::watch::service::{Reader, Service};

fn of(groups: &[&str]) -> WatchRequest {
    WatchRequest { groups: groups.iter().map(ToString::to_string).collect(), ..WatchRequest::default() }
}

async fn snapshot(reader: &mut Reader) -> Snapshot {
    match reader.next().await {
        Kind::Snapshot(snapshot) => snapshot,
        other => panic!("no snapshot: {other:?}"),
    }
}

async fn events(reader: &mut Reader) -> Events {
    loop {
        match reader.next().await {
            Kind::Events(events) => return events,
            Kind::Progress(_) => {}
            other => panic!("no events: {other:?}"),
        }
    }
}

fn types(events: &Events) -> Vec<GroupEventType> {
    events.group_events.iter().map(|event| event.r#type()).collect()
}

#[tokio::test]
async fn watch_of_a_group_reports_its_state_after_each_commit() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    client.join("g", "ann").await;
    let mut reader = Reader::start(&service, of(&["g", "empty"])).await;
    let first = snapshot(&mut reader).await;
    assert!(first.locks.is_empty() && !first.more, "no locks are watched");
    let names: Vec<&str> = first.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["empty", "g"], "including the empty group");
    assert_eq!(assignments_of(&first.groups[1]), [("ann", None)]);

    // A lock of the same name does not affect the watch of the group.
    service.acquire("ann", "g").await;
    let bob = client.join("g", "bob").await;
    let reported = events(&mut reader).await;
    assert_eq!((types(&reported), reported.events.len()), (vec![GroupEventType::Joined], 0));
    let event = &reported.group_events[0];
    let member = event.member.as_ref().expect("a member");
    assert_eq!((member.number, member.session_id.as_str(), event.revision), (bob.member, "bob", bob.member));
    assert_eq!(event.group, "g");
    assert_eq!(reported.groups, [client.get("g").await]);

    let config = client.configure("g", Some("1000")).await;
    let reported = events(&mut reader).await;
    assert_eq!(types(&reported), [GroupEventType::Configured]);
    assert_eq!((reported.group_events[0].config.as_deref(), reported.group_events[0].revision), (Some("1000"), config));
    assert_eq!(reported.groups[0].config.as_deref(), Some("1000"));

    client.assign(&reported.groups[0], "500").await.expect("ann leads");
    let reported = events(&mut reader).await;
    assert_eq!(types(&reported), [GroupEventType::Assigned]);
    assert_eq!(reported.group_events[0].config_revision, config);
    assert_eq!(assignments_of(&reported.groups[0]), [("ann", Some("500")), ("bob", Some("500"))]);
    assert!(reported.groups[0].assignments_current);

    client.close("ann").await;
    let reported = events(&mut reader).await;
    let event = &reported.group_events[0];
    assert_eq!((event.r#type(), event.end_reason()), (GroupEventType::Left, EndReason::Closed));
    assert_eq!((event.leader, event.token), (bob.member, event.revision), "bob leads from now on");
    assert_eq!(assignments_of(&reported.groups[0]), [("bob", Some("500"))]);
    assert_eq!(reported.groups[0].leader.as_ref().map(|leader| leader.token), Some(event.revision));
}

#[tokio::test]
async fn watch_without_groups_reports_locks_only() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let mut reader = Reader::start(&service, WatchRequest::default()).await;
    assert_eq!(snapshot(&mut reader).await.groups, []);
    client.join("g", "ann").await;
    service.acquire("ann", "a").await;
    let reported = events(&mut reader).await;
    assert_eq!((reported.events.len(), reported.group_events.len(), reported.groups.len()), (1, 0, 0));
}

#[tokio::test]
async fn watch_of_groups_resumes_with_the_missed_events_and_then_the_state() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let ann = client.join("g", "ann").await;
    let mut revisions = vec![ann.member];
    for value in 0..20 {
        revisions.push(client.configure("g", Some(&value.to_string())).await);
    }
    let current = client.get("g").await;
    for resume in [0, 7, 20] {
        let request = WatchRequest { after_revision: revisions[resume], ..of(&["g", "empty"]) };
        let mut reader = Reader::start(&service, request).await;
        let (mut seen, mut known): (Vec<u64>, Vec<Group>) = (Vec::new(), Vec::new());
        while known.len() < 2 {
            let reported = events(&mut reader).await;
            seen.extend(reported.group_events.iter().map(|event| event.revision));
            known.extend(reported.groups);
        }
        assert_eq!(seen, revisions[resume + 1..], "each event once");
        known.sort_by(|one, other| one.name.cmp(&other.name));
        assert_eq!(known, [client.get("empty").await, current.clone()], "each group once");
        assert_eq!(reader.revision, revisions[20]);
    }
}

#[tokio::test]
async fn slow_reader_receives_every_event_but_only_recent_states() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let mut slow = Reader::start(&service, of(&["g"])).await;
    snapshot(&mut slow).await;
    let value = "x".repeat(60_000);
    let mut expected = Vec::new();
    // More events than the buffers hold: the watch has to wait for its reader.
    for number in 0..300 {
        expected.push(client.configure("g", Some(&format!("{number}{value}"))).await);
    }
    let last = *expected.last().expect("some");
    let (mut seen, mut states, mut state) = (Vec::new(), 0, None);
    while state.as_ref().is_none_or(|group: &Group| group.config_revision < last) {
        let reported = events(&mut slow).await;
        seen.extend(reported.group_events.iter().map(|event| event.revision));
        states += reported.groups.len();
        state = reported.groups.into_iter().next_back().or(state);
    }
    assert_eq!(seen, expected);
    assert_eq!(state, Some(client.get("g").await), "the last message has the current state");
    assert!(states < expected.len(), "outdated states are left out");
}

#[tokio::test]
async fn watch_of_groups_from_trimmed_history_sends_a_snapshot() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let first = client.join("g", "ann").await.revision;
    for value in 0..20 {
        client.configure("g", Some(&value.to_string())).await;
    }
    service.rows_are_written().await;
    service.store.trim("default", tenure_core::Revision(0), i64::MAX).await.expect("trimmed");
    let other = Service::peer_of(&service).await;
    let mut reader = Reader::start(&other, WatchRequest { after_revision: first, ..of(&["g"]) }).await;
    let Kind::HistoryGone(gone) = reader.next().await else { panic!("not reported as gone") };
    assert_eq!(gone.cause(), HistoryGoneCause::Compacted);
    assert_eq!(snapshot(&mut reader).await.groups, [client.get("g").await]);
    client.configure("g", Some("next")).await;
    assert_eq!(events(&mut reader).await.groups, [client.get("g").await], "the watch continues");
}

#[tokio::test]
async fn watch_of_groups_reports_events_read_from_the_store_before_the_state() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let first = client.join("g", "ann").await.revision;
    let mut expected = Vec::new();
    for value in 0..20 {
        expected.push(client.configure("g", Some(&value.to_string())).await);
    }
    service.rows_are_written().await;
    // Another server has no events in memory, but can read the log.
    let other = Service::peer_of(&service).await;
    let mut reader = Reader::start(&other, WatchRequest { after_revision: first, ..of(&["g"]) }).await;
    let mut seen = Vec::new();
    loop {
        let reported = events(&mut reader).await;
        seen.extend(reported.group_events.iter().map(|event| event.revision));
        if let [group] = reported.groups.as_slice() {
            assert_eq!(*group, client.get("g").await);
            break;
        }
    }
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn snapshot_of_large_groups_comes_in_several_messages() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let value = "x".repeat(60_000);
    let names: Vec<String> = (0..40).map(|number| format!("g{number:02}")).collect();
    for name in &names {
        client.configure(name, Some(&value)).await;
        client.join(name, "ann").await;
    }
    let watched: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut reader = Reader::start(&service, of(&watched)).await;
    let (mut names_received, mut messages) = (Vec::new(), 0);
    loop {
        let part = snapshot(&mut reader).await;
        assert!(part.encoded_len() < 2 * 64 * 1024, "{}", part.encoded_len());
        messages += 1;
        names_received.extend(part.groups.into_iter().map(|group| group.name));
        if !part.more {
            break;
        }
    }
    assert_eq!((&names_received, messages), (&names, names.len()), "each group fills a message");

    client.close("ann").await;
    let first = events(&mut reader).await;
    let revision = reader.revision;
    assert_eq!(first.group_events.len(), 40, "all events of a commit come in one message");
    let mut names_received: Vec<String> = first.groups.into_iter().map(|group| group.name).collect();
    while names_received.len() < 40 {
        let more = events(&mut reader).await;
        assert_eq!((more.group_events.len(), reader.revision), (0, revision));
        names_received.extend(more.groups.into_iter().map(|group| group.name));
    }
    assert_eq!(names_received, names);
}
