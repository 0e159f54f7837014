//! A client's stream, and what it declares.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state::Kind as State;
use tenure_proto::v1::{
    Change, Changes, ConnectRequest, ConnectResponse, Declaration, DeclaredClaim, DeclaredSession, EndReason, Hello,
    KeepAlive, Welcome, change,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use crate::calls::cluster::Caller;
use crate::serving::within;

pub const CLIENT: &str = "0123456789abcdef";
pub const LONG: Duration = Duration::from_secs(600);

/// A client's stream, and the latest states that it has received.
pub struct Stream {
    /// `None`: the client sends no more.
    pub requests: Option<mpsc::Sender<ConnectRequest>>,
    responses: Streaming<ConnectResponse>,
    pub welcome: Welcome,
    pub states: BTreeMap<u64, State>,
}

pub fn hello(client: &str, epoch: u64, known: &[u64], declared: Vec<Declaration>) -> Hello {
    Hello { client_id: client.to_owned(), epoch, known: known.to_vec(), declared, ..Hello::default() }
}

/// A session with this TTL.
pub fn session(number: u64, id: &str, ttl: Duration) -> Declaration {
    let ttl = Some(ttl.try_into().expect("short"));
    let open = Some(DeclaredSession { session_id: id.to_owned(), ttl, ..DeclaredSession::default() });
    Declaration { session: number, open, ..Declaration::default() }
}

/// A claim that waits in the queue.
pub fn claim(number: u64, name: &str) -> DeclaredClaim {
    DeclaredClaim { number, names: vec![name.to_owned()], queue: true, ..DeclaredClaim::default() }
}

pub fn with_claims(declaration: Declaration, claims: impl IntoIterator<Item = DeclaredClaim>) -> Declaration {
    Declaration { claims: claims.into_iter().collect(), ..declaration }
}

/// Claims in a session that was declared before.
pub fn claims(session: u64, claims: impl IntoIterator<Item = DeclaredClaim>) -> change::Kind {
    change::Kind::Declare(with_claims(Declaration { session, ..Declaration::default() }, claims))
}

impl Stream {
    pub async fn connect(caller: &Caller, hello: Hello) -> Result<Self, Status> {
        Self::connect_in_parts(caller, [hello]).await
    }

    pub async fn connect_in_parts(caller: &Caller, parts: impl IntoIterator<Item = Hello>) -> Result<Self, Status> {
        let (requests, outgoing) = mpsc::channel(8);
        let mut client = ClientServiceClient::new(caller.channel.clone());
        for part in parts {
            requests.send(ConnectRequest { kind: Some(Sent::Hello(part)) }).await.expect("open");
        }
        let mut responses = within(client.connect(ReceiverStream::new(outgoing))).await?.into_inner();
        match within(responses.message()).await?.and_then(|response| response.kind) {
            Some(Received::Welcome(welcome)) => {
                Ok(Self { requests: Some(requests), responses, welcome, states: BTreeMap::new() })
            }
            other => panic!("no welcome: {other:?}"),
        }
    }

    /// Connects with a session "ann" of number 1.
    pub async fn with_session(caller: &Caller) -> Self {
        let mut stream =
            Self::connect(caller, hello(CLIENT, 1, &[], vec![session(1, "ann", LONG)])).await.expect("welcome");
        assert!(matches!(stream.state(1).await, State::Open(_)));
        stream
    }

    pub async fn change(&self, changes: impl IntoIterator<Item = change::Kind>) {
        let changes = changes.into_iter().map(|kind| Change { kind: Some(kind), ..Change::default() }).collect();
        self.send(Sent::Changes(Changes { changes })).await;
    }

    pub async fn send(&self, kind: Sent) {
        let requests = self.requests.as_ref().expect("open");
        requests.send(ConnectRequest { kind: Some(kind) }).await.expect("open");
    }

    /// The next message. States are recorded.
    pub async fn next(&mut self) -> Result<Option<Received>, Status> {
        let response = within(self.responses.message()).await?;
        let kind = response.map(|response| response.kind.expect("content"));
        if let Some(Received::States(states)) = &kind {
            for state in &states.states {
                self.states.insert(state.number, state.kind.clone().expect("a state"));
            }
        }
        Ok(kind)
    }

    /// Waits for a state of this number, and returns it.
    pub async fn state(&mut self, number: u64) -> State {
        loop {
            if let Some(state) = self.states.remove(&number) {
                return state;
            }
            self.next().await.expect("a message").expect("a message");
        }
    }

    pub async fn token(&mut self, number: u64) -> u64 {
        match self.state(number).await {
            State::Held(held) => held.token,
            other => panic!("not held: {other:?}"),
        }
    }

    pub async fn assert_waits(&mut self, number: u64) {
        let state = self.state(number).await;
        assert!(matches!(&state, State::Waiting(_)), "{state:?}");
    }

    pub async fn assert_ends(&mut self, number: u64, reason: EndReason) {
        match self.state(number).await {
            State::Ended(ended) => assert_eq!(ended.reason(), reason),
            other => panic!("{number} has not ended: {other:?}"),
        }
    }

    pub async fn rejected(&mut self, number: u64) -> (Code, String) {
        match self.state(number).await {
            State::Rejected(refusal) => (Code::from(refusal.code), refusal.reason),
            other => panic!("{number} was not rejected: {other:?}"),
        }
    }

    /// Renews the client.
    pub async fn keep_alive(&mut self, number: u64) {
        self.send(Sent::KeepAlive(KeepAlive { number })).await;
        loop {
            if let Some(Received::KeptAlive(kept)) = self.next().await.expect("a message") {
                assert_eq!(kept.number, number);
                return;
            }
        }
    }

    /// The status with which the server ends the stream.
    pub async fn end(&mut self) -> Status {
        loop {
            match self.next().await {
                Ok(Some(_)) => {}
                Ok(None) => return Status::ok(""),
                Err(status) => return status,
            }
        }
    }
}
