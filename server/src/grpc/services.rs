//! Implements tonic's service traits for the plain calls, on top of [`Api`].

use tenure_core::Rejection;
use tenure_proto::v1;
use tenure_proto::v1::group_service_server::{GroupService, GroupServiceServer};
use tenure_proto::v1::lock_service_server::{LockService, LockServiceServer};
use tenure_proto::v1::server_service_server::{ServerService, ServerServiceServer};
use tenure_proto::v1::session_service_server::{SessionService, SessionServiceServer};
use tonic::{Request, Response, Status};

use super::Api;
use super::authorize::{Admitted, Requirement};
use super::connect::ConnectCalls;
use super::status::rejected;
use super::watch::WatchCalls;
use crate::auth::Caller;
use crate::limits::MESSAGE;

impl Api {
    /// All services of the contract.
    #[must_use]
    pub fn routes(&self) -> tonic::service::Routes {
        let mut routes = tonic::service::RoutesBuilder::default();
        routes
            .add_service(LockServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE))
            .add_service(SessionServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE))
            .add_service(GroupServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE))
            .add_service(ServerServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE))
            .add_service(WatchCalls::new(self.clone()))
            .add_service(ConnectCalls::new(self.clone()));
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
        open_session(OpenSessionRequest) -> OpenSessionResponse;
        renew(RenewRequest) -> RenewResponse;
        close_session(CloseSessionRequest) -> CloseSessionResponse;
        get_session(GetSessionRequest) -> GetSessionResponse;
        list_sessions(ListSessionsRequest) -> ListSessionsResponse;
    }
}

service! {
    GroupService {
        join_group(JoinGroupRequest) -> JoinGroupResponse;
        leave_group(LeaveGroupRequest) -> LeaveGroupResponse;
        configure_group(ConfigureGroupRequest) -> ConfigureGroupResponse;
        assign_group(AssignGroupRequest) -> AssignGroupResponse;
        get_group(GetGroupRequest) -> GetGroupResponse;
        list_groups(ListGroupsRequest) -> ListGroupsResponse;
    }
}

async fn acquire(api: &Api, request: Request<v1::AcquireRequest>) -> Result<Response<v1::AcquireResponse>, Status> {
    let (caller, request) = (caller(&request), request.into_inner());
    let watched = caller.is_identified().then(|| request.clone());
    let acquire = caller.carry_out(request, |asked| async move {
        api.check_stays()?;
        Api::acquire(api, asked).await
    });
    tokio::select! {
        biased;
        answer = acquire => Ok(Response::new(answer?)),
        // The queue position is kept for a while, for the client's next call to another server.
        () = api.draining().cancelled() => Err(rejected(Rejection::Draining)),
        status = caller.dismissed(watched) => Err(status),
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
