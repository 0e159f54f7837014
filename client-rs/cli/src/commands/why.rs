//! `why`: reads all that explains the state of one lock.

use std::time::Duration;

use tenure_proto::v1::{Claim, ClaimState, GetSessionRequest, Lock, Session};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::history;
use super::read::get_lock;
use crate::Context;
use crate::exit::Failure;
use crate::output::{self, Explanation};
use crate::rpc::{Repeat, Rpc};

/// The number of past holds shown.
const PAST: u32 = 5;

/// The time limit for searching a long history.
const PATIENCE: Duration = Duration::from_secs(3);

pub async fn why(context: &Context, name: &str) -> Result<u8, Failure> {
    let response = get_lock(context, name).await?;
    let (lock, revision) = (response.lock.unwrap_or_default(), response.revision);
    let holder = lock.holders.iter().find(|claim| claim.state() == ClaimState::Held);
    let (rpc, session) = match holder {
        Some(holder) => at_home(context, &holder.session_id).await,
        None => (context.rpc.clone(), None),
    };
    let history = history::read(context, &rpc, name, PAST, Some(Instant::now() + PATIENCE)).await?;
    let elsewhere = elsewhere(context, &lock).await?;
    let explanation = Explanation { lock, revision, session, elsewhere, history };
    let json = explanation.json()?;
    context.output.value(&json, || output::why(&explanation))
}

/// The holder's session as its home server sees it, with an `Rpc` to that server: only it knows the renewals. If that
/// server is not among the endpoints, the session as any of them sees it. None if the session has just ended.
async fn at_home(context: &Context, session_id: &str) -> (Rpc, Option<Session>) {
    let (namespace, session_id) = (context.namespace(), session_id.to_owned());
    let request = GetSessionRequest { namespace, session_id, ..GetSessionRequest::default() };
    let mut asked = JoinSet::new();
    for endpoint in &context.rpc.endpoints {
        let (rpc, request) = (context.rpc.only(endpoint), request.clone());
        asked.spawn(async move {
            let call = rpc.call(Repeat::Safe, &request);
            let session = call.await.ok().and_then(|response| response.session);
            (rpc, session)
        });
    }
    let mut seen = None;
    while let Some(answer) = asked.join_next().await {
        match answer {
            Ok((rpc, Some(session))) if session.remaining.is_some() => return (rpc, Some(session)),
            Ok((_, session)) => seen = seen.or(session),
            Err(_) => {}
        }
    }
    (context.rpc.clone(), seen)
}

/// The claim that blocks the first waiter of a lock without a holder, which is at another of the waiter's names.
async fn elsewhere(context: &Context, lock: &Lock) -> Result<Option<(String, Claim)>, Failure> {
    let Some(first) = lock.waiters.first().filter(|_| lock.holders.is_empty()) else { return Ok(None) };
    for name in first.names.iter().filter(|name| **name != lock.name) {
        let other = get_lock(context, name).await?.lock.unwrap_or_default();
        let ahead = other.waiters.into_iter().next().filter(|ahead| ahead.id != first.id);
        if let Some(blocker) = other.holders.into_iter().next().or(ahead) {
            return Ok(Some((name.clone(), blocker)));
        }
    }
    Ok(None)
}
