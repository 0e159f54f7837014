//! Requests and policies for the tests of authorization.

use crate::access::calls::ttl;
use crate::access::service::Caller;
use crate::serving::within;
use tenure_proto::v1::*;
use tonic::Status;

pub const VERBS: [&str; 4] = ["acquire", "read", "watch", "operate"];

/// A policy with a role for each verb, on these names; each role is granted to the token of that name. `ann` has all
/// roles, `none` has none.
pub fn policy(names: &str) -> String {
    let mut policy = String::new();
    for verb in VERBS {
        policy += &format!("[[roles.{verb}]]\nverbs = [\"{verb}\"]\n{names}\n");
        policy += &format!("[[grants]]\nidentity = \"token:{verb}\"\nroles = [\"{verb}\"]\n");
    }
    policy + "[[grants]]\nidentity = \"token:ann\"\nroles = [\"acquire\", \"read\", \"watch\", \"operate\"]\n"
}

pub const TEAMS: &str = r#"
    [[roles.a]]
    verbs = ["acquire", "read", "watch", "operate"]
    names = ["team-a"]
    [[roles.b]]
    verbs = ["acquire", "read", "watch", "operate"]
    names = ["team-b"]
    [[roles.all]]
    verbs = ["read"]
    [[grants]]
    identity = "token:ann"
    roles = ["a"]
    [[grants]]
    identity = "token:bob"
    roles = ["b"]
    [[grants]]
    identity = "token:reader"
    roles = ["all"]
"#;

pub async fn acquire(caller: &Caller, name: &str, session: &str) -> Result<u64, Status> {
    let request = AcquireRequest {
        names: vec![name.to_owned()],
        session_id: session.to_owned(),
        ttl: ttl(),
        ..AcquireRequest::default()
    };
    let answer = within(caller.locks().acquire(request)).await?;
    Ok(answer.into_inner().token)
}

pub async fn revision(caller: &Caller) -> u64 {
    within(caller.locks().list_locks(ListLocksRequest::default())).await.unwrap().into_inner().revision
}

pub async fn get_lock(caller: &Caller, name: &str) -> Result<Lock, Status> {
    let request = GetLockRequest { name: name.into(), ..GetLockRequest::default() };
    Ok(within(caller.locks().get_lock(request)).await?.into_inner().lock.unwrap())
}

/// Waits until the caller may read the lock.
pub async fn wait_until_readable(caller: &Caller, name: &str) {
    let readable = async {
        while get_lock(caller, name).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    within(readable).await;
}

/// Waits until this number of claims wait for the lock.
pub async fn wait_for_waiters(caller: &Caller, name: &str, count: usize) {
    let waiting = async {
        while get_lock(caller, name).await.unwrap().waiters.len() != count {
            tokio::task::yield_now().await;
        }
    };
    within(waiting).await;
}
