//! The client end of a stream, without the library: it sends messages without waiting for states.

use std::time::Duration;

use anyhow::{Context, bail};
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state::Kind as State;
use tenure_proto::v1::{ConnectRequest, ConnectResponse, Declaration, DeclaredSession, Hello};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Endpoint;

/// The number of messages queued for the connection.
const MESSAGES: usize = 16;

/// How long a server may take to reply to a new connection.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The client end of a stream, on its own connection.
pub struct ClientStream {
    /// The outgoing messages.
    pub requests: mpsc::Sender<ConnectRequest>,
    /// The incoming messages.
    pub responses: Streaming<ConnectResponse>,
}

impl ClientStream {
    /// Connects with these sessions, whose numbers begin with 1.
    ///
    /// # Errors
    /// If the server cannot be reached, or rejects a session.
    pub async fn open(url: &str, sessions: &[String], ttl: Duration) -> anyhow::Result<Self> {
        let channel = Endpoint::from_shared(url.to_owned())?.tcp_nodelay(true).connect().await.context("connecting")?;
        let (requests, outgoing) = mpsc::channel(MESSAGES);
        let ttl = ttl.try_into().ok();
        let declared = (1..).zip(sessions).map(|(session, id)| {
            let open = Some(DeclaredSession { session_id: id.clone(), ttl, ..DeclaredSession::default() });
            Declaration { session, open, ..Declaration::default() }
        });
        let client_id = format!("the client of {}", sessions.join(" ")).chars().take(128).collect();
        let hello = Hello { client_id, epoch: 1, declared: declared.collect(), ..Hello::default() };
        requests.send(ConnectRequest { kind: Some(Sent::Hello(hello)) }).await?;
        let responses = ClientServiceClient::new(channel).connect(ReceiverStream::new(outgoing)).await?.into_inner();
        let mut stream = Self { requests, responses };
        let mut missing = sessions.len();
        while missing > 0 {
            let received = timeout(TIMEOUT, stream.receive()).await.context("sessions take too long to open")??;
            let Received::States(states) = received else { continue };
            for state in states.states {
                match state.kind {
                    Some(State::Open(_)) => missing -= 1,
                    other => bail!("a session was not opened: {other:?}"),
                }
            }
        }
        Ok(stream)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If the stream has ended.
    pub async fn send(&self, kind: Sent) -> anyhow::Result<()> {
        self.requests.send(ConnectRequest { kind: Some(kind) }).await.context("the stream has ended")
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// If the stream has ended.
    pub async fn receive(&mut self) -> anyhow::Result<Received> {
        let message = self.responses.message().await.context("the stream broke")?;
        message.context("the server has ended the stream")?.kind.context("a message without content")
    }
}
