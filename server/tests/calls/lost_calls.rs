//! Callers that do not wait for the reply.

use tenure_core::Revision;
use tenure_proto::v1::{AcquireRequest, AcquireResponse};
use tokio::task::JoinHandle;
use tonic::{Request, Status};

use crate::calls::cluster::{Caller, Cluster, REATTACH};

/// How a caller abandons a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abandonment {
    Cancelled,
    DeadlineExceeded,
    Disconnected,
}

pub const ABANDONMENTS: [Abandonment; 3] =
    [Abandonment::Cancelled, Abandonment::DeadlineExceeded, Abandonment::Disconnected];

/// A call whose reply is pending.
pub type PendingCall = JoinHandle<Result<AcquireResponse, Status>>;

/// Starts an acquire as a task of its own.
pub fn ask(caller: &Caller, request: AcquireRequest) -> PendingCall {
    let caller = caller.clone();
    tokio::spawn(async move { caller.acquire(request).await })
}

/// Acquires on a connection of its own, and abandons the call in this manner once `is_time` completes.
pub async fn acquire_and_abandon(
    cluster: &Cluster,
    request: AcquireRequest,
    abandonment: Abandonment,
    is_time: impl Future<Output = ()>,
) {
    let caller = cluster.caller(0).await;
    tokio::pin!(is_time);
    loop {
        let mut timed = Request::new(request.clone());
        if abandonment == Abandonment::DeadlineExceeded {
            timed.set_timeout(REATTACH / 2);
        }
        let callee = caller.clone();
        let mut call = tokio::spawn(async move { callee.acquire(timed).await });
        tokio::select! {
            () = &mut is_time => {}
            // On a busy machine the deadline may pass first: a retry is harmless.
            ended = &mut call => {
                assert_eq!(abandonment, Abandonment::DeadlineExceeded, "{ended:?}");
                continue;
            }
        }
        match abandonment {
            Abandonment::Cancelled => {
                call.abort();
                caller.flush().await;
            }
            Abandonment::DeadlineExceeded => drop(call.await.expect("ran").expect_err("deadline exceeded")),
            Abandonment::Disconnected => call.abort(),
        }
        return;
    }
}

/// Asserts that a reply returns the only grant of its session.
pub fn assert_only_grant(answer: &AcquireResponse, grants: &[Revision]) {
    assert!(answer.acquired, "{answer:?}");
    assert_eq!(grants, [Revision(answer.token)], "a single grant with this token");
}
