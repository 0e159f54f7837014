//! History: over gRPC, on a database in memory; and the time limit of a page, with a clock that the test controls.

use crate::lab;
use crate::serving::TIMEOUT;
use crate::watch::service;

use std::time::{Duration, SystemTime};

use service::{Reader, Service};
use tenure_core::testing::filler;
use tenure_core::{Recorded, Revision, ServerId};
use tenure_proto::v1::history_entry::Kind;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::watch_response::Kind as Message;
use tenure_proto::v1::{
    EndReason, GetLockRequest, GetSessionRequest, HistoryEntry, HoldRecord, ListHistoryRequest, ListHistoryResponse,
    ListLocksRequest, WatchRequest,
};
use tenure_server::history::{self, Entry};
use tenure_server::store::{Batch, Store};
use tonic::Code;

fn of(name: &str) -> ListHistoryRequest {
    ListHistoryRequest { name: name.to_owned(), ..ListHistoryRequest::default() }
}

fn hold(entry: HistoryEntry) -> HoldRecord {
    match entry.kind {
        Some(Kind::Hold(hold)) => hold,
        other => panic!("{other:?} is no hold"),
    }
}

fn holds(page: ListHistoryResponse) -> Vec<HoldRecord> {
    page.entries.into_iter().map(hold).collect()
}

async fn list(service: &Service, name: &str) -> Vec<HoldRecord> {
    let page = service.history(of(name)).await.expect("listed");
    assert_eq!(page.next_page_token, "", "all of it");
    holds(page)
}

/// Whether a time lies within the test.
fn is_now(time: Option<prost_types::Timestamp>) -> bool {
    let time = SystemTime::try_from(time.expect("known")).expect("a time");
    time.elapsed().is_ok_and(|ago| ago < TIMEOUT)
}

fn seconds(duration: Option<prost_types::Duration>) -> Duration {
    Duration::try_from(duration.expect("known")).expect("not negative")
}

#[tokio::test]
async fn history_reports_the_holders_and_the_reasons_for_their_ends() {
    let service = Service::start().await;
    let token = service.acquire("ann", "a").await;
    service.queue("bob", "a").await;
    service.release("ann", "a", token).await;
    service.evict("a").await;
    let last = service.acquire("cid", "a").await;
    let [cid, bob, ann] = list(&service, "a").await.try_into().expect("three holds");

    assert_eq!((cid.session_id.as_str(), cid.token, cid.end_reason()), ("cid", last, EndReason::Unspecified));
    assert_eq!(cid.ended_time, None, "it is held");
    assert!(is_now(cid.granted_time) && seconds(cid.held) < TIMEOUT);
    assert_eq!(seconds(cid.ttl), Duration::from_secs(600));
    assert!(seconds(cid.since_renewal) < TIMEOUT && seconds(cid.longest_pause) < TIMEOUT);

    assert_eq!((bob.session_id.as_str(), bob.end_reason()), ("bob", EndReason::Evicted));
    assert_eq!((bob.operator.as_str(), bob.note.as_str()), ("root", "stuck"));
    assert!(bob.token > bob.claim_id, "it waited");
    assert!(is_now(bob.queued_time) && is_now(bob.ended_time) && seconds(bob.waited) < TIMEOUT);

    assert_eq!((ann.session_id.as_str(), ann.token, ann.end_reason()), ("ann", token, EndReason::Released));
    assert_eq!((ann.claim_id, seconds(ann.waited)), (token, Duration::ZERO));
    assert_eq!((ann.names, ann.since_renewal), (vec!["a".to_owned()], None));
    assert!(seconds(ann.longest_pause) < TIMEOUT && seconds(ann.held) < TIMEOUT);
    assert_eq!(list(&service, "b").await, []);
}

#[tokio::test]
async fn history_reports_pauses_of_renewals_only_at_the_home() {
    let service = Service::start().await;
    service.acquire("ann", "a").await;
    let other = Service::peer_of(&service).await;
    let [ann] = list(&other, "a").await.try_into().expect("one hold");
    assert_eq!((ann.longest_pause, ann.since_renewal), (None, None));
    assert!(is_now(ann.granted_time));
}

#[tokio::test]
async fn pages_of_history_make_up_the_whole_list() {
    let service = Service::start().await;
    let mut tokens = Vec::new();
    for number in 0..25 {
        let token = service.acquire("ann", "a").await;
        service.acquire("ann", &format!("other{number}")).await;
        service.release("ann", "a", token).await;
        tokens.insert(0, token);
    }
    let mut seen = Vec::new();
    let mut request = ListHistoryRequest { page_size: 10, ..of("a") };
    loop {
        let page = service.history(request.clone()).await.expect("listed");
        assert!(page.entries.len() <= 10);
        assert_eq!(page.kept_since.is_some(), page.next_page_token.is_empty(), "set on the last page");
        request.page_token.clone_from(&page.next_page_token);
        seen.extend(holds(page).iter().map(|hold| hold.token));
        // Later events are not part of these pages.
        let token = service.acquire("bob", "a").await;
        service.release("bob", "a", token).await;
        if request.page_token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, tokens);
}

