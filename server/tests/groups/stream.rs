//! The group commands of the clients' stream: they have the same effects as the plain calls.

use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::{
    Command, ConfigureGroupRequest, GetGroupRequest, KeepAliveRequest, LeaveGroupRequest, StreamRequest,
    StreamResponse, WatchRequest,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::groups::LIMIT;
use crate::groups::client::{GroupClient, assign_request, assignments_of, join_request};
use crate::watch::service::Service;

struct ClientStream {
    requests: mpsc::Sender<StreamRequest>,
    responses: Streaming<StreamResponse>,
    last: u64,
}

impl ClientStream {
    async fn open(service: &Service) -> Self {
        let (requests, outgoing) = mpsc::channel(8);
        let mut client = ClientServiceClient::new(service.channel.clone());
        let responses = client.stream(ReceiverStream::new(outgoing)).await.expect("a stream").into_inner();
        Self { requests, responses, last: 0 }
    }

    async fn ask(&mut self, kind: Kind) -> Answered {
        self.last += 1;
        let commands = vec![Command { id: self.last, kind: Some(kind), ..Command::default() }];
        self.requests.send(StreamRequest { commands }).await.expect("open");
        let answered = async {
            loop {
                let response = self.responses.message().await.expect("no error").expect("not the end");
                if let Some(answer) = response.answers.into_iter().find(|answer| answer.id == self.last) {
                    return answer.kind.expect("a kind");
                }
            }
        };
        tokio::time::timeout(LIMIT, answered).await.expect("in time")
    }
}

#[tokio::test]
async fn group_commands_on_a_stream_have_the_effects_of_the_calls() {
    let service = Service::start().await;
    let client = GroupClient::at(&service);
    let mut stream = ClientStream::open(&service).await;
    let Answered::JoinGroup(joined) = stream.ask(Kind::JoinGroup(join_request("g", "ann"))).await else {
        panic!("not joined")
    };
    let session_ids = vec!["ann".to_owned()];
    let keep = KeepAliveRequest { session_ids, ..KeepAliveRequest::default() };
    let Answered::KeepAlive(kept) = stream.ask(Kind::KeepAlive(keep)).await else { panic!("not renewed") };
    assert_eq!(kept.sessions[0].refusal, None, "joining has attached the session to the stream");

    let config = Some("1000".to_owned());
    let request = ConfigureGroupRequest { group: "g".to_owned(), config, ..ConfigureGroupRequest::default() };
    let Answered::ConfigureGroup(configured) = stream.ask(Kind::ConfigureGroup(request)).await else {
        panic!("not configured")
    };
    let get = GetGroupRequest { group: "g".to_owned(), ..GetGroupRequest::default() };
    let Answered::GetGroup(got) = stream.ask(Kind::GetGroup(get)).await else { panic!("not read") };
    let group = got.group.expect("a group");
    assert_eq!(group, client.get("g").await);
    assert_eq!(group.config_revision, configured.config_revision);
    let Answered::Assign(_) = stream.ask(Kind::Assign(assign_request(&group, "1000"))).await else {
        panic!("not assigned")
    };
    assert_eq!(assignments_of(&client.get("g").await), [("ann", Some("1000"))]);

    client.join("g", "bob").await;
    let Answered::Refusal(stale) = stream.ask(Kind::Assign(assign_request(&group, "x"))).await else {
        panic!("not rejected")
    };
    assert_eq!(stale.reason, "STALE_ASSIGNMENT");
    let watch = WatchRequest { groups: vec!["g".to_owned()], ..WatchRequest::default() };
    let Answered::Watch(watched) = stream.ask(Kind::Watch(watch)).await else { panic!("no snapshot") };
    assert!(watched.kind.is_some());

    let leave = |member| LeaveGroupRequest {
        group: "g".to_owned(),
        session_id: "ann".to_owned(),
        member,
        ..LeaveGroupRequest::default()
    };
    let Answered::LeaveGroup(_) = stream.ask(Kind::LeaveGroup(leave(joined.member))).await else { panic!("not left") };
    assert_eq!(assignments_of(&client.get("g").await), [("bob", None)]);
    let Answered::Refusal(refused) = stream.ask(Kind::LeaveGroup(leave(7_777))).await else { panic!("not a member") };
    assert_eq!(refused.reason, "NOT_MEMBER");
}
