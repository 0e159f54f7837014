//! Watching, over gRPC, on a database in memory.

mod large;
pub(crate) mod service;

use std::time::Duration;

use service::{Reader, Service, names};
use tenure_proto::v1::watch_response::Kind;
use tenure_proto::v1::{EndReason, EventType, HistoryGoneCause, WatchRequest};
use tenure_server::store::Store;
use tonic::Code;

fn all() -> WatchRequest {
    WatchRequest::default()
}

fn of(names: &[&str]) -> WatchRequest {
    WatchRequest { names: names.iter().map(ToString::to_string).collect(), ..all() }
}

#[tokio::test]
async fn watch_begins_with_a_snapshot_that_includes_idle_locks() {
    let service = Service::start().await;
    service.acquire("ann", "a").await;
    let mut reader = Reader::start(&service, of(&["a", "b"])).await;
    let Kind::Snapshot(snapshot) = reader.next().await else { panic!("a snapshot comes first") };
    let seen: Vec<(String, usize)> =
        snapshot.locks.iter().map(|lock| (lock.name.clone(), lock.holders.len())).collect();
    assert_eq!(seen, [("a".to_owned(), 1), ("b".to_owned(), 0)], "b is watched by name, and idle");
}

#[tokio::test]
async fn watch_reports_events_once_in_order_with_the_reasons() {
    let service = Service::start().await;
    let mut reader = Reader::start(&service, of(&["a"])).await;
    reader.next().await;
    let token = service.acquire("ann", "a").await;
    service.acquire("cid", "other").await;
    service.queue("bob", "a").await;
    service.release("ann", "a", token).await;
    service.evict("a").await;
    let mut seen = Vec::new();
    while seen.len() < 5 {
        let Kind::Events(events) = reader.next().await else { continue };
        seen.extend(events.events);
    }
    let kinds: Vec<(EventType, EndReason, bool)> =
        seen.iter().map(|event| (event.r#type(), event.end_reason(), !event.vacant_names.is_empty())).collect();
    let none = EndReason::Unspecified;
    assert_eq!(
        kinds,
        [
            (EventType::Granted, none, false),
            (EventType::Queued, none, false),
            (EventType::Ended, EndReason::Released, false),
            (EventType::Granted, none, false),
            (EventType::Ended, EndReason::Evicted, true),
        ]
    );
    assert!(seen.windows(2).all(|pair| pair[0].revision < pair[1].revision));
    assert_eq!((seen[4].operator.as_str(), seen[4].note.as_str()), ("root", "stuck"));
    assert!(seen.iter().all(|event| event.names == ["a"]));
}

/// The lock has no holder from the release on; the end of the minimum hold is not an event.
#[tokio::test]
async fn vacancy_of_a_lingering_hold_is_reported_once() {
    let service = Service::start().await;
    let mut reader = Reader::start(&service, of(&["a"])).await;
    reader.next().await;
    let token = service.acquire_for("ann", "a", Duration::from_millis(50)).await;
    service.release("ann", "a", token).await;
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let Kind::Events(events) = reader.next().await else { continue };
        seen.extend(events.events.iter().map(|event| (event.r#type(), !event.vacant_names.is_empty())));
    }
    assert_eq!(seen, [(EventType::Granted, false), (EventType::Lingering, true), (EventType::Ended, false)]);
}

#[tokio::test]
async fn watch_resumes_after_a_revision_without_missing_or_repeating_events() {
    let service = Service::start().await;
    let mut revisions = Vec::new();
    for number in 0..50 {
        let token = service.acquire("ann", &format!("n{number}")).await;
        revisions.push(token);
    }
    for resume in [0, 7, 25, 49] {
        let mut reader = Reader::start(&service, WatchRequest { after_revision: revisions[resume], ..all() }).await;
        let mut seen = Vec::new();
        while seen.len() < 50 - resume - 1 {
            if let Kind::Events(events) = reader.next().await {
                seen.extend(events.events.iter().map(|event| event.revision));
            }
        }
        assert_eq!(seen, revisions[resume + 1..]);
    }
}

#[tokio::test]
async fn watch_from_trimmed_history_reports_that_and_sends_a_snapshot() {
    let service = Service::start().await;
    let first = service.acquire("ann", "a").await;
    for number in 0..20 {
        service.acquire("ann", &format!("n{number}")).await;
    }
    service.rows_are_written().await;
    service.store.trim("default", tenure_core::Revision(0), i64::MAX).await.expect("trimmed");
    // Another server has no events in memory.
    let other = Service::peer_of(&service).await;
    let mut reader = Reader::start(&other, WatchRequest { after_revision: first, ..of(&["a"]) }).await;
    let Kind::HistoryGone(gone) = reader.next().await else { panic!("not reported as gone") };
    assert_eq!(gone.cause(), HistoryGoneCause::Compacted);
    let Kind::Snapshot(snapshot) = reader.next().await else { panic!("a snapshot follows") };
    assert_eq!(names(&snapshot), ["a"]);
}

#[tokio::test]
async fn watch_reports_a_loss_of_history_and_sends_a_snapshot() {
    let service = Service::start().await;
    let kept = service.acquire("ann", "a").await;
    let mut reader = Reader::start(&service, all()).await;
    reader.next().await;
    let lost = service.acquire("bob", "b").await;
    let Kind::Events(_) = reader.next().await else { panic!("the grant is not reported") };
    service.database.restore_to("default", tenure_core::Revision(kept));
    let next = service.acquire("cid", "c").await;
    assert!(next > lost);
    let Kind::HistoryGone(gone) = reader.next().await else { panic!("not reported as lost") };
    assert_eq!(gone.cause(), HistoryGoneCause::Lost);
    let Kind::Snapshot(snapshot) = reader.next().await else { panic!("a snapshot follows") };
    assert!(!names(&snapshot).contains(&"b".to_owned()), "what was lost is not shown");
    // A watcher that resumes at a revision of the lost part is notified as well.
    let mut late = Reader::start(&service, WatchRequest { after_revision: lost, ..all() }).await;
    let Kind::HistoryGone(gone) = late.next().await else { panic!("not reported as lost") };
    assert_eq!(gone.cause(), HistoryGoneCause::Lost);
}

#[tokio::test]
async fn watch_that_is_not_read_misses_no_event() {
    let service = Service::start().await;
    let mut slow = Reader::start(&service, all()).await;
    slow.next().await;
    // More events than the hub keeps in memory: 20 times 1,000 grants and releases.
    let began = service.revision().await;
    for _ in 0..20 {
        service.churn(500).await;
    }
    let until = service.revision().await;
    let mut last = began;
    while last < until {
        if let Kind::Events(events) = slow.next().await {
            for event in events.events {
                assert!(event.revision > last, "each once, in order");
                last = event.revision;
            }
        }
    }
}

#[tokio::test]
async fn watch_without_events_reports_its_progress() {
    let service = Service::start().await;
    let mut reader = Reader::start(&service, of(&["a"])).await;
    reader.next().await;
    let token = service.acquire("ann", "unwatched").await;
    // From here on, time advances as soon as all tasks are idle.
    tokio::time::pause();
    let Kind::Progress(_) = reader.next().await else { panic!("no progress") };
    assert_eq!(reader.revision, token);
}

#[tokio::test]
async fn watch_after_a_future_revision_is_rejected_with_the_bound() {
    let service = Service::start().await;
    service.acquire("ann", "a").await;
    let refused = service.watch(WatchRequest { after_revision: 1_000, ..all() }).await.expect_err("from the future");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().starts_with("after_revision: at most 2"), "{}", refused.message());
}

#[tokio::test]
async fn watch_of_a_prefix_reports_only_names_that_start_with_it() {
    let service = Service::start().await;
    let request = WatchRequest { prefixes: vec!["team-a/".to_owned()], ..all() };
    let mut reader = Reader::start(&service, request).await;
    reader.next().await;
    service.acquire("ann", "team-b/x").await;
    service.acquire("ann", "team-a/x").await;
    let Kind::Events(events) = reader.next().await else { panic!("an event") };
    assert_eq!(events.events[0].names, ["team-a/x"]);
    assert_eq!(events.events.len(), 1);
}
