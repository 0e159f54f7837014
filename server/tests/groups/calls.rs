//! The plain calls.

use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{
    ConfigureGroupRequest, GetSessionRequest, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest,
};
use tonic::Code;

use crate::groups::client::{GroupClient, assign_request, assignments_of, facts, join_request, refusal};
use crate::watch::service::Service;

#[tokio::test]
async fn group_has_members_a_leader_a_config_and_assignments() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let empty = client.get("g").await;
    assert_eq!((empty.leader, empty.members.len(), empty.config), (None, 0, None), "an empty group is no error");

    let ann = client.join("g", "ann").await;
    let bob = client.join("g", "bob").await;
    assert!(bob.member > ann.member);
    let again = client.join("g", "ann").await;
    assert_eq!(again.member, ann.member, "a repeated join returns the membership");
    let config = client.configure("g", Some("1000")).await;
    let group = client.get("g").await;
    let leader = group.leader.clone().expect("a leader");
    assert_eq!((leader.member, leader.session_id.as_str(), leader.token), (ann.member, "ann", ann.member));
    assert_eq!(leader.owner, "owner of ann");
    assert_eq!((group.membership_revision, group.config_revision), (bob.member, config));
    assert!(!group.assignments_current);

    let assigned = client.assign(&group, "500").await.expect("ann leads");
    assert_eq!(client.assign(&group, "500").await.expect("repeated"), assigned, "a repetition changes nothing");
    let group = client.get("g").await;
    assert_eq!(assignments_of(&group), [("ann", Some("500")), ("bob", Some("500"))]);
    assert_eq!(group.config.as_deref(), Some("1000"));
    assert_eq!(group.assignments_revision, assigned.assignments_revision);
    assert_eq!((group.assigned_membership_revision, group.assigned_config_revision), (bob.member, config));
    assert!(group.assignments_current);

    client.close("ann").await;
    let group = client.get("g").await;
    let leader = group.leader.clone().expect("bob leads");
    assert_eq!((leader.member, leader.token), (bob.member, group.membership_revision));
    assert_eq!(assignments_of(&group), [("bob", Some("500"))]);
    assert!(!group.assignments_current, "bob keeps what it has until the next assignment");
    client.leave("g", "bob").await;
    client.leave("g", "bob").await;
    let group = client.get("g").await;
    assert_eq!((group.leader, group.config.as_deref()), (None, Some("1000")), "the config outlives the members");
    assert_eq!(client.configure("g", None).await, 0);
    let list = client.groups().list_groups(ListGroupsRequest::default()).await.expect("listed").into_inner();
    assert_eq!(list.groups, [], "the empty group is removed");
}

#[tokio::test]
async fn rejections_of_group_calls_have_their_reason_and_facts() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let ann = client.join("g", "ann").await.group.expect("a group");
    let bob = client.join("g", "bob").await.group.expect("a group");
    let config = client.configure("g", Some("1")).await;
    let stale = client.assign(&ann, "x").await.expect_err("bob has joined");
    let (membership, config) = (bob.membership_revision.to_string(), config.to_string());
    let expected = facts(&[("group", "g"), ("membership_revision", &membership), ("config_revision", &config)]);
    assert_eq!(refusal(&stale), (Code::Aborted, "STALE_ASSIGNMENT".to_owned(), expected));

    let group = client.get("g").await;
    client.close("ann").await;
    client.join("g", "ann").await;
    let token = group.leader.clone().expect("a leader").token.to_string();
    let deposed = client.assign(&group, "late").await.expect_err("bob leads");
    let expected = facts(&[("group", "g"), ("session_id", "ann"), ("token", &token), ("leader", "bob")]);
    assert_eq!(refusal(&deposed), (Code::FailedPrecondition, "NOT_LEADER".to_owned(), expected));
    assert!(deposed.message().contains("session \"bob\" leads it"), "{}", deposed.message());
    assert_eq!(
        assignments_of(&client.get("g").await),
        [("bob", None), ("ann", None)],
        "a rejected assignment changes nothing"
    );

    let request = ConfigureGroupRequest {
        group: "g".to_owned(),
        config: Some("2".to_owned()),
        expected_revision: Some(0),
        ..ConfigureGroupRequest::default()
    };
    let conflict = client.groups().configure_group(request).await.expect_err("a config exists");
    let expected = facts(&[("group", "g"), ("config_revision", &config)]);
    assert_eq!(refusal(&conflict), (Code::Aborted, "CONFIG_CONFLICT".to_owned(), expected));

    client.join("other", "cid").await;
    let (group, session_id) = ("g".to_owned(), "cid".to_owned());
    let request = LeaveGroupRequest { group, session_id, ..LeaveGroupRequest::default() };
    let not_member = client.groups().leave_group(request.clone()).await.expect_err("no member");
    let expected = facts(&[("group", "g"), ("session_id", "cid")]);
    assert_eq!(refusal(&not_member), (Code::FailedPrecondition, "NOT_MEMBER".to_owned(), expected));
    let request = LeaveGroupRequest { session_id: "unknown".to_owned(), ..request };
    let unknown = client.groups().leave_group(request).await.expect_err("no session");
    assert_eq!(refusal(&unknown).1, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn join_opens_a_session_renews_it_or_requires_an_open_one() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let new_session = JoinGroupRequest { session_id: String::new(), ..join_request("g", "") };
    let joined = client.groups().join_group(new_session).await.expect("allowed").into_inner();
    assert!(!joined.session_id.is_empty(), "a generated id");
    let without_ttl = |session: &str| JoinGroupRequest { ttl: None, ..join_request("h", session) };
    client.groups().join_group(without_ttl(&joined.session_id)).await.expect("open");
    let refused = client.groups().join_group(without_ttl("unknown")).await.expect_err("not open");
    assert_eq!(refusal(&refused).1, "SESSION_NOT_FOUND");

    let longer = Some(prost_types::Duration { seconds: 1_200, nanos: 0 });
    let request = JoinGroupRequest { ttl: longer, ..join_request("g", &joined.session_id) };
    let again = client.groups().join_group(request).await.expect("allowed").into_inner();
    assert_eq!((again.member, again.ttl), (joined.member, longer));
    let request = GetSessionRequest { session_id: joined.session_id, ..GetSessionRequest::default() };
    let mut sessions = SessionServiceClient::new(service.channel.clone());
    let session = sessions.get_session(request).await.expect("open").into_inner().session.expect("a session");
    assert_eq!(session.ttl, longer, "from now on");
    assert_eq!(session.owner, "owner of ");
}

