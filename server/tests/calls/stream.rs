//! A client's stream.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::{
    AcquireRequest, Answer, Command, OpenSessionRequest, ReleaseRequest, StreamRequest, StreamResponse,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::calls::cluster::Caller;
use crate::serving::within;

pub struct ClientStream {
    requests: mpsc::Sender<StreamRequest>,
    responses: Streaming<StreamResponse>,
    /// Replies of the last message that were not consumed yet.
    answers: VecDeque<Answer>,
}

impl ClientStream {
    /// Opens a stream with a session `ann` in each of these namespaces.
    pub async fn open(caller: &Caller, namespaces: &[&str]) -> Self {
        let (requests, outgoing) = mpsc::channel(8);
        let mut client = ClientServiceClient::new(caller.channel.clone());
        let responses = within(client.stream(ReceiverStream::new(outgoing))).await.expect("a stream").into_inner();
        let mut stream = Self { requests, responses, answers: VecDeque::new() };
        for (number, namespace) in (1..).zip(namespaces) {
            let open = OpenSessionRequest {
                namespace: (*namespace).to_owned(),
                session_id: "ann".to_owned(),
                ttl: Some(Duration::from_secs(600).try_into().expect("short")),
                ..OpenSessionRequest::default()
            };
            stream.send([(number, Kind::OpenSession(open))]).await;
            stream.answers([number]).await;
        }
        stream
    }

    /// Sends commands in one message.
    pub async fn send(&self, commands: impl IntoIterator<Item = (u64, Kind)>) {
        let commands =
            commands.into_iter().map(|(id, kind)| Command { id, kind: Some(kind), ..Command::default() }).collect();
        self.requests.send(StreamRequest { commands }).await.expect("open");
    }

    /// Sends a command, and waits for its first reply. Other replies and notices are dropped.
    pub async fn ask(&mut self, id: u64, kind: Kind) -> Answered {
        self.send([(id, kind)]).await;
        loop {
            let (other, kind) = self.next().await;
            if other == id {
                return kind;
            }
        }
    }

    /// Closes the sending half.
    pub fn close_requests(&mut self) {
        self.requests = mpsc::channel(1).0;
    }

    /// Waits for the replies to these commands; no other reply may arrive.
    pub async fn answers(&mut self, ids: impl IntoIterator<Item = u64>) -> BTreeMap<u64, Answered> {
        let mut missing: Vec<u64> = ids.into_iter().collect();
        let mut answers = BTreeMap::new();
        while !missing.is_empty() {
            let (id, kind) = self.next().await;
            assert!(missing.contains(&id), "unexpected: {id}: {kind:?}");
            missing.retain(|other| *other != id);
            answers.insert(id, kind);
        }
        answers
    }

    /// Waits for the next reply.
    pub async fn next(&mut self) -> (u64, Answered) {
        loop {
            if let Some(answer) = self.answers.pop_front() {
                return (answer.id, answer.kind.expect("a kind"));
            }
            let response = within(self.responses.message()).await.expect("no error").expect("not the end");
            self.answers.extend(response.answers);
        }
    }

    /// Waits for the end of the stream.
    pub async fn end(&mut self) -> Status {
        loop {
            if let Err(status) = within(self.responses.message()).await {
                return status;
            }
        }
    }
}

/// An acquire in the session `ann`.
pub fn acquire(namespace: &str, name: &str) -> Kind {
    Kind::Acquire(AcquireRequest {
        namespace: namespace.to_owned(),
        names: vec![name.to_owned()],
        session_id: "ann".to_owned(),
        ..AcquireRequest::default()
    })
}

/// A release of a hold of the session `ann`.
pub fn release(namespace: &str, name: &str, token: u64) -> Kind {
    let (namespace, name, session_id) = (namespace.to_owned(), name.to_owned(), "ann".to_owned());
    Kind::Release(ReleaseRequest { namespace, name, session_id, token })
}

/// The token of an acquire that was granted.
pub fn token(answer: &Answered) -> u64 {
    match answer {
        Answered::Acquire(acquired) if acquired.acquired => acquired.token,
        answer => panic!("not acquired: {answer:?}"),
    }
}

/// The reason why a command was rejected.
pub fn refused(answer: &Answered) -> &str {
    match answer {
        Answered::Refusal(refusal) => &refusal.reason,
        answer => panic!("not refused: {answer:?}"),
    }
}
