//! Implements tonic's service traits for the plain calls, on top of [`Api`].

use tenure_core::Rejection;
use tenure_proto::v1;
use tenure_proto::v1::group_service_server::{GroupService, GroupServiceServer};
use tenure_proto::v1::lock_service_server::{LockService, LockServiceServer};
use tenure_proto::v1::server_service_server::{ServerService, ServerServiceServer};
use tenure_proto::v1::session_service_server::{SessionService, SessionServiceServer};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use super::authorize::{Admitted, Requirement};
use super::keep_alive::KeepAliveCalls;
use super::status::rejected;
use super::stream::StreamCalls;
use super::watch::WatchCalls;
use super::{Api, Via};
use crate::auth::Caller;
use crate::limits::MESSAGE;

impl Api {
    /// All services of the contract.
    #[must_use]
    pub fn routes(&self) -> tonic::service::Routes {
        let mut routes = tonic::service::RoutesBuilder::default();
        routes
            .add_service(LockServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE))
            .add_service(KeepAliveCalls::new(
                self.clone(),
                SessionServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE),
            ))
            .add_service(GroupServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE))
            .add_service(ServerServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE))
            .add_service(WatchCalls::new(self.clone()))
            .add_service(StreamCalls::new(self.clone()));
        routes.routes()
    }
}

#[tonic::async_trait]
impl LockService for Api {
    async fn acquire(&self, request: Request<v1::AcquireRequest>) -> Result<Response<v1::AcquireResponse>, Status> {
        let never = &CancellationToken::new();
        let (caller, request) = (caller(&request), request.into_inner());
        let watched = caller.if_identified(|| request.clone());
        let acquire = caller.carry_out(request, |asked| async move {
            self.check_stays()?;
            Self::acquire(self, asked, Via::Call, never).await
        });
        tokio::select! {
            biased;
            answer = acquire => Ok(Response::new(answer?)),
            // The queue position is kept for a while, for the client's next call to another server.
            () = self.draining().cancelled() => Err(rejected(Rejection::Draining)),
            status = caller.dismissed(watched) => Err(status),
        }
    }

    async fn release(&self, request: Request<v1::ReleaseRequest>) -> Result<Response<v1::ReleaseResponse>, Status> {
        carry_out(request, |asked| Self::release(self, asked)).await
    }

    async fn cancel_acquire(
        &self,
        request: Request<v1::CancelAcquireRequest>,
    ) -> Result<Response<v1::CancelAcquireResponse>, Status> {
        carry_out(request, |asked| Self::cancel_acquire(self, asked)).await
    }

    async fn get_lock(&self, request: Request<v1::GetLockRequest>) -> Result<Response<v1::GetLockResponse>, Status> {
        carry_out(request, |asked| Self::get_lock(self, asked)).await
    }

    async fn list_locks(
        &self,
        request: Request<v1::ListLocksRequest>,
    ) -> Result<Response<v1::ListLocksResponse>, Status> {
        carry_out(request, |asked| Self::list_locks(self, asked)).await
    }

    async fn evict(&self, request: Request<v1::EvictRequest>) -> Result<Response<v1::EvictResponse>, Status> {
        carry_out(request, |asked| Self::evict(self, asked)).await
    }

    async fn transfer(&self, request: Request<v1::TransferRequest>) -> Result<Response<v1::TransferResponse>, Status> {
        carry_out(request, |asked| Self::transfer(self, asked)).await
    }

    async fn update_claim(
        &self,
        request: Request<v1::UpdateClaimRequest>,
    ) -> Result<Response<v1::UpdateClaimResponse>, Status> {
        carry_out(request, |asked| Self::update_claim(self, asked)).await
    }

    async fn configure_lock(
        &self,
        request: Request<v1::ConfigureLockRequest>,
    ) -> Result<Response<v1::ConfigureLockResponse>, Status> {
        carry_out(request, |asked| Self::configure_lock(self, asked)).await
    }

    async fn list_blocked(
        &self,
        request: Request<v1::ListBlockedRequest>,
    ) -> Result<Response<v1::ListBlockedResponse>, Status> {
        carry_out(request, |asked| Self::list_blocked(self, asked)).await
    }

