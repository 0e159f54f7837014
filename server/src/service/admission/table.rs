//! What each request takes, and what the audit log says of it.

use tenure_proto::v1;

use super::{Asks, Here, Missing};
use crate::access::{Act, Verb, Weight};

const METERED: bool = true;
const UNMETERED: bool = false;

/// Whether it is metered, its weight, which verb on what, and its line.
macro_rules! asks {
    ($($request:ident $call:literal $metered:ident $weight:expr, $check:expr, $line:expr;)*) => {$(
        impl Asks for v1::$request {
            const IS_METERED: bool = $metered;

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

/// A holder hands over what is its own; whoever else does is an operator.
fn hands_over_its_own(asked: &v1::TransferRequest) -> bool {
    !asked.session_id.is_empty()
}

asks! {
    AcquireRequest "LockService/Acquire" METERED |_| Weight::Usual,
        |asked, rights| rights.names(Verb::Acquire, &asked.names),
        |asked, act| act.on(all(&asked.names)).by(&asked.session_id);
    CancelAcquireRequest "LockService/CancelAcquire" UNMETERED |_| Weight::Usual,
        |asked, rights| rights.names(Verb::Acquire, &asked.names),
        |asked, act| act.on(all(&asked.names)).by(&asked.session_id);
    ReleaseRequest "LockService/Release" UNMETERED |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Acquire, &asked.name),
        |asked, act| act.on(one(&asked.name)).by(&asked.session_id).with(asked.token);
    UpdateClaimRequest "LockService/UpdateClaim" METERED |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Acquire, &asked.name),
        |asked, act| act.on(one(&asked.name)).by(&asked.session_id).with(asked.token);
    TransferRequest "LockService/Transfer" UNMETERED |asked| if hands_over_its_own(asked) { Weight::Usual } else { Weight::Operators },
        |asked, rights| rights.name(if hands_over_its_own(asked) { Verb::Acquire } else { Verb::Operate }, &asked.name),
        |asked, act| act.on(one(&asked.name)).by(&asked.session_id).with(asked.token).because(&asked.operator, &asked.note);
    EvictRequest "LockService/Evict" METERED |_| Weight::Operators,
        |asked, rights| rights.name(Verb::Operate, &asked.name),
        |asked, act| act.on(one(&asked.name)).with(asked.token).because(&asked.operator, &asked.note);
    ConfigureLockRequest "LockService/ConfigureLock" METERED |_| Weight::Operators,
        |asked, rights| rights.name(Verb::Operate, &asked.name),
        |asked, act| act.on(one(&asked.name)).because(&asked.operator, &asked.note);
    GetLockRequest "LockService/GetLock" METERED |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Read, &asked.name),
        |asked, act| act.on(one(&asked.name));
    ListHistoryRequest "LockService/ListHistory" METERED |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Read, &asked.name),
        |asked, act| act.on(one(&asked.name));
    // Lists leave out what may not be looked at.
    ListLocksRequest "LockService/ListLocks" METERED |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    ListBlockedRequest "LockService/ListBlocked" METERED |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    ListGroupsRequest "GroupService/ListGroups" METERED |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    ListServersRequest "ServerService/ListServers" METERED |_| Weight::Usual, |_, rights| rights.some(Verb::Read), |_, act| act;
    // Sessions are for those who have something to acquire; whose they are is looked at where they are.
    OpenSessionRequest "SessionService/OpenSession" METERED |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire),
        |asked, act| act.by(&asked.session_id);
    AttachSession "ClientService/Stream AttachSession" UNMETERED |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire),
        |asked, act| act.by(&asked.session_id);
    RenewRequest "SessionService/Renew" UNMETERED |_| Weight::Renewal,
        |_, rights| rights.some(Verb::Acquire),
        |asked, act| act.by(&asked.session_id);
    KeepAliveRequest "SessionService/KeepAlive" UNMETERED |_| Weight::Renewal, |_, rights| rights.some(Verb::Acquire), |_, act| act;
    // Its own, which it may close whatever it may do no more.
    CloseSessionRequest "SessionService/CloseSession" UNMETERED |_| Weight::Usual, |_, _| Ok(()), |asked, act| act.by(&asked.session_id);
    GetSessionRequest "SessionService/GetSession" METERED |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire).or_else(|_| rights.some(Verb::Read)),
        |asked, act| act.by(&asked.session_id);
    ListSessionsRequest "SessionService/ListSessions" METERED |_| Weight::Usual,
        |_, rights| rights.some(Verb::Acquire).or_else(|_| rights.some(Verb::Read)),
        |_, act| act;
    JoinGroupRequest "GroupService/JoinGroup" METERED |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Acquire, &asked.group),
        |asked, act| act.on(one(&asked.group)).by(&asked.session_id);
    LeaveGroupRequest "GroupService/LeaveGroup" UNMETERED |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Acquire, &asked.group),
        |asked, act| act.on(one(&asked.group)).by(&asked.session_id);
    AssignGroupRequest "GroupService/AssignGroup" METERED |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Acquire, &asked.group),
        |asked, act| act.on(one(&asked.group)).by(&asked.session_id).with(asked.token);
    ConfigureGroupRequest "GroupService/ConfigureGroup" METERED |_| Weight::Operators,
        |asked, rights| rights.name(Verb::Operate, &asked.group),
        |asked, act| act.on(one(&asked.group));
    GetGroupRequest "GroupService/GetGroup" METERED |_| Weight::Usual,
        |asked, rights| rights.name(Verb::Read, &asked.group),
        |asked, act| act.on(one(&asked.group));
    WatchRequest "WatchService/Watch" METERED |_| Weight::Usual,
        |asked, rights| {
            rights.names(Verb::Watch, &asked.names)?;
            rights.names(Verb::Watch, &asked.groups)?;
            let everything = asked.names.is_empty() && asked.groups.is_empty() && asked.prefixes.is_empty();
            let prefixes = everything.then_some("").into_iter().chain(asked.prefixes.iter().map(String::as_str));
            prefixes.into_iter().try_for_each(|prefix| rights.prefix(Verb::Watch, prefix))
        },
        |asked, act| act.on(all(&asked.names)).on(all(&asked.groups)).on(all(&asked.prefixes));
}
