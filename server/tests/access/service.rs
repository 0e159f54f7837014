//! A server that knows some tokens and has a policy, and its callers.

use std::path::PathBuf;

use crate::serving::{start, within};
use serde_json::Value;
use tenure_proto::v1::group_service_client::GroupServiceClient;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_server::auth::{AuditOptions, CredentialOptions, new_token};
use tenure_server::server::Server;
use tenure_server::transport::ConnectionLimits;
use tonic::metadata::AsciiMetadataValue;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_types::StatusExt;

/// A client with the credentials of an identity.
#[derive(Clone)]
pub struct Caller {
    pub channel: Channel,
    bearer: AsciiMetadataValue,
}

/// Adds the credentials of a caller to its requests.
#[derive(Clone)]
pub struct Bearer(AsciiMetadataValue);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

type Authenticated = InterceptedService<Channel, Bearer>;

impl Caller {
    pub fn locks(&self) -> LockServiceClient<Authenticated> {
        LockServiceClient::with_interceptor(self.channel.clone(), Bearer(self.bearer.clone()))
    }

    pub fn sessions(&self) -> SessionServiceClient<Authenticated> {
        SessionServiceClient::with_interceptor(self.channel.clone(), Bearer(self.bearer.clone()))
    }

    pub fn groups(&self) -> GroupServiceClient<Authenticated> {
        GroupServiceClient::with_interceptor(self.channel.clone(), Bearer(self.bearer.clone()))
    }

    pub fn watches(&self) -> WatchServiceClient<Authenticated> {
        WatchServiceClient::with_interceptor(self.channel.clone(), Bearer(self.bearer.clone()))
    }

    pub fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", self.bearer.clone());
        request
    }
}

pub struct Service {
    server: Server,
    folder: tempfile::TempDir,
    tokens: Vec<(String, String)>,
}

impl Service {
    /// A server that knows these names, each by a token, under this policy.
    pub async fn start(names: &[&str], policy: &str) -> Self {
        Self::audited(names, policy, false).await
    }

    /// Audits everything, or only operator actions and rejections.
    pub async fn audited(names: &[&str], policy: &str, everything: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tokens: Vec<_> = names.iter().map(|name| ((*name).to_owned(), new_token(name).unwrap())).collect();
        let lines: String = tokens.iter().map(|(_, (_, line))| format!("{line}\n")).collect();
        std::fs::write(folder.path().join("tokens"), lines).unwrap();
        std::fs::write(folder.path().join("policy"), policy).unwrap();
        let credentials = CredentialOptions {
            tokens_file: Some(folder.path().join("tokens")),
            policy: Some(folder.path().join("policy")),
            audit: Some(AuditOptions { file: folder.path().join("audit"), everything }),
            ..CredentialOptions::default()
        };
        let server = start(credentials, ConnectionLimits::default()).await.unwrap();
        let tokens = tokens.into_iter().map(|(name, (token, _))| (name, token)).collect();
        Self { server, folder, tokens }
    }

    /// The value of a metric, given its name and labels.
    pub fn count(&self, series: &str) -> u64 {
        let text = self.server.metrics.text();
        let count = text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
        count.unwrap_or_default()
    }

    fn policy(&self) -> PathBuf {
        self.folder.path().join("policy")
    }

    /// Replaces the policy file atomically, as an editor would. The server reloads it on its own schedule.
    pub fn change_policy(&self, policy: &str) {
        let new = self.folder.path().join("new");
        std::fs::write(&new, policy).unwrap();
        std::fs::rename(new, self.policy()).unwrap();
    }

    /// Returns the records of the audit log, once it has `lines` lines.
    pub async fn audit(&self, lines: usize) -> Vec<Value> {
        let file = self.folder.path().join("audit");
        let read = async {
            loop {
                let text = std::fs::read_to_string(&file).unwrap();
                assert!(self.tokens.iter().all(|(_, token)| !text.contains(token)), "a secret: {text}");
                if text.lines().count() >= lines {
                    return text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                }
                tokio::task::yield_now().await;
            }
        };
        within(read).await
    }

    pub async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.server.grpc_address)).unwrap();
        endpoint.connect().await.unwrap()
    }

    pub async fn caller(&self, name: &str) -> Caller {
        let (_, token) = self.tokens.iter().find(|(known, _)| known == name).unwrap();
        let bearer = format!("Bearer {token}").parse().unwrap();
        Caller { channel: self.channel().await, bearer }
    }
}

/// A fact in the details of a rejection.
pub fn fact(refused: &Status, name: &str) -> String {
    let info = refused.get_details_error_info().unwrap_or_else(|| panic!("no error info: {refused:?}"));
    info.metadata.get(name).cloned().unwrap_or_default()
}

/// Whether the policy forbids a call.
pub fn is_forbidden(answer: &Result<(), Status>) -> bool {
    matches!(answer, Err(refused) if refused.code() == tonic::Code::PermissionDenied && fact(refused, "rule") == "policy")
}
