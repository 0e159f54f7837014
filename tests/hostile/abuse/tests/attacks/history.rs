//! Concurrent reads of history by many clients, as after an outage.

use std::collections::BTreeMap;

use futures::channel::mpsc;
use futures::future::join_all;
use futures::{SinkExt, StreamExt};
use tenure_abuse::{Attack, HEALTHY_NAMESPACE, Target, many};
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{
    AcquireRequest, Answer, Command, ListHistoryRequest, OpenSessionRequest, ReleaseRequest, StreamRequest,
    WatchRequest,
};
use tonic::Streaming;
use tonic::transport::Channel;

/// The number of locks acquired, and then released, at once: the maximum number of commands in one message.
const LOCKS: u64 = 1_000;

fn namespace() -> String {
    HEALTHY_NAMESPACE.to_owned()
}

/// A session that acquires and releases.
struct Churner {
    sender: mpsc::Sender<StreamRequest>,
    answers: Streaming<tenure_proto::v1::StreamResponse>,
}

impl Churner {
    async fn open(channel: Channel) -> Self {
        let (sender, requests) = mpsc::channel(1);
        let answers = ClientServiceClient::new(channel).stream(requests).await.unwrap().into_inner();
        let mut churner = Self { sender, answers };
        let open = OpenSessionRequest {
            namespace: namespace(),
            session_id: "churner".to_owned(),
            ttl: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
            ..OpenSessionRequest::default()
        };
        churner.request([(LOCKS, Kind::OpenSession(open))]).await;
        churner
    }

    /// Sends commands, and returns the answers by command id.
    async fn request(&mut self, commands: impl IntoIterator<Item = (u64, Kind)>) -> BTreeMap<u64, Answered> {
        let command = |(number, kind)| Command { id: number + 1, kind: Some(kind), ..Command::default() };
        let commands: Vec<Command> = commands.into_iter().map(command).collect();
        let (count, mut answered) = (commands.len(), BTreeMap::new());
        self.sender.send(StreamRequest { commands }).await.unwrap();
        while answered.len() < count {
            for Answer { id, kind } in self.answers.next().await.unwrap().unwrap().answers {
                answered.extend(id.checked_sub(1).zip(kind));
            }
        }
        answered
    }

    /// Acquires and releases all locks: two events per lock.
    async fn round(&mut self) {
        let (name, session) = (|number| format!("churn/{number}"), || "churner".to_owned());
        let acquire = |number| {
            let (namespace, names, session_id) = (namespace(), vec![name(number)], session());
            (number, Kind::Acquire(AcquireRequest { namespace, names, session_id, ..AcquireRequest::default() }))
        };
        let acquired = self.request((0..LOCKS).map(acquire)).await;
        let release = |(number, answer)| {
            let Answered::Acquire(acquired) = answer else { panic!("{answer:?}") };
            let (namespace, name, session_id, token) = (namespace(), name(number), session(), acquired.token);
            (number, Kind::Release(ReleaseRequest { namespace, name, session_id, token }))
        };
        self.request(acquired.into_iter().map(release)).await;
    }
}

#[tokio::test]
async fn concurrent_history_reads_do_not_delay_other_clients() {
    let target = Target::start().await.unwrap();
    let channel = Channel::from_shared(format!("http://{}", target.address())).unwrap().connect().await.unwrap();
    let mut churner = Churner::open(channel.clone()).await;
    // More than the server caches in memory.
    let rounds = many(12, 100);
    for _ in 0..rounds {
        churner.round().await;
    }
    let history = || async {
        let name = "churn/7".to_owned();
        let request = ListHistoryRequest { namespace: namespace(), name, page_size: 100, ..Default::default() };
        LockServiceClient::new(channel.clone()).list_history(request).await.unwrap().into_inner().entries.len()
    };
    let resumed = || async {
        let names = vec!["churn/7".to_owned()];
        let request = WatchRequest { namespace: namespace(), names, after_revision: 1, ..WatchRequest::default() };
        let mut watch = WatchServiceClient::new(channel.clone()).watch(request).await.unwrap().into_inner();
        let mut seen = 0;
        while seen < 2 * rounds {
            let kind = watch.message().await.unwrap().unwrap().kind;
            if let Some(tenure_proto::v1::watch_response::Kind::Events(events)) = kind {
                seen += events.events.len();
            }
        }
        seen
    };
    let attack = async { (join_all((0..40).map(|_| history())).await, join_all((0..50).map(|_| resumed())).await) };
    let (listed, seen) = target.run(Attack::named("history reads").may_change(), attack).await;
    assert!(listed.iter().all(|entries| *entries > 0), "{listed:?}");
    assert!(seen.iter().all(|events| *events == 2 * rounds), "{seen:?}");
}