#[tokio::test]
async fn invalid_field_is_rejected_by_name() {
    let service = Service::start().await;
    for _ in 0..3 {
        let token = service.acquire("ann", "a").await;
        service.release("ann", "a", token).await;
    }
    let page = service.history(ListHistoryRequest { page_size: 1, ..of("a") }).await.expect("listed");
    let token = page.next_page_token;
    assert_ne!(token, "");
    let other_namespace = ListHistoryRequest { namespace: "blue".to_owned(), page_token: token.clone(), ..of("a") };
    let forged = ListHistoryRequest { page_token: "Zm9yZ2Vk".to_owned(), ..of("a") };
    for (request, field) in [
        (of(""), "name"),
        (of("line\nbreak"), "name"),
        (of(&"x".repeat(256)), "name"),
        (ListHistoryRequest { namespace: "Blue".to_owned(), ..of("a") }, "namespace"),
        (ListHistoryRequest { page_size: -1, ..of("a") }, "page_size"),
        (ListHistoryRequest { page_size: 1_001, ..of("a") }, "page_size"),
        (ListHistoryRequest { page_token: token.clone(), ..of("b") }, "page_token"),
        (other_namespace, "page_token"),
        (forged, "page_token"),
        (ListHistoryRequest { page_token: "?".to_owned(), ..of("a") }, "page_token"),
    ] {
        let refused = service.history(request.clone()).await.expect_err("out of bounds");
        assert_eq!(refused.code(), Code::InvalidArgument, "{request:?}");
        assert!(refused.message().starts_with(&format!("{field}: ")), "{}", refused.message());
    }
    let next = ListHistoryRequest { page_size: 1_000, page_token: token, ..of("a") };
    assert_eq!(service.history(next).await.expect("listed").entries.len(), 2);
}

#[tokio::test]
async fn history_that_was_trimmed_is_not_listed_and_the_page_states_its_beginning() {
    let service = Service::start().await;
    let token = service.acquire("ann", "a").await;
    service.release("ann", "a", token).await;
    let current_token = service.acquire("ann", "long").await;
    let token = service.acquire("ann", "a").await;
    service.release("ann", "a", token).await;
    service.rows_are_written().await;
    // Only the newest commit is left: the last release.
    service.store.trim("default", Revision(0), i64::MAX).await.expect("trimmed");

    let page = service.history(of("a")).await.expect("listed");
    assert!(is_now(page.kept_since));
    let [ann] = holds(page).try_into().expect("one hold");
    assert_eq!((ann.token, ann.end_reason()), (token, EndReason::Released));
    assert_eq!(
        (ann.granted_time, ann.queued_time, ann.held, ann.ttl),
        (None, None, None, None),
        "unknown since the history was trimmed"
    );
    assert_eq!(seconds(ann.waited), Duration::ZERO, "known from its token");
    let [current] = list(&service, "long").await.try_into().expect("one hold");
    assert_eq!((current.token, current.ttl, current.ended_time), (current_token, None, None));
    assert!(is_now(current.granted_time) && seconds(current.held) < TIMEOUT, "known while it is held");
}

/// The time at which a lock was granted to its holder, as reported consistently by reads and lists of locks, by the
/// session, and by the snapshot of a watch.
async fn granted_at(service: &Service, name: &str) -> Option<prost_types::Timestamp> {
    let (mut locks, mut sessions) =
        (LockServiceClient::new(service.channel.clone()), SessionServiceClient::new(service.channel.clone()));
    let request = GetLockRequest { name: name.to_owned(), ..GetLockRequest::default() };
    let lock = locks.get_lock(request).await.expect("a reply").into_inner().lock.expect("a lock");
    let [holder] = lock.holders.try_into().expect("one holder");
    let listed = locks.list_locks(ListLocksRequest::default()).await.expect("listed").into_inner().locks;
    let listed = listed.into_iter().find(|lock| lock.name == name).expect("among them");
    assert_eq!(listed.holders, std::slice::from_ref(&holder));
    let request = GetSessionRequest { session_id: holder.session_id.clone(), ..GetSessionRequest::default() };
    let session = sessions.get_session(request).await.expect("a reply").into_inner().session.expect("a session");
    assert_eq!(session.claims.iter().find(|claim| claim.id == holder.id), Some(&holder));
    let watch = WatchRequest { names: vec![name.to_owned()], ..WatchRequest::default() };
    let Message::Snapshot(snapshot) = Reader::start(service, watch).await.next().await else { panic!("a snapshot") };
    assert_eq!(snapshot.locks[0].holders, std::slice::from_ref(&holder));
    assert!(lock.waiters.iter().all(|waiter| waiter.granted_at.is_none()), "all of them wait");
    holder.granted_at
}

