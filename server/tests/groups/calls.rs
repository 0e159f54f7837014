//! The plain calls.

use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{
    ConfigureGroupRequest, GetSessionRequest, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest,
};
use tonic::Code;

use crate::groups::club::{Club, assigning, facts, joining, refusal, roll};
use crate::watch::office::Office;

#[tokio::test]
async fn a_group_has_members_a_leader_a_config_and_assignments() {
    let office = Office::open().await;
    let club = Club::at(&office);
    let empty = club.get("g").await;
    assert_eq!((empty.leader, empty.members.len(), empty.config), (None, 0, None), "that is no error");

    let ann = club.join("g", "ann").await;
    let bob = club.join("g", "bob").await;
    assert!(bob.member > ann.member);
    let again = club.join("g", "ann").await;
    assert_eq!(again.member, ann.member, "asking again gives the membership that is there");
    let config = club.configure("g", Some("1000")).await;
    let group = club.get("g").await;
    let leader = group.leader.clone().expect("somebody leads");
    assert_eq!((leader.member, leader.session_id.as_str(), leader.token), (ann.member, "ann", ann.member));
    assert_eq!(leader.owner, "owner of ann");
    assert_eq!((group.membership_revision, group.config_revision), (bob.member, config));
    assert!(!group.assignments_current);

    let assigned = club.assign(&group, "500").await.expect("ann leads");
    assert_eq!(club.assign(&group, "500").await.expect("once more"), assigned, "repeating it changes nothing");
    let group = club.get("g").await;
    assert_eq!(roll(&group), [("ann", Some("500")), ("bob", Some("500"))]);
    assert_eq!(group.config.as_deref(), Some("1000"));
    assert_eq!(group.assignments_revision, assigned.assignments_revision);
    assert_eq!((group.assigned_membership_revision, group.assigned_config_revision), (bob.member, config));
    assert!(group.assignments_current);

    club.close("ann").await;
    let group = club.get("g").await;
    let leader = group.leader.clone().expect("bob leads");
    assert_eq!((leader.member, leader.token), (bob.member, group.membership_revision));
    assert_eq!(roll(&group), [("bob", Some("500"))]);
    assert!(!group.assignments_current, "bob keeps what it has until the next assignment");
    club.leave("g", "bob").await;
    club.leave("g", "bob").await;
    let group = club.get("g").await;
    assert_eq!((group.leader, group.config.as_deref()), (None, Some("1000")), "the config outlives the members");
    assert_eq!(club.configure("g", None).await, 0);
    let list = club.groups().list_groups(ListGroupsRequest::default()).await.expect("listed").into_inner();
    assert_eq!(list.groups, [], "nothing is left of it");
}

