//! Implements tonic's service traits for the plain calls, on top of [`Api`].

use tenure_core::Rejection;
use tenure_proto::v1;
use tenure_proto::v1::group_service_server::{GroupService, GroupServiceServer};
use tenure_proto::v1::lock_service_server::{LockService, LockServiceServer};
use tenure_proto::v1::server_service_server::{ServerService, ServerServiceServer};
use tenure_proto::v1::session_service_server::SessionService;
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
            .add_service(KeepAliveCalls::new(self.clone()))
            .add_service(GroupServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE))
            .add_service(ServerServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE))
            .add_service(WatchCalls::new(self.clone()))
            .add_service(StreamCalls::new(self.clone()));
        routes.routes()
    }
}

/// Implements a service. Requests of the listed calls are admitted, and then executed by the method of [`Api`] with the
/// same name. The other calls follow the list.
macro_rules! service {
    ($service:ident { $($call:ident($request:ident) -> $response:ident;)* } $($others:tt)*) => {
        #[tonic::async_trait]
        impl $service for Api {
            $($others)*

            $(async fn $call(&self, request: Request<v1::$request>) -> Result<Response<v1::$response>, Status> {
                carry_out(request, |asked| Self::$call(self, asked)).await
            })*
        }
    };
}

service! {
    LockService {
        release(ReleaseRequest) -> ReleaseResponse;
        cancel_acquire(CancelAcquireRequest) -> CancelAcquireResponse;
        get_lock(GetLockRequest) -> GetLockResponse;
        list_locks(ListLocksRequest) -> ListLocksResponse;
        evict(EvictRequest) -> EvictResponse;
        transfer(TransferRequest) -> TransferResponse;
        update_claim(UpdateClaimRequest) -> UpdateClaimResponse;
        configure_lock(ConfigureLockRequest) -> ConfigureLockResponse;
        list_blocked(ListBlockedRequest) -> ListBlockedResponse;
        list_history(ListHistoryRequest) -> ListHistoryResponse;
    }

    async fn acquire(&self, request: Request<v1::AcquireRequest>) -> Result<Response<v1::AcquireResponse>, Status> {
        acquire(self, request).await
    }
}

service! {
    ServerService {
        list_servers(ListServersRequest) -> ListServersResponse;
    }
}

service! {
    SessionService {
        renew(RenewRequest) -> RenewResponse;
        close_session(CloseSessionRequest) -> CloseSessionResponse;
        get_session(GetSessionRequest) -> GetSessionResponse;
        list_sessions(ListSessionsRequest) -> ListSessionsResponse;
    }

    type KeepAliveStream = tokio_stream::Empty<Result<v1::KeepAliveResponse, Status>>;

    async fn open_session(
        &self,
        request: Request<v1::OpenSessionRequest>,
    ) -> Result<Response<v1::OpenSessionResponse>, Status> {
        open_session(self, request).await
    }

    async fn keep_alive(
        &self,
        _: Request<Streaming<v1::KeepAliveRequest>>,
    ) -> Result<Response<Self::KeepAliveStream>, Status> {
        Err(Status::unimplemented("served by KeepAliveCalls"))
    }
}

service! {
    GroupService {
        leave_group(LeaveGroupRequest) -> LeaveGroupResponse;
        configure_group(ConfigureGroupRequest) -> ConfigureGroupResponse;
        assign_group(AssignGroupRequest) -> AssignGroupResponse;
        get_group(GetGroupRequest) -> GetGroupResponse;
        list_groups(ListGroupsRequest) -> ListGroupsResponse;
    }

    async fn join_group(
        &self,
        request: Request<v1::JoinGroupRequest>,
    ) -> Result<Response<v1::JoinGroupResponse>, Status> {
        carry_out(request, |asked| Self::join_group(self, asked, Via::Call)).await
    }
}

async fn acquire(api: &Api, request: Request<v1::AcquireRequest>) -> Result<Response<v1::AcquireResponse>, Status> {
    let never = &CancellationToken::new();
    let (caller, request) = (caller(&request), request.into_inner());
    let watched = caller.is_identified().then(|| request.clone());
    let acquire = caller.carry_out(request, |asked| async move {
        api.check_stays()?;
        Api::acquire(api, asked, Via::Call, never).await
    });
    tokio::select! {
        biased;
        answer = acquire => Ok(Response::new(answer?)),
        // The queue position is kept for a while, for the client's next call to another server.
        () = api.draining().cancelled() => Err(rejected(Rejection::Draining)),
        status = caller.dismissed(watched) => Err(status),
    }
}

async fn open_session(
    api: &Api,
    request: Request<v1::OpenSessionRequest>,
) -> Result<Response<v1::OpenSessionResponse>, Status> {
    let open = async |asked| {
        let (session, _) = Api::open_session(api, asked, Via::Call).await?.read(api).await?;
        Ok(v1::OpenSessionResponse { session: Some(session) })
    };
    carry_out(request, open).await
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