    async fn list_history(
        &self,
        request: Request<v1::ListHistoryRequest>,
    ) -> Result<Response<v1::ListHistoryResponse>, Status> {
        carry_out(request, |asked| Self::list_history(self, asked)).await
    }
}

#[tonic::async_trait]
impl ServerService for Api {
    async fn list_servers(
        &self,
        request: Request<v1::ListServersRequest>,
    ) -> Result<Response<v1::ListServersResponse>, Status> {
        carry_out(request, |asked| Self::list_servers(self, asked)).await
    }
}

#[tonic::async_trait]
impl SessionService for Api {
    type KeepAliveStream = tokio_stream::Empty<Result<v1::KeepAliveResponse, Status>>;

    async fn open_session(
        &self,
        request: Request<v1::OpenSessionRequest>,
    ) -> Result<Response<v1::OpenSessionResponse>, Status> {
        let open = async |asked| {
            let (session, _) = Self::open_session(self, asked, Via::Call).await?.read(self).await?;
            Ok(v1::OpenSessionResponse { session: Some(session) })
        };
        carry_out(request, open).await
    }

    async fn renew(&self, request: Request<v1::RenewRequest>) -> Result<Response<v1::RenewResponse>, Status> {
        carry_out(request, |asked| Self::renew(self, asked)).await
    }

    async fn keep_alive(
        &self,
        _: Request<Streaming<v1::KeepAliveRequest>>,
    ) -> Result<Response<Self::KeepAliveStream>, Status> {
        Err(Status::unimplemented("served by KeepAliveCalls"))
    }

    async fn close_session(
        &self,
        request: Request<v1::CloseSessionRequest>,
    ) -> Result<Response<v1::CloseSessionResponse>, Status> {
        carry_out(request, |asked| Self::close_session(self, asked)).await
    }

    async fn get_session(
        &self,
        request: Request<v1::GetSessionRequest>,
    ) -> Result<Response<v1::GetSessionResponse>, Status> {
        carry_out(request, |asked| Self::get_session(self, asked)).await
    }

    async fn list_sessions(
        &self,
        request: Request<v1::ListSessionsRequest>,
    ) -> Result<Response<v1::ListSessionsResponse>, Status> {
        carry_out(request, |asked| Self::list_sessions(self, asked)).await
    }
}

#[tonic::async_trait]
impl GroupService for Api {
    async fn join_group(
        &self,
        request: Request<v1::JoinGroupRequest>,
    ) -> Result<Response<v1::JoinGroupResponse>, Status> {
        carry_out(request, |asked| Self::join_group(self, asked, Via::Call)).await
    }

    async fn leave_group(
        &self,
        request: Request<v1::LeaveGroupRequest>,
    ) -> Result<Response<v1::LeaveGroupResponse>, Status> {
        carry_out(request, |asked| Self::leave_group(self, asked)).await
    }

    async fn configure_group(
        &self,
        request: Request<v1::ConfigureGroupRequest>,
    ) -> Result<Response<v1::ConfigureGroupResponse>, Status> {
        carry_out(request, |asked| Self::configure_group(self, asked)).await
    }

    async fn assign_group(
        &self,
        request: Request<v1::AssignGroupRequest>,
    ) -> Result<Response<v1::AssignGroupResponse>, Status> {
        carry_out(request, |asked| Self::assign_group(self, asked)).await
    }

    async fn get_group(&self, request: Request<v1::GetGroupRequest>) -> Result<Response<v1::GetGroupResponse>, Status> {
        carry_out(request, |asked| Self::get_group(self, asked)).await
    }

    async fn list_groups(
        &self,
        request: Request<v1::ListGroupsRequest>,
    ) -> Result<Response<v1::ListGroupsResponse>, Status> {
        carry_out(request, |asked| Self::list_groups(self, asked)).await
    }
}

fn caller<T>(request: &Request<T>) -> Caller {
    request.extensions().get::<Caller>().cloned().unwrap_or_default()
}

/// Admits a request and executes it.
async fn carry_out<R: Requirement, T, F>(
    request: Request<R>,
    work: impl FnOnce(Admitted<R>) -> F,
) -> Result<Response<T>, Status>
where
    F: Future<Output = Result<T, Status>>,
{
    let caller = caller(&request);
    Ok(Response::new(caller.carry_out(request.into_inner(), work).await?))
}
