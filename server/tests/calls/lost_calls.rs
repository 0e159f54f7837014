//! Callers that leave.

use tenure_core::Revision;
use tenure_proto::v1::{AcquireRequest, AcquireResponse};
use tokio::task::JoinHandle;
use tonic::{Request, Status};

use crate::calls::cluster::{Caller, Cluster, REATTACH};

/// How a caller leaves before it receives the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    Cancelled,
    PastItsDeadline,
    WithItsConnection,
}

pub const LEAVINGS: [Leaving; 3] = [Leaving::Cancelled, Leaving::PastItsDeadline, Leaving::WithItsConnection];

/// A call whose reply is pending.
pub type PendingCall = JoinHandle<Result<AcquireResponse, Status>>;

/// Starts an acquire as a task of its own.
pub fn ask(caller: &Caller, request: AcquireRequest) -> PendingCall {
    let caller = caller.clone();
    tokio::spawn(async move { caller.acquire(request).await })
}

/// Acquires on a connection of its own, and leaves in this manner once `is_time` completes.
pub async fn ask_and_leave(
    cluster: &Cluster,
    request: AcquireRequest,
    leaving: Leaving,
    is_time: impl Future<Output = ()>,
) {
    let caller = cluster.caller(0).await;
    tokio::pin!(is_time);
    loop {
        let mut timed = Request::new(request.clone());
        if leaving == Leaving::PastItsDeadline {
            timed.set_timeout(REATTACH / 2);
        }
        let asking = caller.clone();
        let mut call = tokio::spawn(async move { asking.acquire(timed).await });
        tokio::select! {
            () = &mut is_time => {}
            // On a busy machine the deadline may come first: a retry is harmless.
            ended = &mut call => {
                assert_eq!(leaving, Leaving::PastItsDeadline, "{ended:?}");
                continue;
            }
        }
        match leaving {
            Leaving::Cancelled => {
                call.abort();
                caller.is_heard().await;
            }
            Leaving::PastItsDeadline => drop(call.await.expect("ran").expect_err("past its deadline")),
            Leaving::WithItsConnection => call.abort(),
        }
        return;
    }
}

pub fn same_hold(answer: &AcquireResponse, grants: &[Revision]) {
    assert!(answer.acquired, "{answer:?}");
    assert_eq!(grants, [Revision(answer.token)], "one grant, and this is its token");
}
