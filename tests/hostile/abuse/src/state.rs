//! The server's state, as a caller with all permissions sees it.

use std::str::FromStr;
use std::time::Duration;

use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{ListLocksRequest, ListSessionsRequest};
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

/// The timeout of a read.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How a client connects to the server.
#[derive(Clone)]
pub(crate) struct ClientConfig {
    pub(crate) endpoint: Endpoint,
    pub(crate) bearer: Option<String>,
}

impl ClientConfig {
    pub(crate) async fn connect(&self) -> Result<Channel, tonic::transport::Error> {
        self.endpoint.clone().timeout(TIMEOUT).connect().await
    }

    /// Builds a request with the credentials.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let bearer =
            self.bearer.as_ref().and_then(|token| AsciiMetadataValue::from_str(&format!("Bearer {token}")).ok());
        if let Some(bearer) = bearer {
            request.metadata_mut().insert("authorization", bearer);
        }
        request
    }

    /// The revision of the default namespace, its locks with their holders, and its sessions; over a new connection.
    pub(crate) async fn state(&self) -> Result<String, Status> {
        let channel = self.connect().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let all = ListLocksRequest { page_size: 1_000, ..ListLocksRequest::default() };
        let locks = LockServiceClient::new(channel.clone()).list_locks(self.request(all)).await?.into_inner();
        let all = ListSessionsRequest { page_size: 1_000, ..ListSessionsRequest::default() };
        let sessions = SessionServiceClient::new(channel).list_sessions(self.request(all)).await?.into_inner();
        let held = locks.locks.iter().flat_map(|lock| {
            lock.holders.iter().map(|holder| format!("{} {} {}", lock.name, holder.session_id, holder.token))
        });
        let held: Vec<String> = held.collect();
        let sessions: Vec<String> = sessions.sessions.into_iter().map(|session| session.id).collect();
        Ok(format!("revision {}, {held:?}, sessions {sessions:?}", locks.revision))
    }
}
