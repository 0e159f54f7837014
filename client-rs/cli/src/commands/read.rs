//! `ls`, `get`, `sessions`, `servers`: show the current state.

use tenure_proto::v1::lock_service_client::LockServiceClient;
use tenure_proto::v1::server_service_client::ServerServiceClient;
use tenure_proto::v1::session_service_client::SessionServiceClient;
use tenure_proto::v1::{
    GetLockRequest, GetSessionRequest, GetSessionResponse, ListLocksRequest, ListLocksResponse, ListServersRequest,
    ListServersResponse, ListSessionsRequest, ListSessionsResponse,
};

use crate::Context;
use crate::args::{GetArgs, LsArgs, SessionsArgs};
use crate::exit::{self, Failure};
use crate::output;
use crate::rpc::{Repeat, Rpc};

/// The maximum page size of the service.
pub const PAGE: i32 = 1000;

pub async fn ls(context: &Context, args: LsArgs) -> Result<u8, Failure> {
    let all = list_locks(&context.rpc, &context.global.namespace, &args.prefix).await?;
    context.output.message(&all, |all| output::locks(all, &args.prefix))?;
    Ok(exit::OK)
}

/// All locks whose names start with `prefix`, merged into one response.
pub(super) async fn list_locks(rpc: &Rpc, namespace: &str, prefix: &str) -> Result<ListLocksResponse, Failure> {
    let mut all = ListLocksResponse::default();
    loop {
        let request = ListLocksRequest {
            namespace: namespace.to_owned(),
            prefix: prefix.to_owned(),
            page_size: PAGE,
            page_token: std::mem::take(&mut all.next_page_token),
        };
        let page = rpc
            .call(Repeat::Safe, |channel| {
                let request = request.clone();
                async move { LockServiceClient::new(channel).list_locks(request).await }
            })
            .await?;
        all.locks.extend(page.locks);
        all.revision = page.revision;
        if page.next_page_token.is_empty() {
            return Ok(all);
        }
        all.next_page_token = page.next_page_token;
    }
}

pub async fn get(context: &Context, args: GetArgs) -> Result<u8, Failure> {
    let request = GetLockRequest { namespace: context.global.namespace.clone(), name: args.name };
    let response = context
        .rpc
        .call(Repeat::Safe, |channel| {
            let request = request.clone();
            async move { LockServiceClient::new(channel).get_lock(request).await }
        })
        .await?;
    context.output.message(&response, output::lock)?;
    Ok(exit::OK)
}

pub async fn sessions(context: &Context, args: SessionsArgs) -> Result<u8, Failure> {
    match args.id {
        Some(id) => one_session(context, id).await,
        None => {
            let all = list_sessions(&context.rpc, &context.global.namespace).await?;
            context.output.message(&all, output::sessions)?;
            Ok(exit::OK)
        }
    }
}

async fn one_session(context: &Context, session_id: String) -> Result<u8, Failure> {
    let mut request =
        GetSessionRequest { namespace: context.global.namespace.clone(), session_id, ..GetSessionRequest::default() };
    let mut all = GetSessionResponse::default();
    loop {
        let mut response = context
            .rpc
            .call(Repeat::Safe, |channel| {
                let request = request.clone();
                async move { SessionServiceClient::new(channel).get_session(request).await }
            })
            .await?;
        let claims = all.session.take().map(|session| session.claims).unwrap_or_default();
        let last = response.session.as_mut().and_then(|session| {
            session.claims.splice(..0, claims);
            session.claims.last().map(|claim| claim.id).filter(|_| session.claim_count > session.claims.len() as u64)
        });
        all = response;
        match last {
            Some(last) if last > request.after_claim => request.after_claim = last,
            _ => break,
        }
    }
    context.output.message(&all, output::session)?;
    Ok(exit::OK)
}

/// All sessions, merged into one response.
pub(super) async fn list_sessions(rpc: &Rpc, namespace: &str) -> Result<ListSessionsResponse, Failure> {
    let mut all = ListSessionsResponse::default();
    loop {
        let request = ListSessionsRequest {
            namespace: namespace.to_owned(),
            page_size: PAGE,
            page_token: std::mem::take(&mut all.next_page_token),
        };
        let page = rpc
            .call(Repeat::Safe, |channel| {
                let request = request.clone();
                async move { SessionServiceClient::new(channel).list_sessions(request).await }
            })
            .await?;
        all.sessions.extend(page.sessions);
        all.revision = page.revision;
        if page.next_page_token.is_empty() {
            return Ok(all);
        }
        all.next_page_token = page.next_page_token;
    }
}

pub async fn servers(context: &Context) -> Result<u8, Failure> {
    let all = list_servers(&context.rpc, &context.global.namespace).await?;
    context.output.message(&all, output::servers)?;
    Ok(exit::OK)
}

/// The servers, as the replying server sees them.
pub(super) async fn list_servers(rpc: &Rpc, namespace: &str) -> Result<ListServersResponse, Failure> {
    let request = ListServersRequest { namespace: namespace.to_owned() };
    rpc.call(Repeat::Safe, |channel| {
        let request = request.clone();
        async move { ServerServiceClient::new(channel).list_servers(request).await }
    })
    .await
}
