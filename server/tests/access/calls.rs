//! Every call of the contract: the verb it requires, and how to make it.

use futures::future::BoxFuture;
use tenure_proto::v1::group_service_client::GroupServiceClient;
use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::server_service_client::ServerServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::watch_service_client::WatchServiceClient;
use tenure_proto::v1::*;
use tonic::Status;

use super::service::Caller;

/// A call: its name in the contract, the verb that it requires, whether its result depends on a name, and how to make
/// it for a name in a session.
pub struct Call {
    pub name: &'static str,
    pub verb: &'static str,
    pub make: fn(Caller, String, String) -> BoxFuture<'static, Result<(), Status>>,
}

macro_rules! calls {
    ($($client:ident $service:literal { $($method:ident $call:literal $verb:literal |$name:ident, $session:ident| $request:expr;)* })*) => {
        vec![$($(Call {
            name: concat!("tenure.v1.", $service, "/", $call),
            verb: $verb,
            make: |caller, $name, $session| Box::pin(async move {
                let _ = (&$name, &$session);
                let request = caller.request($request);
                $client::new(caller.channel).$method(request).await.map(drop)
            }),
        },)*)*]
    };
}

pub fn ttl() -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds: 60, nanos: 0 })
}

fn no_wait() -> Option<prost_types::Duration> {
    Some(prost_types::Duration::default())
}

pub fn all() -> Vec<Call> {
    calls! {
        LockServiceClient "LockService" {
            acquire "Acquire" "acquire" |name, session_id| AcquireRequest {
                names: vec![name], session_id, ttl: ttl(), wait: no_wait(), ..AcquireRequest::default()
            };
            release "Release" "acquire" |name, session_id| ReleaseRequest { name, session_id, token: 1, ..ReleaseRequest::default() };
            cancel_acquire "CancelAcquire" "acquire" |name, session_id| CancelAcquireRequest {
                names: vec![name], session_id, ..CancelAcquireRequest::default()
            };
            get_lock "GetLock" "read" |name, session| GetLockRequest { name, ..GetLockRequest::default() };
            list_locks "ListLocks" "read" |name, session| ListLocksRequest { prefix: name, ..ListLocksRequest::default() };
            evict "Evict" "operate" |name, session| EvictRequest { name, operator: "eve".into(), ..EvictRequest::default() };
            transfer "Transfer" "operate" |name, session| TransferRequest { name, operator: "eve".into(), ..TransferRequest::default() };
            transfer "Transfer" "acquire" |name, session_id| TransferRequest { name, session_id, token: 1, ..TransferRequest::default() };
            update_claim "UpdateClaim" "acquire" |name, session_id| UpdateClaimRequest {
                name, session_id, token: 1, ..UpdateClaimRequest::default()
            };
            configure_lock "ConfigureLock" "operate" |name, session| ConfigureLockRequest {
                name, operator: "eve".into(), settings: Some(LockSettings::default()), ..ConfigureLockRequest::default()
            };
            list_blocked "ListBlocked" "read" |name, session| ListBlockedRequest::default();
            list_history "ListHistory" "read" |name, session| ListHistoryRequest { name, ..ListHistoryRequest::default() };
        }
        SessionServiceClient "SessionService" {
            open_session "OpenSession" "acquire" |name, session_id| OpenSessionRequest {
                session_id, ttl: ttl(), ..OpenSessionRequest::default()
            };
            renew "Renew" "acquire" |name, session_id| RenewRequest { session_id, ..RenewRequest::default() };
            close_session "CloseSession" "acquire" |name, session_id| CloseSessionRequest { session_id, ..CloseSessionRequest::default() };
            get_session "GetSession" "acquire or read" |name, session_id| GetSessionRequest { session_id, ..GetSessionRequest::default() };
            list_sessions "ListSessions" "acquire or read" |name, session| ListSessionsRequest::default();
        }
        GroupServiceClient "GroupService" {
            join_group "JoinGroup" "acquire" |group, session_id| JoinGroupRequest {
                group, session_id, ttl: ttl(), ..JoinGroupRequest::default()
            };
            leave_group "LeaveGroup" "acquire" |group, session_id| LeaveGroupRequest { group, session_id, ..LeaveGroupRequest::default() };
            configure_group "ConfigureGroup" "operate" |group, session| ConfigureGroupRequest { group, ..ConfigureGroupRequest::default() };
            assign_group "AssignGroup" "acquire" |group, session_id| AssignGroupRequest {
                group, session_id, token: 1, membership_revision: 1, ..AssignGroupRequest::default()
            };
            get_group "GetGroup" "read" |group, session| GetGroupRequest { group, ..GetGroupRequest::default() };
            list_groups "ListGroups" "read" |prefix, session| ListGroupsRequest { prefix, ..ListGroupsRequest::default() };
        }
        ServerServiceClient "ServerService" {
            list_servers "ListServers" "read" |name, session| ListServersRequest::default();
        }
        WatchServiceClient "WatchService" {
            watch "Watch" "watch" |name, session| WatchRequest { names: vec![name], ..WatchRequest::default() };
            watch "Watch" "watch" |group, session| WatchRequest { groups: vec![group], ..WatchRequest::default() };
            watch "Watch" "watch" |name, session| WatchRequest { prefixes: vec![format!("{name}/")], ..WatchRequest::default() };
        }
    }
}
