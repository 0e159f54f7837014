//! Large watches: they are sent in messages of bounded size, with correct content.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use prost::Message;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::watch_response::Kind;
use tenure_proto::v1::{
    AcquireRequest, EventType, EvictRequest, GetSessionRequest, HistoryGoneCause, ListBlockedRequest,
    ListHistoryRequest, ListLocksRequest, ListSessionsRequest, Mode, Snapshot, WatchRequest,
};
use tonic::Code;

use crate::serving::within;
use crate::watch::service::{Reader, Service};

/// A message may exceed this by one lock, or one event.
const MESSAGE: usize = 64 * 1024;

/// Approximate size of a page.
const PAGE: usize = 1024 * 1024;

fn labels(bytes: usize) -> HashMap<String, String> {
    [("label".to_owned(), "x".repeat(bytes))].into()
}

/// Makes a session acquire locks with labels of `bytes` bytes, without waiting for any.
async fn acquire(service: &Service, session: &str, names: &[String], mode: Mode, bytes: usize) {
    let request = AcquireRequest {
        names: names.to_vec(),
        session_id: session.to_owned(),
        ttl: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
        wait: Some(prost_types::Duration::default()),
        metadata: labels(bytes).into_iter().collect(),
        mode: mode.into(),
        ..AcquireRequest::default()
    };
    let answer =
        LockServiceClient::new(service.channel.clone()).acquire(request).await.expect("an answer").into_inner();
    assert!(answer.acquired, "{answer:?}");
}

/// Creates `count` holders of one lock, each with labels of 4,000 bytes.
async fn acquire_shared(service: &Service, count: usize) {
    for number in 0..count {
        acquire(service, &format!("s{number:03}"), &["shared".to_owned()], Mode::Shared, 4_000).await;
    }
}

/// The holders of locks, as listed.
async fn holders(service: &Service) -> (BTreeMap<String, String>, u64) {
    let mut request = ListLocksRequest { page_size: 1_000, ..ListLocksRequest::default() };
    let mut all = BTreeMap::new();
    loop {
        let page = LockServiceClient::new(service.channel.clone()).list_locks(request.clone()).await;
        let page = page.expect("listed").into_inner();
        all.extend(page.locks.into_iter().map(|lock| (lock.name, lock.holders[0].session_id.clone())));
        if page.next_page_token.is_empty() {
            return (all, page.revision);
        }
        request.page_token = page.next_page_token;
    }
}

