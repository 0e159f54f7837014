//! Declares the rights that each request requires, and its audit log entry.

use tenure_proto::v1;

use super::{Asks, Here, Missing};
use crate::auth::{Act, Verb, Weight};

/// Whether a request is metered, and whether it then adds to history.
const METERED: (bool, bool) = (true, false);
const WRITES: (bool, bool) = (true, true);
const UNMETERED: (bool, bool) = (false, false);

const FILLS: bool = true;
const OPENS_NONE: bool = false;

/// Whether it is metered, whether it may fill a new namespace, its weight, the required rights, and its audit log
/// entry.
macro_rules! asks {
    ($($request:ident $call:literal $metered:ident $fills:ident $weight:expr, $check:expr, $line:expr;)*) => {$(
        impl Asks for v1::$request {
            const IS_METERED: bool = $metered.0;
            const MAY_FILL: bool = $fills;

            fn history_bytes(&self) -> usize {
                if $metered.1 { prost::Message::encoded_len(self) } else { 0 }
            }

            fn namespace(&self) -> &str {
                &self.namespace
            }

            fn check(&self, rights: &Here<'_>) -> Result<(), Missing> {
                let check: fn(&Self, &Here<'_>) -> Result<(), Missing> = $check;
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
fn hands_over_its_own(asked: &v1::TransferRequest) -> bool {
    !asked.session_id.is_empty()
}

asks! {
    AcquireRequest "LockService/Acquire" WRITES FILLS |_| Weight::Usual,
        |asked, rights| rights.names(Verb::Acquire, &asked.names),
        |asked, act| act.on(all(&asked.names)).by(&asked.session_id);
    CancelAcquireRequest "LockService/CancelAcquire" UNMETERED OPENS_NONE |_| Weight::Usual,
        |asked, rights| rights.names(Verb::Acquire, &asked.names),
        |asked, act| act.on(all(&asked.names)).by(&asked.session_id);
    ReleaseRequest "LockService/Release" UNMETERED OPENS_NONE |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Acquire, &asked.name),
        |asked, act| act.on(one(&asked.name)).by(&asked.session_id).with(asked.token);
    UpdateClaimRequest "LockService/UpdateClaim" WRITES OPENS_NONE |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Acquire, &asked.name),
        |asked, act| act.on(one(&asked.name)).by(&asked.session_id).with(asked.token);
    TransferRequest "LockService/Transfer" UNMETERED OPENS_NONE |asked| if hands_over_its_own(asked) { Weight::Usual } else { Weight::Operators },
        |asked, rights| rights.name(if hands_over_its_own(asked) { Verb::Acquire } else { Verb::Operate }, &asked.name),
        |asked, act| act.on(one(&asked.name)).by(&asked.session_id).with(asked.token).because(&asked.operator, &asked.note);
    EvictRequest "LockService/Evict" WRITES OPENS_NONE |_| Weight::Operators,
        |asked, rights| rights.name(Verb::Operate, &asked.name),
        |asked, act| act.on(one(&asked.name)).with(asked.token).because(&asked.operator, &asked.note);
    ConfigureLockRequest "LockService/ConfigureLock" WRITES FILLS |_| Weight::Operators,
        |asked, rights| rights.name(Verb::Operate, &asked.name),
        |asked, act| act.on(one(&asked.name)).because(&asked.operator, &asked.note);
    GetLockRequest "LockService/GetLock" METERED OPENS_NONE |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Read, &asked.name),
        |asked, act| act.on(one(&asked.name));
    ListHistoryRequest "LockService/ListHistory" METERED OPENS_NONE |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Read, &asked.name),
        |asked, act| act.on(one(&asked.name));
    // Lists omit entries that the caller may not read.
    ListLocksRequest "LockService/ListLocks" METERED OPENS_NONE |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    ListBlockedRequest "LockService/ListBlocked" METERED OPENS_NONE |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    ListGroupsRequest "GroupService/ListGroups" METERED OPENS_NONE |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    ListServersRequest "ServerService/ListServers" METERED OPENS_NONE |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    // Sessions require the right to acquire some name; their ownership is checked where they are.
    OpenSessionRequest "SessionService/OpenSession" WRITES FILLS |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire),
        |asked, act| act.by(&asked.session_id);
    AttachSession "ClientService/Stream AttachSession" UNMETERED FILLS |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire),
        |asked, act| act.by(&asked.session_id);
    RenewRequest "SessionService/Renew" UNMETERED OPENS_NONE |_| Weight::Renewal,
        |_, rights| rights.some(Verb::Acquire),
        |asked, act| act.by(&asked.session_id);
    KeepAliveRequest "SessionService/KeepAlive" UNMETERED OPENS_NONE |_| Weight::Renewal, |_, rights| rights.some(Verb::Acquire), |_, act| act;
    CloseSessionRequest "SessionService/CloseSession" UNMETERED OPENS_NONE |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire),
        |asked, act| act.by(&asked.session_id);
    GetSessionRequest "SessionService/GetSession" METERED OPENS_NONE |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire).or_else(|_| rights.some(Verb::Read)),
        |asked, act| act.by(&asked.session_id);
    ListSessionsRequest "SessionService/ListSessions" METERED OPENS_NONE |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire).or_else(|_| rights.some(Verb::Read)),
        |_, act| act;
    JoinGroupRequest "GroupService/JoinGroup" WRITES FILLS |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Acquire, &asked.group),
        |asked, act| act.on(one(&asked.group)).by(&asked.session_id);
    LeaveGroupRequest "GroupService/LeaveGroup" UNMETERED OPENS_NONE |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Acquire, &asked.group),
        |asked, act| act.on(one(&asked.group)).by(&asked.session_id);
    AssignGroupRequest "GroupService/AssignGroup" WRITES OPENS_NONE |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Acquire, &asked.group),
        |asked, act| act.on(one(&asked.group)).by(&asked.session_id).with(asked.token);
    ConfigureGroupRequest "GroupService/ConfigureGroup" WRITES FILLS |_| Weight::Operators,
        |asked, rights| rights.name(Verb::Operate, &asked.group),
        |asked, act| act.on(one(&asked.group));
    GetGroupRequest "GroupService/GetGroup" METERED OPENS_NONE |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Read, &asked.group),
        |asked, act| act.on(one(&asked.group));
    WatchRequest "WatchService/Watch" METERED FILLS |_| Weight::Usual,
        |asked, rights| {
            rights.names(Verb::Watch, &asked.names)?;
            rights.names(Verb::Watch, &asked.groups)?;
            let everything = asked.names.is_empty() && asked.groups.is_empty() && asked.prefixes.is_empty();
            let prefixes = everything.then_some("").into_iter().chain(asked.prefixes.iter().map(String::as_str));
            prefixes.into_iter().try_for_each(|prefix| rights.prefix(Verb::Watch, prefix))
        },
        |asked, act| act.on(all(&asked.names)).on(all(&asked.groups)).on(all(&asked.prefixes));
}
