//! Rights on names: those that an identity may act on, and those that it may see.

use crate::access::calls::{Call, all, ttl};
use crate::access::requests::{TEAMS, acquire, policy};
use crate::access::service::{Caller, Service, fact, is_forbidden};
use crate::serving::within;
use tenure_proto::v1::*;

#[tokio::test]
async fn right_on_a_name_covers_whole_segments_only() {
    let service =
        Service::start(&["acquire", "read", "watch", "operate", "ann"], &policy("names = [\"team-a\"]")).await;
    let has_a_name = |call: &Call| !call.name.contains("/List") && !call.name.contains("Session");
    for call in all().into_iter().filter(has_a_name) {
        let caller = service.caller(call.verb).await;
        for (name, is_covered) in
            [("team-a", true), ("team-a/x", true), ("team-ab", false), ("team-ab/x", false), ("team", false)]
        {
            let answer = within((call.make)(caller.clone(), name.into(), "s".into())).await;
            assert_eq!(is_forbidden(&answer), !is_covered, "{} on {name}: {answer:?}", call.name);
        }
    }
    // A set requires the right on every name.
    let ann = service.caller("ann").await;
    let both = AcquireRequest {
        names: vec!["team-a/x".into(), "team-b/x".into()],
        session_id: "ann".into(),
        ttl: ttl(),
        ..AcquireRequest::default()
    };
    let refused = within(ann.locks().acquire(both)).await.unwrap_err();
    assert_eq!((fact(&refused, "rule"), fact(&refused, "name")), ("policy".into(), "team-b/x".into()));
    for prefix in ["", "team-a", "team-", "team-ab/"] {
        let watch = WatchRequest { prefixes: vec![prefix.into()], ..WatchRequest::default() };
        let refused = within(ann.watches().watch(watch)).await.unwrap_err();
        assert_eq!(fact(&refused, "name"), format!("{prefix}*"));
    }
    let everything = ann.watches().watch(WatchRequest::default()).await;
    assert_eq!(fact(&everything.unwrap_err(), "name"), "*", "a watch without names is of all names");
}

#[tokio::test]
async fn lists_leave_out_names_that_the_caller_may_not_read() {
    let service = Service::start(&["ann", "bob", "reader"], TEAMS).await;
    let (ann, bob, reader) = (service.caller("ann").await, service.caller("bob").await, service.caller("reader").await);
    acquire(&ann, "team-a/x", "ann").await.unwrap();
    acquire(&bob, "team-b/x", "bob").await.unwrap();
    for (caller, session, group) in [(&ann, "ann", "team-a/g"), (&bob, "bob", "team-b/g")] {
        let (group, session_id) = (group.to_owned(), session.to_owned());
        let join = JoinGroupRequest { group, session_id, ..JoinGroupRequest::default() };
        within(caller.groups().join_group(join)).await.unwrap();
    }
    for (caller, seen) in [(&ann, &["a"][..]), (&bob, &["b"]), (&reader, &["a", "b"])] {
        let listed = within(caller.locks().list_locks(ListLocksRequest::default())).await.unwrap().into_inner();
        assert!(listed.locks.iter().map(|lock| &*lock.name).eq(seen.iter().map(|team| format!("team-{team}/x"))));
        let listed = within(caller.groups().list_groups(ListGroupsRequest::default())).await.unwrap().into_inner();
        assert!(listed.groups.iter().map(|group| &*group.name).eq(seen.iter().map(|team| format!("team-{team}/g"))));
        let listed =
            within(caller.sessions().list_sessions(ListSessionsRequest::default())).await.unwrap().into_inner();
        assert_eq!(listed.sessions.len(), seen.len());
    }
    // Pages are filled with visible names only.
    let page = ListLocksRequest { page_size: 1, ..ListLocksRequest::default() };
    let page = within(bob.locks().list_locks(page)).await.unwrap().into_inner();
    assert_eq!((page.locks[0].name.as_str(), page.next_page_token.as_str()), ("team-b/x", ""));
}

#[tokio::test]
async fn list_blocked_leaves_out_holders_of_locks_that_the_reader_may_not_read() {
    let reads_a = "[[roles.reads-a]]\nverbs = [\"read\"]\nnames = [\"team-a\"]\n\
        [[grants]]\nidentity = \"token:mallory\"\nroles = [\"reads-a\"]\n";
    let service = Service::start(&["ann", "mallory"], &(policy("") + reads_a)).await;
    let (ann, mallory) = (service.caller("ann").await, service.caller("mallory").await);
    acquire(&ann, "hidden/z", "holder").await.unwrap();
    acquire(&ann, "team-a/w", "open").await.unwrap();
    let waiting = tokio::spawn({
        let ann = ann.clone();
        let both = AcquireRequest {
            names: vec!["team-a/w".into(), "hidden/z".into()],
            session_id: "waiter".into(),
            ttl: ttl(),
            ..AcquireRequest::default()
        };
        async move { ann.locks().acquire(both).await }
    });
    let blocked = async |caller: &Caller| {
        let listed = within(caller.locks().list_blocked(ListBlockedRequest::default())).await.unwrap().into_inner();
        let sessions = listed.blocked.into_iter().flat_map(|blocked| blocked.blocked_by);
        sessions.map(|claim| claim.session_id).collect::<Vec<_>>()
    };
    let is_blocked = async {
        while blocked(&ann).await.len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    within(is_blocked).await;
    assert_eq!(blocked(&mallory).await, ["open"]);
    waiting.abort();
}
