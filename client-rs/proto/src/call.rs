//! Plain calls as values: a request knows its method, its reply and, of a list, the items on a page.

use prost::Message;

use crate::v1;

/// The request of a call with one reply.
pub trait Call: Message + Clone + 'static {
    /// The reply.
    type Reply: Message + Default + 'static;

    /// The path of the method, such as `/tenure.v1.LockService/GetLock`.
    const PATH: &str;

    /// The request in this namespace.
    fn in_namespace(self, namespace: &str) -> Self;
}

/// The request of one page of a list.
pub trait List: Call {
    /// What is listed.
    type Item: Send + 'static;

    /// The request of the page with this token.
    fn at_page(self, page_token: String) -> Self;

    /// The items on a page, and the token of the next page; empty on the last one.
    fn items(page: Self::Reply) -> (Vec<Self::Item>, String);
}

macro_rules! calls {
    ($($service:ident { $($method:ident($request:ident) -> $reply:ident $(, $items:ident: $item:ident)?;)+ })+) => {
        $($(
            impl Call for v1::$request {
                type Reply = v1::$reply;

                const PATH: &str = concat!("/tenure.v1.", stringify!($service), "/", stringify!($method));

                fn in_namespace(mut self, namespace: &str) -> Self {
                    namespace.clone_into(&mut self.namespace);
                    self
                }
            }

            $(
                impl List for v1::$request {
                    type Item = v1::$item;

                    fn at_page(self, page_token: String) -> Self {
                        Self { page_token, ..self }
                    }

                    fn items(page: v1::$reply) -> (Vec<v1::$item>, String) {
                        (page.$items, page.next_page_token)
                    }
                }
            )?
        )+)+

        #[cfg(test)]
        const CALLS: &[[&str; 3]] =
            &[$($([<v1::$request as Call>::PATH, stringify!($request), stringify!($reply)]),+),+];
    };
}

calls! {
    LockService {
        Acquire(AcquireRequest) -> AcquireResponse;
        Release(ReleaseRequest) -> ReleaseResponse;
        CancelAcquire(CancelAcquireRequest) -> CancelAcquireResponse;
        GetLock(GetLockRequest) -> GetLockResponse;
        ListLocks(ListLocksRequest) -> ListLocksResponse, locks: Lock;
        Evict(EvictRequest) -> EvictResponse;
        Transfer(TransferRequest) -> TransferResponse;
        UpdateClaim(UpdateClaimRequest) -> UpdateClaimResponse;
        ConfigureLock(ConfigureLockRequest) -> ConfigureLockResponse;
        ListBlocked(ListBlockedRequest) -> ListBlockedResponse, blocked: BlockedClaim;
        ListHistory(ListHistoryRequest) -> ListHistoryResponse, entries: HistoryEntry;
    }
    SessionService {
        OpenSession(OpenSessionRequest) -> OpenSessionResponse;
        Renew(RenewRequest) -> RenewResponse;
        CloseSession(CloseSessionRequest) -> CloseSessionResponse;
        GetSession(GetSessionRequest) -> GetSessionResponse;
        ListSessions(ListSessionsRequest) -> ListSessionsResponse, sessions: Session;
    }
    GroupService {
        JoinGroup(JoinGroupRequest) -> JoinGroupResponse;
        LeaveGroup(LeaveGroupRequest) -> LeaveGroupResponse;
        ConfigureGroup(ConfigureGroupRequest) -> ConfigureGroupResponse;
        AssignGroup(AssignGroupRequest) -> AssignGroupResponse;
        GetGroup(GetGroupRequest) -> GetGroupResponse;
        ListGroups(ListGroupsRequest) -> ListGroupsResponse, groups: Group;
    }
    ServerService {
        ListServers(ListServersRequest) -> ListServersResponse;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost_types::FileDescriptorSet;

    use super::*;

    #[test]
    fn calls_are_those_of_the_contract() {
        let contract = FileDescriptorSet::decode(crate::FILE_DESCRIPTOR_SET).expect("descriptors");
        let mut unary = BTreeSet::new();
        for service in contract.file.iter().flat_map(|file| &file.service) {
            for method in
                service.method.iter().filter(|method| !method.client_streaming() && !method.server_streaming())
            {
                let path = format!("/tenure.v1.{}/{}", service.name(), method.name());
                let message = |name: &str| name.trim_start_matches(".tenure.v1.").to_owned();
                unary.insert([path, message(method.input_type()), message(method.output_type())]);
            }
        }
        assert_eq!(CALLS.iter().map(|call| call.map(str::to_owned)).collect::<BTreeSet<_>>(), unary);
    }
}
