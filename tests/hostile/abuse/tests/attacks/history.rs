//! Concurrent reads of history by many clients, as after an outage.

use futures::channel::mpsc;
use futures::future::join_all;
use futures::{SinkExt, StreamExt};
use tenure_abuse::{Attack, HEALTHY_NAMESPACE, Target, many};
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::state::Kind as State;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::{
    Change, Changes, ConnectRequest, ConnectResponse, Declaration, DeclaredClaim, DeclaredSession, Hello,
    ListHistoryRequest, WatchRequest, change, connect_request, connect_response,
};
use tonic::Streaming;
use tonic::transport::Channel;

/// The number of locks acquired, and then released, at once: the maximum number of changes in one message.
const LOCKS: u64 = 1_000;

fn namespace() -> String {
    HEALTHY_NAMESPACE.to_owned()
}

/// A client whose session acquires and releases.
struct Churner {
    sender: mpsc::Sender<ConnectRequest>,
    responses: Streaming<ConnectResponse>,
    /// The last number that was declared.
    last: u64,
}

impl Churner {
    async fn open(channel: Channel) -> Self {
        let (mut sender, requests) = mpsc::channel(1);
        let ttl = Some(prost_types::Duration { seconds: 600, nanos: 0 });
        let open = Some(DeclaredSession { session_id: "churner".to_owned(), ttl, ..DeclaredSession::default() });
        let declared = vec![Declaration { session: 1, open, ..Declaration::default() }];
        let client_id = "0123456789abcdef".to_owned();
        let hello = Hello { namespace: namespace(), client_id, epoch: 1, declared, ..Hello::default() };
        sender.send(ConnectRequest { kind: Some(connect_request::Kind::Hello(hello)) }).await.unwrap();
        let responses = ClientServiceClient::new(channel).connect(requests).await.unwrap().into_inner();
        let mut churner = Self { sender, responses, last: 1 };
        churner.wait_for(1, |state| matches!(state, State::Open(_))).await;
        churner
    }

    /// Makes these changes, and waits for as many such states.
    async fn change(&mut self, changes: impl Iterator<Item = change::Kind>, is_done: fn(&State) -> bool) {
        let changes: Vec<Change> = changes.map(|kind| Change { kind: Some(kind), ..Change::default() }).collect();
        let count = changes.len();
        let changes = connect_request::Kind::Changes(Changes { changes });
        self.sender.send(ConnectRequest { kind: Some(changes) }).await.unwrap();
        self.wait_for(count, is_done).await;
    }

    async fn wait_for(&mut self, count: usize, is_done: fn(&State) -> bool) {
        let mut found = 0;
        while found < count {
            if let Some(connect_response::Kind::States(states)) = self.responses.next().await.unwrap().unwrap().kind {
                found += states.states.iter().filter(|state| state.kind.as_ref().is_some_and(is_done)).count();
            }
        }
    }

    /// Acquires and releases all locks: two events per lock.
    async fn round(&mut self) {
        let numbers = self.last + 1..=self.last + LOCKS;
        self.last += LOCKS;
        let acquire = |number| {
            let names = vec![format!("churn/{}", number % LOCKS)];
            let claims = vec![DeclaredClaim { number, names, ..DeclaredClaim::default() }];
            change::Kind::Declare(Declaration { session: 1, claims, ..Declaration::default() })
        };
        self.change(numbers.clone().map(acquire), |state| matches!(state, State::Held(_))).await;
        self.change(numbers.map(change::Kind::Withdraw), |state| matches!(state, State::Ended(_))).await;
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
