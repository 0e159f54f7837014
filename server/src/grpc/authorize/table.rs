//! Declares the rights that each request requires, and its audit log entry.

use tenure_proto::v1;
use tonic::Status;

use super::{NamespaceRights, Requirement};
use crate::auth::{Act, Verb, Weight};

/// Whether a request is metered, and whether it then adds to history.
const METERED: (bool, bool) = (true, false);
const WRITES: (bool, bool) = (true, true);
const UNMETERED: (bool, bool) = (false, false);

const FILLS: bool = true;
const OPENS_NONE: bool = false;

/// Whether it is metered, whether it may fill a new namespace, its weight, the required rights, and its audit log
/// entry.
macro_rules! requirements {
    ($($request:ident $call:literal $metered:ident $fills:ident $weight:expr, $check:expr, $line:expr;)*) => {$(
        impl Requirement for v1::$request {
            const MAY_FILL: bool = $fills;

            fn metered_bytes(&self) -> Option<usize> {
                let (is_metered, writes) = $metered;
                is_metered.then(|| if writes { prost::Message::encoded_len(self) } else { 0 })
            }

            fn namespace(&self) -> &str {
                &self.namespace
            }

            fn check(&self, rights: &NamespaceRights<'_>) -> Result<(), Status> {
                let check: fn(&Self, &NamespaceRights<'_>) -> Result<(), Status> = $check;
                check(self, rights)
            }

            fn weight(&self) -> Weight {
                let weight: fn(&Self) -> Weight = $weight;
                weight(self)
            }

            fn act(&self) -> Act {
                let line: fn(&Self, Act) -> Act = $line;
                line(self, Act::new(concat!("tenure.v1.", $call)).there(&self.namespace))
            }
        }
    )*};
}

fn all(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().map(String::as_str)
}

fn one(name: &str) -> [&str; 1] {
    [name]
}

/// Whether a holder hands over its own hold; any other caller is an operator.
fn hands_over_its_own(request: &v1::TransferRequest) -> bool {
    !request.session_id.is_empty()
}

requirements! {
    AcquireRequest "LockService/Acquire" WRITES FILLS |_| Weight::Usual,
        |request, rights| rights.names(Verb::Acquire, &request.names),
        |request, act| act.on(all(&request.names)).by(&request.session_id);
    CancelAcquireRequest "LockService/CancelAcquire" UNMETERED OPENS_NONE |_| Weight::Usual,
        |request, rights| rights.names(Verb::Acquire, &request.names),
        |request, act| act.on(all(&request.names)).by(&request.session_id);
    ReleaseRequest "LockService/Release" UNMETERED OPENS_NONE |_| Weight::Usual,
        |request, rights| rights.name(Verb::Acquire, &request.name),
        |request, act| act.on(one(&request.name)).by(&request.session_id).with(request.token);
    UpdateClaimRequest "LockService/UpdateClaim" WRITES OPENS_NONE |_| Weight::Usual,
        |request, rights| rights.name(Verb::Acquire, &request.name),
        |request, act| act.on(one(&request.name)).by(&request.session_id).with(request.token);
    TransferRequest "LockService/Transfer" UNMETERED OPENS_NONE |request| if hands_over_its_own(request) { Weight::Usual } else { Weight::Operators },
        |request, rights| rights.name(if hands_over_its_own(request) { Verb::Acquire } else { Verb::Operate }, &request.name),
        |request, act| act.on(one(&request.name)).by(&request.session_id).with(request.token).because(&request.operator, &request.note);
    EvictRequest "LockService/Evict" WRITES OPENS_NONE |_| Weight::Operators,
        |request, rights| rights.name(Verb::Operate, &request.name),
        |request, act| act.on(one(&request.name)).with(request.token).because(&request.operator, &request.note);
    ConfigureLockRequest "LockService/ConfigureLock" WRITES FILLS |_| Weight::Operators,
        |request, rights| rights.name(Verb::Operate, &request.name),
        |request, act| act.on(one(&request.name)).because(&request.operator, &request.note);
    GetLockRequest "LockService/GetLock" METERED OPENS_NONE |_| Weight::Usual,
        |request, rights| rights.name(Verb::Read, &request.name),
        |request, act| act.on(one(&request.name));
    ListHistoryRequest "LockService/ListHistory" METERED OPENS_NONE |_| Weight::Usual,
        |request, rights| rights.name(Verb::Read, &request.name),
        |request, act| act.on(one(&request.name));
    // Lists omit entries that the caller may not read.
    ListLocksRequest "LockService/ListLocks" METERED OPENS_NONE |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    ListBlockedRequest "LockService/ListBlocked" METERED OPENS_NONE |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    ListGroupsRequest "GroupService/ListGroups" METERED OPENS_NONE |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    ListServersRequest "ServerService/ListServers" METERED OPENS_NONE |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    // Sessions require the right to acquire some name; their ownership is checked where they are.
    OpenSessionRequest "SessionService/OpenSession" WRITES FILLS |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire),
        |request, act| act.by(&request.session_id);
    Hello "ClientService/Connect" UNMETERED FILLS |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire),
        |request, act| act.by(&request.client_id);
    RenewRequest "SessionService/Renew" UNMETERED OPENS_NONE |_| Weight::Renewal,
        |_, rights| rights.some(Verb::Acquire),
        |request, act| act.by(&request.session_id);
    CloseSessionRequest "SessionService/CloseSession" UNMETERED OPENS_NONE |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire),
        |request, act| act.by(&request.session_id);
    GetSessionRequest "SessionService/GetSession" METERED OPENS_NONE |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire).or_else(|_| rights.some(Verb::Read)),
        |request, act| act.by(&request.session_id);
    ListSessionsRequest "SessionService/ListSessions" METERED OPENS_NONE |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire).or_else(|_| rights.some(Verb::Read)),
        |_, act| act;
    JoinGroupRequest "GroupService/JoinGroup" WRITES FILLS |_| Weight::Usual,
        |request, rights| rights.name(Verb::Acquire, &request.group),
        |request, act| act.on(one(&request.group)).by(&request.session_id);
    LeaveGroupRequest "GroupService/LeaveGroup" UNMETERED OPENS_NONE |_| Weight::Usual,
        |request, rights| rights.name(Verb::Acquire, &request.group),
        |request, act| act.on(one(&request.group)).by(&request.session_id);
    AssignGroupRequest "GroupService/AssignGroup" WRITES OPENS_NONE |_| Weight::Usual,
        |request, rights| rights.name(Verb::Acquire, &request.group),
        |request, act| act.on(one(&request.group)).by(&request.session_id).with(request.token);
    ConfigureGroupRequest "GroupService/ConfigureGroup" WRITES FILLS |_| Weight::Operators,
        |request, rights| rights.name(Verb::Operate, &request.group),
        |request, act| act.on(one(&request.group));
    GetGroupRequest "GroupService/GetGroup" METERED OPENS_NONE |_| Weight::Usual,
        |request, rights| rights.name(Verb::Read, &request.group),
        |request, act| act.on(one(&request.group));
    WatchRequest "WatchService/Watch" METERED FILLS |_| Weight::Usual,
        |request, rights| {
            rights.names(Verb::Watch, &request.names)?;
            rights.names(Verb::Watch, &request.groups)?;
            let everything = request.names.is_empty() && request.groups.is_empty() && request.prefixes.is_empty();
            let prefixes = everything.then_some("").into_iter().chain(request.prefixes.iter().map(String::as_str));
            prefixes.into_iter().try_for_each(|prefix| rights.prefix(Verb::Watch, prefix))
        },
        |request, act| act.on(all(&request.names)).on(all(&request.groups)).on(all(&request.prefixes));
}