#[tokio::test]
async fn snapshot_is_right_although_locks_change_while_it_is_sent() {
    let service = Service::start().await;
    let name = |number: usize| format!("lock/{number:04}");
    for number in 0..1_500 {
        acquire(&service, &format!("s{number}"), &[name(number)], Mode::Exclusive, 1_000).await;
    }
    let mut reader = Reader::start(&service, WatchRequest::default()).await;
    let (mut seen, mut parts) = (BTreeMap::new(), 0);
    loop {
        let Kind::Snapshot(part) = reader.next().await else { panic!("a snapshot comes first") };
        assert!(part.encoded_len() < 2 * MESSAGE, "{}", part.encoded_len());
        for lock in part.locks {
            match lock.holders.first() {
                Some(holder) => seen.insert(lock.name, holder.session_id.clone()),
                None => seen.remove(&lock.name),
            };
        }
        parts += 1;
        if !part.more {
            break;
        }
        // Changes names already sent, names not yet sent, and new names before, between and after all of them.
        let changed = parts * 7;
        service.evict(&name(changed)).await;
        service.evict(&name(1_499 - changed)).await;
        acquire(&service, &format!("again{parts}"), &[name(changed)], Mode::Exclusive, 1_000).await;
        for new in ["a", "lock/0700/", "z"] {
            acquire(&service, &format!("new{parts}"), &[format!("{new}{parts}")], Mode::Exclusive, 10).await;
        }
    }
    assert!(parts > 20, "{parts}");
    // Changes after the snapshot follow as events.
    let (expected, revision) = holders(&service).await;
    while reader.revision < revision {
        let Kind::Events(events) = reader.next().await else { continue };
        for event in events.events {
            let [name] = event.names.as_slice() else { panic!("claims of one name each: {event:?}") };
            match (event.r#type(), &event.claim) {
                (EventType::Granted, Some(claim)) => seen.insert(name.clone(), claim.session_id.clone()),
                _ => seen.remove(name),
            };
        }
    }
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn large_commit_comes_in_several_messages_and_resumes_after_each() {
    let service = Service::start().await;
    acquire_shared(&service, 150).await;
    let (before, mut shared) = (service.revision().await, Reader::start(&service, WatchRequest::default()).await);
    let Kind::Snapshot(snapshot) = shared.next().await else { panic!("a snapshot comes first") };
    let [lock] = snapshot.locks.as_slice() else { panic!("one lock: {snapshot:?}") };
    assert!(lock.holders.len() < 20 && lock.holder_count == 150, "{} are listed", lock.holders.len());
    let evict = EvictRequest { name: "shared".to_owned(), operator: "root".to_owned(), ..EvictRequest::default() };
    let evicted = LockServiceClient::new(service.channel.clone()).evict(evict).await.expect("allowed").into_inner();
    assert_eq!((evicted.evicted.len(), evicted.ended_count), (150, 150));
    let resumed = Reader::start(&service, WatchRequest { after_revision: before, ..WatchRequest::default() }).await;
    for mut reader in [shared, resumed] {
        let mut seen: Vec<u64> = Vec::new();
        while reader.revision < evicted.revision {
            let Kind::Events(events) = reader.next().await else { continue };
            assert!(events.encoded_len() < 2 * MESSAGE, "{}", events.encoded_len());
            seen.extend(events.events.iter().map(|event| event.revision));
            assert_eq!(seen.last(), Some(&reader.revision));
            if seen.len() < 150 {
                let request = WatchRequest { after_revision: reader.revision, ..WatchRequest::default() };
                let Kind::Events(next) = Reader::start(&service, request).await.next().await else { continue };
                assert_eq!(next.events[0].revision, reader.revision + 1);
            }
        }
        assert_eq!(seen, (before + 1..=before + 150).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn pages_are_cut_where_they_become_large() {
    let service = Service::start().await;
    let names = |number: usize| (0..3).map(|name| format!("{number:03}/{name}")).collect::<Vec<_>>();
    for number in 0..400 {
        let session = format!("s{number:03}");
        acquire(&service, &session, &names(number), Mode::Exclusive, 4_000).await;
    }
    let mut locks = LockServiceClient::new(service.channel.clone());
    let mut request = ListLocksRequest { page_size: 1_000, ..ListLocksRequest::default() };
    let (mut seen, mut pages) = (0, 0);
    loop {
        let page = locks.list_locks(request.clone()).await.expect("listed").into_inner();
        assert!(page.encoded_len() < PAGE + MESSAGE, "{}", page.encoded_len());
        (seen, pages) = (seen + page.locks.len(), pages + 1);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert!(seen == 1_200 && pages > 4, "{seen} in {pages}");

    let mut sessions = SessionServiceClient::new(service.channel.clone());
    let mut request = ListSessionsRequest { page_size: 1_000, ..ListSessionsRequest::default() };
    let mut seen = 0;
    loop {
        let page = sessions.list_sessions(request.clone()).await.expect("listed").into_inner();
        assert!(page.encoded_len() < PAGE + MESSAGE, "{}", page.encoded_len());
        seen += page.sessions.len();
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(seen, 400);
}

#[tokio::test]
async fn claims_of_a_session_are_listed_piece_by_piece() {
    let service = Service::start().await;
    for number in 0..300 {
        acquire(&service, "ann", &[format!("lock/{number}")], Mode::Exclusive, 4_000).await;
    }
    let mut sessions = SessionServiceClient::new(service.channel.clone());
    let list = sessions.list_sessions(ListSessionsRequest::default()).await.expect("listed").into_inner();
    assert!(list.sessions[0].claims.len() < 20 && list.sessions[0].claim_count == 300);
    let mut request = GetSessionRequest { session_id: "ann".to_owned(), ..GetSessionRequest::default() };
    let mut seen: Vec<u64> = Vec::new();
    while seen.len() < 300 {
        let session = sessions.get_session(request.clone()).await.expect("open").into_inner().session.expect("open");
        assert!(session.encoded_len() < PAGE + MESSAGE, "{}", session.encoded_len());
        assert_eq!(session.claim_count, 300);
        seen.extend(session.claims.iter().map(|claim| claim.id));
        request.after_claim = *seen.last().expect("some");
    }
    assert!(seen.len() == 300 && seen.is_sorted_by(|one, other| one < other));
}

#[tokio::test]
async fn pages_of_history_are_cut_where_they_become_large() {
    let service = Service::start().await;
    acquire_shared(&service, 400).await;
    let evict = EvictRequest { name: "shared".to_owned(), operator: "root".to_owned(), ..EvictRequest::default() };
    LockServiceClient::new(service.channel.clone()).evict(evict).await.expect("allowed");
    let mut request =
        ListHistoryRequest { name: "shared".to_owned(), page_size: 1_000, ..ListHistoryRequest::default() };
    let (mut seen, mut pages) = (0, 0);
    loop {
        let page = service.history(request.clone()).await.expect("listed");
        assert!(page.encoded_len() < PAGE + MESSAGE, "{}", page.encoded_len());
        (seen, pages) = (seen + page.entries.len(), pages + 1);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert!(seen == 400 && pages > 1, "{seen} in {pages}");
}

#[tokio::test]
async fn snapshot_begins_anew_if_history_is_lost_while_it_is_sent() {
    let service = Service::start().await;
    let name = |number: usize| format!("lock/{number:04}");
    for number in 0..5 {
        acquire(&service, &format!("s{number}"), &[name(number)], Mode::Exclusive, 1_000).await;
    }
    let kept = service.revision().await;
    for number in 5..1_500 {
        acquire(&service, &format!("s{number}"), &[name(number)], Mode::Exclusive, 1_000).await;
    }
    let mut reader = Reader::start(&service, WatchRequest::default()).await;
    let Kind::Snapshot(part) = reader.next().await else { panic!("a snapshot comes first") };
    assert!(part.more && part.locks.len() > 5, "{} locks", part.locks.len());
    service.database.restore_to("default", tenure_core::Revision(kept));
    acquire(&service, "next", &["next".to_owned()], Mode::Exclusive, 10).await;
    let (mut seen, mut is_gone) = (names_of(&part), false);
    loop {
        match reader.next().await {
            Kind::Snapshot(part) => {
                seen.extend(names_of(&part));
                if !part.more {
                    break;
                }
            }
            Kind::HistoryGone(gone) => {
                assert_eq!(gone.cause(), HistoryGoneCause::Lost);
                seen.clear();
                is_gone = true;
            }
            other => panic!("{other:?}"),
        }
    }
    let expected: BTreeSet<String> = holders(&service).await.0.into_keys().collect();
    assert!(is_gone);
    assert_eq!(seen, expected);
}

fn names_of(part: &Snapshot) -> BTreeSet<String> {
    part.locks.iter().map(|lock| lock.name.clone()).collect()
}

#[tokio::test]
async fn names_of_all_watches_are_bounded() {
    let service = Service::start().await;
    let open = async |number: usize| {
        let prefixes = (0..100).map(|at| format!("{number:03}/{at:02}/{:x>248}", "")).collect();
        service.watch(WatchRequest { prefixes, ..WatchRequest::default() }).await
    };
    let mut watches = Vec::new();
    let refused = loop {
        match open(watches.len()).await {
            Ok(watch) => watches.push(watch),
            Err(status) => break status,
        }
        assert!(watches.len() < 900, "{} watches of 100 prefixes of 255 bytes", watches.len());
    };
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("names and prefixes"), "{refused:?}");
    assert!(watches.len() > 700, "{} watches", watches.len());
    watches.pop();
    let number = watches.len();
    // The closed watch no longer counts.
    within(async { while open(number).await.is_err() {} }).await;
}

#[tokio::test]
async fn blockers_that_do_not_fit_are_reported_as_truncated() {
    let service = Service::start().await;
    acquire_shared(&service, 20).await;
    let request = AcquireRequest {
        names: vec!["shared".to_owned()],
        session_id: "waiter".to_owned(),
        ttl: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
        ..AcquireRequest::default()
    };
    let mut locks = LockServiceClient::new(service.channel.clone());
    let waiting = tokio::spawn({
        let mut locks = locks.clone();
        async move { locks.acquire(request).await }
    });
    let listed = async {
        loop {
            let listed = locks.list_blocked(ListBlockedRequest::default()).await.expect("listed").into_inner();
            if let Some(blocked) = listed.blocked.into_iter().next() {
                return blocked;
            }
        }
    };
    let blocked = tokio::time::timeout(Duration::from_secs(30), listed).await.expect("it waits");
    assert!(blocked.truncated && (10..20).contains(&blocked.blocked_by.len()), "{}", blocked.blocked_by.len());
    waiting.abort();
}
