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
use crate::groups::club::{Club, assigning, joining, roll};
use crate::watch::office::Office;

struct Talk {
    requests: mpsc::Sender<StreamRequest>,
    responses: Streaming<StreamResponse>,
    last: u64,
}

impl Talk {
    async fn begin(office: &Office) -> Self {
        let (requests, outgoing) = mpsc::channel(8);
        let mut client = ClientServiceClient::new(office.channel.clone());
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
async fn commands_about_groups_are_answered_as_the_calls_are() {
    let office = Office::open().await;
    let club = Club::at(&office);
    let mut talk = Talk::begin(&office).await;
    let Answered::JoinGroup(joined) = talk.ask(Kind::JoinGroup(joining("g", "ann"))).await else { panic!("joined") };
    let session_ids = vec!["ann".to_owned()];
    let keep = KeepAliveRequest { session_ids, ..KeepAliveRequest::default() };
    let Answered::KeepAlive(kept) = talk.ask(Kind::KeepAlive(keep)).await else { panic!("kept") };
    assert_eq!(kept.sessions[0].refusal, None, "joining has attached the session to the stream");

    let config = Some("1000".to_owned());
    let request = ConfigureGroupRequest { group: "g".to_owned(), config, ..ConfigureGroupRequest::default() };
    let Answered::ConfigureGroup(configured) = talk.ask(Kind::ConfigureGroup(request)).await else { panic!() };
    let get = GetGroupRequest { group: "g".to_owned(), ..GetGroupRequest::default() };
    let Answered::GetGroup(got) = talk.ask(Kind::GetGroup(get)).await else { panic!("read") };
    let group = got.group.expect("a group");
    assert_eq!(group, club.get("g").await);
    assert_eq!(group.config_revision, configured.config_revision);
    let Answered::Assign(_) = talk.ask(Kind::Assign(assigning(&group, "1000"))).await else { panic!("assigned") };
    assert_eq!(roll(&club.get("g").await), [("ann", Some("1000"))]);

    club.join("g", "bob").await;
    let Answered::Refusal(stale) = talk.ask(Kind::Assign(assigning(&group, "x"))).await else { panic!("stale") };
    assert_eq!(stale.reason, "STALE_ASSIGNMENT");
    let watch = WatchRequest { groups: vec!["g".to_owned()], ..WatchRequest::default() };
    let Answered::Watch(told) = talk.ask(Kind::Watch(watch)).await else { panic!("a snapshot") };
    assert!(told.kind.is_some());

    let leave = |member| LeaveGroupRequest {
        group: "g".to_owned(),
        session_id: "ann".to_owned(),
        member,
        ..LeaveGroupRequest::default()
    };
    let Answered::LeaveGroup(_) = talk.ask(Kind::LeaveGroup(leave(joined.member))).await else { panic!("left") };
    assert_eq!(roll(&club.get("g").await), [("bob", None)]);
    let Answered::Refusal(refused) = talk.ask(Kind::LeaveGroup(leave(7_777))).await else { panic!("never was") };
    assert_eq!(refused.reason, "NOT_MEMBER");
}