#[tokio::test]
async fn claim_keeps_the_time_of_its_grant_after_history_is_trimmed() {
    let service = Service::start().await;
    let follower = Service::peer_of(&service).await;
    let token = service.acquire("ann", "long").await;
    service.queue("bob", "long").await;
    let granted = granted_at(&service, "long").await;
    assert!(is_now(granted));
    let of_other = service.acquire("ann", "other").await;
    service.rows_are_written().await;
    // Only the newest commit is left.
    service.store.trim("default", Revision(0), i64::MAX).await.expect("trimmed");
    let loading = Service::peer_of(&service).await;
    for server in [&service, &follower, &loading] {
        assert_eq!(granted_at(server, "long").await, granted);
        let [current] = list(server, "long").await.try_into().expect("one hold");
        assert_eq!((current.token, current.granted_time, current.ttl), (token, granted, None));
    }

    // The next hold has a grant time of its own, also on a server that loaded its state from rows.
    loading.release("ann", "long", token).await;
    let next = granted_at(&service, "long").await;
    assert!(is_now(next) && next != granted, "{next:?}");
    loading.release("ann", "other", of_other).await;
    loading.rows_are_written().await;
    service.store.trim("default", Revision(0), i64::MAX).await.expect("trimmed");
    for server in [&service, &follower, &loading, &Service::peer_of(&service).await] {
        assert_eq!(granted_at(server, "long").await, next);
    }
}

#[tokio::test]
async fn history_lists_a_loss_of_history() {
    let service = Service::start().await;
    let kept = service.acquire("ann", "a").await;
    service.acquire("bob", "b").await;
    service.database.restore_to("default", Revision(kept));
    service.release("ann", "a", kept).await;
    let page = service.history(of("a")).await.expect("listed");
    let [hold, loss] = page.entries.try_into().expect("two entries");
    let (Some(Kind::Hold(hold)), Some(Kind::Loss(loss))) = (hold.kind, loss.kind) else { panic!("a hold, and a loss") };
    assert_eq!((hold.token, loss.after_revision), (kept, kept));
    assert!(loss.revision > kept && is_now(loss.time), "{loss:?}");
}

#[tokio::test]
async fn history_is_rejected_without_the_database() {
    let service = Service::start().await;
    service.acquire("ann", "a").await;
    service.database.set_available(false);
    let refused = service.history(of("a")).await.expect_err("the database is unavailable");
    assert_eq!(refused.code(), Code::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn history_page_takes_bounded_time_however_long_the_log_is() {
    let (database, server) = lab::Server::with_database().await;
    let token = server.hold("ann", "a").await;
    server.release("ann", "a", token).await.expect("held");
    let before = database.revision("default");
    let mut previous = before;
    for number in 1..=20 {
        let events = (previous.0 + 1..=previous.0 + 2_000)
            .map(|number| Recorded { revision: Revision(number), event: filler(number) })
            .collect();
        let batch = Batch { namespace: "default".into(), previous, events, server: ServerId(7), number, at_ms: 0 };
        server.store.append(&batch, false).await.expect("appended");
        previous = batch.revision();
    }
    // So slow that reading the whole log takes ten seconds.
    database.set_search_delay(Duration::from_millis(900));
    let (namespace, name) = (server.namespace().await, "a".into());
    let mut cursor = None;
    let mut entries = Vec::new();
    for pages in 1.. {
        let start = tokio::time::Instant::now();
        let page = history::read(&namespace, &name, 10, cursor).await.expect("read");
        assert!(start.elapsed() <= Duration::from_secs(2), "{:?}", start.elapsed());
        entries.extend(page.entries);
        cursor = page.next;
        if cursor.is_none() {
            assert!(pages > 2, "{pages} pages");
            break;
        }
        assert_eq!(entries, [], "the only hold is at the beginning of the log");
    }
    let [Entry::Hold(hold)] = &entries[..] else { panic!("one hold: {entries:?}") };
    assert_eq!(hold.token, token);
}

#[tokio::test(start_paused = true)]
async fn history_reports_the_longest_pause_of_renewals() {
    let server = lab::Server::alone().await;
    let namespace = server.namespace().await;
    let token = server.hold("ann", "a").await;
    lab::pass(lab::TTL * 3 / 4).await;
    namespace.renew("ann").expect("open");
    lab::pass(lab::TTL / 4).await;
    server.release("ann", "a", token).await.expect("held");
    server.hold("bob", "a").await;
    lab::pass(lab::TTL * 2).await;
    let page = history::read(&namespace, &"a".into(), 10, None).await.expect("read");
    let [Entry::Hold(bob), Entry::Hold(ann)] = &page.entries[..] else { panic!("two holds: {page:?}") };
    let end_of = |hold: &history::HoldRecord| {
        let end = hold.end.as_ref().expect("ended");
        (end.reason, end.longest_pause.expect("known"))
    };
    let near = |time: Duration, expected: Duration| time >= expected && time < expected + Duration::from_millis(100);
    let (reason, pause) = end_of(ann);
    assert!(reason == tenure_core::EndReason::Released && near(pause, lab::TTL * 3 / 4), "{pause:?}");
    let (reason, pause) = end_of(bob);
    assert!(reason == tenure_core::EndReason::Expired && near(pause, lab::TTL), "{pause:?}");
    assert_eq!(bob.ttl, Some(lab::TTL));
}
