//! The client end of a stream, without the library: it sends messages without waiting for replies.

use std::time::Duration;

use anyhow::{Context, bail};
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::command::Kind;
use tenure_proto::v1::{Answer, Command, OpenSessionRequest, StreamRequest, StreamResponse};
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
    pub requests: mpsc::Sender<StreamRequest>,
    /// The incoming messages.
    pub responses: Streaming<StreamResponse>,
}

impl ClientStream {
    /// Opens a stream with these sessions.
    ///
    /// # Errors
    /// If the server cannot be reached, or rejects a session.
    pub async fn open(url: &str, sessions: &[String], ttl: Duration) -> anyhow::Result<Self> {
        let channel = Endpoint::from_shared(url.to_owned())?.tcp_nodelay(true).connect().await.context("connecting")?;
        let (requests, outgoing) = mpsc::channel(MESSAGES);
        let responses = ClientServiceClient::new(channel).stream(ReceiverStream::new(outgoing)).await?.into_inner();
        let mut stream = Self { requests, responses };
        let open = (1..).zip(sessions).map(|(id, session)| {
            let request = OpenSessionRequest {
                session_id: session.clone(),
                ttl: ttl.try_into().ok(),
                ..OpenSessionRequest::default()
            };
            (id, Kind::OpenSession(request))
        });
        stream.send(open).await?;
        let mut missing = sessions.len();
        while missing > 0 {
            let answers = timeout(TIMEOUT, stream.receive()).await.context("sessions take too long to open")??;
            for answer in answers {
                match answer.kind {
                    Some(Answered::OpenSession(_)) => missing -= 1,
                    other => bail!("a session was not opened: {other:?}"),
                }
            }
        }
        Ok(stream)
    }

    /// Sends commands in one message.
    ///
    /// # Errors
    /// If the stream has ended.
    pub async fn send(&self, commands: impl IntoIterator<Item = (u64, Kind)>) -> anyhow::Result<()> {
        let commands =
            commands.into_iter().map(|(id, kind)| Command { id, kind: Some(kind), ..Command::default() }).collect();
        self.requests.send(StreamRequest { commands }).await.context("the stream has ended")
    }

    /// Waits for the next message, and returns its answers.
    ///
    /// # Errors
    /// If the stream has ended.
    pub async fn receive(&mut self) -> anyhow::Result<Vec<Answer>> {
        let message = self.responses.message().await.context("the stream broke")?;
        Ok(message.context("the server has ended the stream")?.answers)
    }
}