#[tokio::test]
async fn groups_are_listed_page_by_page_and_large_ones_make_short_pages() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    for name in ["b", "a/2", "a/1", "c"] {
        client.join(name, "ann").await;
    }
    let mut seen = Vec::new();
    let mut request = ListGroupsRequest { page_size: 2, ..ListGroupsRequest::default() };
    loop {
        let page = client.groups().list_groups(request.clone()).await.expect("listed").into_inner();
        assert!(page.groups.len() <= 2);
        seen.extend(page.groups.into_iter().map(|group| group.name));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(seen, ["a/1", "a/2", "b", "c"]);
    let prefix = ListGroupsRequest { prefix: "a/".to_owned(), ..ListGroupsRequest::default() };
    let page = client.groups().list_groups(prefix).await.expect("listed").into_inner();
    assert_eq!((page.groups.len(), page.next_page_token.as_str()), (2, ""));

    let large = "x".repeat(65_536);
    for number in 0..40 {
        client.configure(&format!("large{number:02}"), Some(&large)).await;
    }
    let mut request = ListGroupsRequest { prefix: "large".to_owned(), ..ListGroupsRequest::default() };
    let (mut groups, mut pages) = (0, 0);
    loop {
        let page = client.groups().list_groups(request.clone()).await.expect("listed").into_inner();
        (groups, pages) = (groups + page.groups.len(), pages + 1);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!((groups, pages), (40, 3), "a page ends after a mebibyte, which is 16 groups");
}

#[tokio::test]
async fn another_server_has_the_same_groups_from_the_rows_and_from_the_log() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    client.configure("g", Some("1000")).await;
    for session in ["ann", "bob", "cid"] {
        client.join("g", session).await;
    }
    client.assign(&client.get("g").await, "333").await.expect("ann leads");
    client.join("gone", "ann").await;
    service.rows_are_written().await;
    client.leave("gone", "ann").await;
    client.close("bob").await;
    client.join("new", "dot").await;
    let expected = (client.get("g").await, client.get("new").await, client.get("gone").await);
    assert_eq!(assignments_of(&expected.0), [("ann", Some("333")), ("cid", Some("333"))]);
    for wait_for_rows in [false, true] {
        if wait_for_rows {
            service.rows_are_written().await;
        }
        let other = Service::peer_of(&service).await;
        let other = GroupClient::at(&other);
        assert_eq!((other.get("g").await, other.get("new").await, other.get("gone").await), expected);
    }
    // The other server knows the leader as well.
    let other = Service::peer_of(&service).await;
    let request = assign_request(&expected.0, "500");
    GroupClient::at(&other).groups().assign_group(request).await.expect("ann leads");
    assert_eq!(assignments_of(&client.get("g").await), [("ann", Some("500")), ("cid", Some("500"))]);
}