#[tokio::test]
async fn what_may_not_be_is_refused_with_the_facts() {
    let office = Office::open().await;
    let club = Club::at(&office);
    let ann = club.join("g", "ann").await.group.expect("a group");
    let bob = club.join("g", "bob").await.group.expect("a group");
    let config = club.configure("g", Some("1")).await;
    let stale = club.assign(&ann, "x").await.expect_err("bob has joined");
    let (membership, config) = (bob.membership_revision.to_string(), config.to_string());
    let current = facts(&[("group", "g"), ("membership_revision", &membership), ("config_revision", &config)]);
    assert_eq!(refusal(&stale), (Code::Aborted, "STALE_ASSIGNMENT".to_owned(), current));

    let group = club.get("g").await;
    club.close("ann").await;
    club.join("g", "ann").await;
    let token = group.leader.clone().expect("somebody led").token.to_string();
    let deposed = club.assign(&group, "late").await.expect_err("bob leads");
    let told = facts(&[("group", "g"), ("session_id", "ann"), ("token", &token), ("leader", "bob")]);
    assert_eq!(refusal(&deposed), (Code::FailedPrecondition, "NOT_LEADER".to_owned(), told));
    assert!(deposed.message().contains("session \"bob\" leads it"), "{}", deposed.message());
    assert_eq!(roll(&club.get("g").await), [("bob", None), ("ann", None)], "it changed nothing");

    let request = ConfigureGroupRequest {
        group: "g".to_owned(),
        config: Some("2".to_owned()),
        expected_revision: Some(0),
        ..ConfigureGroupRequest::default()
    };
    let conflict = club.groups().configure_group(request).await.expect_err("there is one");
    let told = facts(&[("group", "g"), ("config_revision", &config)]);
    assert_eq!(refusal(&conflict), (Code::Aborted, "CONFIG_CONFLICT".to_owned(), told));

    club.join("other", "cid").await;
    let (group, session_id) = ("g".to_owned(), "cid".to_owned());
    let request = LeaveGroupRequest { group, session_id, ..LeaveGroupRequest::default() };
    let stranger = club.groups().leave_group(request.clone()).await.expect_err("no member");
    let told = facts(&[("group", "g"), ("session_id", "cid")]);
    assert_eq!(refusal(&stranger), (Code::FailedPrecondition, "NOT_MEMBER".to_owned(), told));
    let request = LeaveGroupRequest { session_id: "nobody".to_owned(), ..request };
    let unknown = club.groups().leave_group(request).await.expect_err("no session");
    assert_eq!(refusal(&unknown).1, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn joining_opens_a_session_or_renews_it_or_asks_for_an_open_one() {
    let office = Office::open().await;
    let club = Club::at(&office);
    let fresh = JoinGroupRequest { session_id: String::new(), ..joining("g", "") };
    let joined = club.groups().join_group(fresh).await.expect("allowed").into_inner();
    assert!(!joined.session_id.is_empty(), "its id was drawn");
    let without_ttl = |session: &str| JoinGroupRequest { ttl: None, ..joining("h", session) };
    club.groups().join_group(without_ttl(&joined.session_id)).await.expect("it is open");
    let refused = club.groups().join_group(without_ttl("nobody")).await.expect_err("not open");
    assert_eq!(refusal(&refused).1, "SESSION_NOT_FOUND");

    let longer = Some(prost_types::Duration { seconds: 1_200, nanos: 0 });
    let request = JoinGroupRequest { ttl: longer, ..joining("g", &joined.session_id) };
    let again = club.groups().join_group(request).await.expect("allowed").into_inner();
    assert_eq!((again.member, again.ttl), (joined.member, longer));
    let request = GetSessionRequest { session_id: joined.session_id, ..GetSessionRequest::default() };
    let mut sessions = SessionServiceClient::new(office.channel.clone());
    let session = sessions.get_session(request).await.expect("open").into_inner().session.expect("a session");
    assert_eq!(session.ttl, longer, "from now on");
    assert_eq!(session.owner, "owner of ");
}

#[tokio::test]
async fn groups_are_listed_page_by_page_and_large_ones_make_short_pages() {
    let office = Office::open().await;
    let club = Club::at(&office);
    for name in ["b", "a/2", "a/1", "c"] {
        club.join(name, "ann").await;
    }
    let mut seen = Vec::new();
    let mut request = ListGroupsRequest { page_size: 2, ..ListGroupsRequest::default() };
    loop {
        let page = club.groups().list_groups(request.clone()).await.expect("listed").into_inner();
        assert!(page.groups.len() <= 2);
        seen.extend(page.groups.into_iter().map(|group| group.name));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(seen, ["a/1", "a/2", "b", "c"]);
    let prefix = ListGroupsRequest { prefix: "a/".to_owned(), ..ListGroupsRequest::default() };
    let page = club.groups().list_groups(prefix).await.expect("listed").into_inner();
    assert_eq!((page.groups.len(), page.next_page_token.as_str()), (2, ""));

    let large = "x".repeat(65_536);
    for number in 0..40 {
        club.configure(&format!("large{number:02}"), Some(&large)).await;
    }
    let mut request = ListGroupsRequest { prefix: "large".to_owned(), ..ListGroupsRequest::default() };
    let (mut groups, mut pages) = (0, 0);
    loop {
        let page = club.groups().list_groups(request.clone()).await.expect("listed").into_inner();
        (groups, pages) = (groups + page.groups.len(), pages + 1);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!((groups, pages), (40, 3), "16 make a mebibyte, and a page ends after that");
}

#[tokio::test]
async fn another_server_has_the_same_groups_from_the_rows_and_from_the_log() {
    let office = Office::open().await;
    let club = Club::at(&office);
    club.configure("g", Some("1000")).await;
    for session in ["ann", "bob", "cid"] {
        club.join("g", session).await;
    }
    club.assign(&club.get("g").await, "333").await.expect("ann leads");
    club.join("gone", "ann").await;
    office.rows_are_written().await;
    club.leave("gone", "ann").await;
    club.close("bob").await;
    club.join("new", "dot").await;
    let expected = (club.get("g").await, club.get("new").await, club.get("gone").await);
    assert_eq!(roll(&expected.0), [("ann", Some("333")), ("cid", Some("333"))]);
    for wait_for_rows in [false, true] {
        if wait_for_rows {
            office.rows_are_written().await;
        }
        let other = Office::beside(&office).await;
        let other = Club::at(&other);
        assert_eq!((other.get("g").await, other.get("new").await, other.get("gone").await), expected);
    }
    // The other server knows the leader as well.
    let other = Office::beside(&office).await;
    let request = assigning(&expected.0, "500");
    Club::at(&other).groups().assign_group(request).await.expect("ann leads");
    assert_eq!(roll(&club.get("g").await), [("ann", Some("500")), ("cid", Some("500"))]);
}
