//! Invalid input: each kind is rejected with the name of the field and its bound, and changes nothing.

use tenure_proto::v1::{
    AssignGroupRequest, ConfigureGroupRequest, GetGroupRequest, Group, JoinGroupRequest, LeaveGroupRequest,
    ListGroupsRequest, WatchRequest,
};
use tonic::{Code, Status};

use crate::groups::client::{GroupClient, assign_request, join_request, refusal};
use crate::watch::service::Service;

#[track_caller]
fn assert_invalid<T: std::fmt::Debug>(answer: Result<T, Status>, field: &str, bound: &str) {
    let status = answer.expect_err("out of bounds");
    let (code, reason, facts) = refusal(&status);
    assert_eq!((code, reason.as_str()), (Code::InvalidArgument, "INVALID_FIELD"), "{status:?}");
    assert_eq!(facts["field"], field, "{status:?}");
    assert!(facts["bound"].contains(bound), "{facts:?}");
    assert!(status.message().starts_with(&format!("{field}: ")), "{}", status.message());
}

fn long(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Invalid group names: description, field and bound.
fn bad_names() -> Vec<(String, &'static str)> {
    vec![(String::new(), "1 to 255 bytes"), (long(256), "1 to 255 bytes, not 256"), ("a\tb".to_owned(), "control")]
}

/// Invalid session ids.
fn bad_sessions() -> Vec<(String, &'static str)> {
    vec![(long(129), "1 to 128 bytes, not 129"), ("a\nb".to_owned(), "control")]
}

#[tokio::test]
async fn invalid_field_of_a_join_is_rejected() {
    let service = Service::start().await;
    let mut groups = GroupClient::at(&service).groups();
    for (group, bound) in bad_names() {
        assert_invalid(groups.join_group(JoinGroupRequest { group, ..join_request("g", "s") }).await, "group", bound);
    }
    for (session_id, bound) in bad_sessions() {
        let request = JoinGroupRequest { session_id, ..join_request("g", "s") };
        assert_invalid(groups.join_group(request).await, "session_id", bound);
    }
    let no_session = JoinGroupRequest { session_id: String::new(), ttl: None, ..join_request("g", "s") };
    assert_invalid(groups.join_group(no_session).await, "session_id", "ttl");
    let namespace = JoinGroupRequest { namespace: "No".to_owned(), ..join_request("g", "s") };
    assert_invalid(groups.join_group(namespace).await, "namespace", "1 to 63 of a-z");
    let owner = JoinGroupRequest { owner: long(256), ..join_request("g", "s") };
    assert_invalid(groups.join_group(owner).await, "owner", "0 to 255 bytes");
    for (seconds, nanos, bound) in
        [(0, 0, "500ms to 3600s"), (3_600, 1, "500ms to 3600s"), (-1, 0, "negative"), (1, 1_000_000_000, "nanos")]
    {
        let ttl = Some(prost_types::Duration { seconds, nanos });
        assert_invalid(groups.join_group(JoinGroupRequest { ttl, ..join_request("g", "s") }).await, "ttl", bound);
    }
    for (key, value, bound) in
        [("", "v".to_owned(), "1 to 4096"), ("k", long(4_096), "4096 bytes"), ("k", "\0".to_owned(), "control")]
    {
        let metadata = [(key.to_owned(), value)].into();
        let request = JoinGroupRequest { metadata, ..join_request("g", "s") };
        assert_invalid(groups.join_group(request).await, "metadata", bound);
    }
    assert_eq!(service.revision().await, 0, "nothing was changed");
}

#[tokio::test]
async fn invalid_field_of_a_leave_config_or_read_is_rejected() {
    let service = Service::start().await;
    let mut groups = GroupClient::at(&service).groups();
    let leave = LeaveGroupRequest { group: "g".to_owned(), session_id: "s".to_owned(), ..LeaveGroupRequest::default() };
    let config = ConfigureGroupRequest {
        group: "g".to_owned(),
        config: Some("v".to_owned()),
        ..ConfigureGroupRequest::default()
    };
    for (group, bound) in bad_names() {
        let request = LeaveGroupRequest { group: group.clone(), ..leave.clone() };
        assert_invalid(groups.leave_group(request).await, "group", bound);
        let request = ConfigureGroupRequest { group: group.clone(), ..config.clone() };
        assert_invalid(groups.configure_group(request).await, "group", bound);
        let request = GetGroupRequest { group, ..GetGroupRequest::default() };
        assert_invalid(groups.get_group(request).await, "group", bound);
    }
    for (session_id, bound) in bad_sessions().into_iter().chain([(String::new(), "1 to 128 bytes")]) {
        let request = LeaveGroupRequest { session_id, ..leave.clone() };
        assert_invalid(groups.leave_group(request).await, "session_id", bound);
    }
    let member = LeaveGroupRequest { member: 1 << 63, ..leave };
    assert_invalid(groups.leave_group(member).await, "member", "0 to 9223372036854775807");
    for (value, bound) in [(long(65_537), "0 to 65536 bytes, not 65537"), ("\u{7}".to_owned(), "control")] {
        let request = ConfigureGroupRequest { config: Some(value), ..config.clone() };
        assert_invalid(groups.configure_group(request).await, "config", bound);
    }
    let expected = ConfigureGroupRequest { expected_revision: Some(u64::MAX), ..config };
    assert_invalid(groups.configure_group(expected).await, "expected_revision", "0 to 9223372036854775807");
    for page_size in [-1, 1_001] {
        let request = ListGroupsRequest { page_size, ..ListGroupsRequest::default() };
        assert_invalid(groups.list_groups(request).await, "page_size", "0 to 1000");
    }
    let request = ListGroupsRequest { prefix: long(256), ..ListGroupsRequest::default() };
    assert_invalid(groups.list_groups(request).await, "prefix", "0 to 255 bytes");
    let request = ListGroupsRequest { page_token: "forged".to_owned(), ..ListGroupsRequest::default() };
    assert_invalid(groups.list_groups(request).await, "page_token", "next_page_token");
    for (group, bound) in bad_names() {
        let request = WatchRequest { groups: vec!["g".to_owned(), group], ..WatchRequest::default() };
        assert_invalid(service.watch(request).await, "groups[1]", bound);
    }
    let request = WatchRequest { groups: vec!["g".to_owned(); 101], ..WatchRequest::default() };
    assert_invalid(service.watch(request).await, "groups", "0 to 100 of them, not 101");
    assert_eq!(service.revision().await, 0, "nothing was changed");
}

/// An assignment by the leader of a group, modified by `change`.
fn assign(group: &Group, change: impl FnOnce(&mut AssignGroupRequest)) -> AssignGroupRequest {
    let mut request = assign_request(group, "x");
    change(&mut request);
    request
}

#[tokio::test]
async fn invalid_field_of_an_assignment_is_rejected() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    client.join("g", "ann").await;
    client.join("g", "bob").await;
    let group = client.get("g").await;
    let before = service.revision().await;
    let mut groups = client.groups();
    for (name, bound) in bad_names() {
        let request = assign(&group, |request| request.group = name);
        assert_invalid(groups.assign_group(request).await, "group", bound);
    }
    for (session, bound) in bad_sessions() {
        let request = assign(&group, |request| request.session_id = session);
        assert_invalid(groups.assign_group(request).await, "session_id", bound);
    }
    for (token, bound) in [(0, "1 to"), (u64::MAX, "1 to"), (before + 1, "at most")] {
        let request = assign(&group, |request| request.token = token);
        assert_invalid(groups.assign_group(request).await, "token", bound);
    }
    for membership in [0, 1 << 63] {
        let request = assign(&group, |request| request.membership_revision = membership);
        assert_invalid(groups.assign_group(request).await, "membership_revision", "1 to 9223372036854775807");
    }
    let request = assign(&group, |request| request.config_revision = 1 << 63);
    assert_invalid(groups.assign_group(request).await, "config_revision", "0 to 9223372036854775807");

    let (first, second) = (group.members[0].number, group.members[1].number);
    let request = assign(&group, |request| drop(request.assignments.remove(&second)));
    let missing = format!("every member exactly once: {second} is missing");
    assert_invalid(groups.assign_group(request).await, "assignments", &missing);
    let request = assign(&group, |request| drop(request.assignments.insert(second + 1, String::new())));
    let not_member = format!("every member exactly once: {} is not a member", second + 1);
    assert_invalid(groups.assign_group(request).await, "assignments", &not_member);
    let request = assign(&group, |request| drop(request.assignments.insert(first, long(16_385))));
    let field = format!("assignments[{first}]");
    assert_invalid(groups.assign_group(request).await, &field, "0 to 16384 bytes, not 16385");
    let request = assign(&group, |request| drop(request.assignments.insert(first, "\0".to_owned())));
    assert_invalid(groups.assign_group(request).await, &field, "control");
    let request = assign(&group, |request| {
        request.assignments = (0..65).map(|number| (number, long(16_384))).collect();
    });
    assert_invalid(groups.assign_group(request).await, "assignments", "together at most 1048576 bytes");
    assert_eq!(service.revision().await, before, "nothing was changed");
    assert_eq!(client.get("g").await, group);
}
