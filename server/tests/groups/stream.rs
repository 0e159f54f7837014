//! The group commands of the clients' stream: they have the same effects as the plain calls.

use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::{ConfigureGroupRequest, GetGroupRequest, KeepAliveRequest, LeaveGroupRequest, WatchRequest};

use crate::calls::cluster::Caller;
use crate::calls::stream::ClientStream;
use crate::groups::client::{GroupClient, assign_request, assignments_of, join_request};
use crate::watch::service::Service;

#[tokio::test]
async fn group_commands_on_a_stream_have_the_effects_of_the_calls() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let mut stream = ClientStream::open(&Caller { channel: service.channel.clone() }, &[]).await;
    let Answered::JoinGroup(joined) = stream.ask(1, Kind::JoinGroup(join_request("g", "ann"))).await else {
        panic!("not joined")
    };
    let session_ids = vec!["ann".to_owned()];
    let keep = KeepAliveRequest { session_ids, ..KeepAliveRequest::default() };
    let Answered::KeepAlive(kept) = stream.ask(2, Kind::KeepAlive(keep)).await else { panic!("not renewed") };
    assert_eq!(kept.sessions[0].refusal, None, "joining has attached the session to the stream");

    let config = Some("1000".to_owned());
    let request = ConfigureGroupRequest { group: "g".to_owned(), config, ..ConfigureGroupRequest::default() };
    let Answered::ConfigureGroup(configured) = stream.ask(3, Kind::ConfigureGroup(request)).await else {
        panic!("not configured")
    };
    let get = GetGroupRequest { group: "g".to_owned(), ..GetGroupRequest::default() };
    let Answered::GetGroup(got) = stream.ask(4, Kind::GetGroup(get)).await else { panic!("not read") };
    let group = got.group.expect("a group");
    assert_eq!(group, client.get("g").await);
    assert_eq!(group.config_revision, configured.config_revision);
    let Answered::Assign(_) = stream.ask(5, Kind::Assign(assign_request(&group, "1000"))).await else {
        panic!("not assigned")
    };
    assert_eq!(assignments_of(&client.get("g").await), [("ann", Some("1000"))]);

    client.join("g", "bob").await;
    let Answered::Refusal(stale) = stream.ask(6, Kind::Assign(assign_request(&group, "x"))).await else {
        panic!("not rejected")
    };
    assert_eq!(stale.reason, "STALE_ASSIGNMENT");
    let watch = WatchRequest { groups: vec!["g".to_owned()], ..WatchRequest::default() };
    let Answered::Watch(watched) = stream.ask(7, Kind::Watch(watch)).await else { panic!("no snapshot") };
    assert!(watched.kind.is_some());

    let leave = |member| LeaveGroupRequest {
        group: "g".to_owned(),
        session_id: "ann".to_owned(),
        member,
        ..LeaveGroupRequest::default()
    };
    let Answered::LeaveGroup(_) = stream.ask(8, Kind::LeaveGroup(leave(joined.member))).await else {
        panic!("not left")
    };
    assert_eq!(assignments_of(&client.get("g").await), [("bob", None)]);
    let Answered::Refusal(refused) = stream.ask(9, Kind::LeaveGroup(leave(7_777))).await else {
        panic!("not a member")
    };
    assert_eq!(refused.reason, "NOT_MEMBER");
}
