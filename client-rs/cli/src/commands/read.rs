//! `ls`, `get`, `sessions`, `servers`: show the current state.

use tenure_proto::v1::{
    GetLockRequest, GetLockResponse, GetSessionRequest, GetSessionResponse, ListLocksRequest, ListLocksResponse,
    ListServersRequest, ListServersResponse, ListSessionsRequest, ListSessionsResponse,
};

use crate::Context;
use crate::exit::Failure;
use crate::output;
use crate::rpc::{Repeat, Rpc, all_pages};

/// The maximum page size of the service.
pub const PAGE: i32 = 1000;

pub async fn ls(context: &Context, prefix: &str) -> Result<u8, Failure> {
    let all = list_locks(&context.rpc, &context.global.namespace, prefix).await?;
    context.output.message(&all, |all| output::locks(all, prefix))
}

/// All locks whose names start with `prefix`, merged into one response.
pub(super) async fn list_locks(rpc: &Rpc, namespace: &str, prefix: &str) -> Result<ListLocksResponse, Failure> {
    let (namespace, prefix) = (namespace.to_owned(), prefix.to_owned());
    let request = ListLocksRequest { namespace, prefix, page_size: PAGE, page_token: String::new() };
    Ok(all_pages!(rpc, request, locks))
}

pub async fn get(context: &Context, name: &str) -> Result<u8, Failure> {
    context.output.message(&get_lock(context, name).await?, output::lock)
}

/// One lock with its queue.
pub(super) async fn get_lock(context: &Context, name: &str) -> Result<GetLockResponse, Failure> {
    let request = GetLockRequest { namespace: context.namespace(), name: name.to_owned() };
    context.rpc.call(Repeat::Safe, &request).await
}

pub async fn sessions(context: &Context, id: Option<String>) -> Result<u8, Failure> {
    match id {
        Some(id) => context.output.message(&get_session(context, id).await?, output::session),
        None => {
            context.output.message(&list_sessions(&context.rpc, &context.global.namespace).await?, output::sessions)
        }
    }
}

/// One session with all its claims, merged from as many pages as needed.
async fn get_session(context: &Context, session_id: String) -> Result<GetSessionResponse, Failure> {
    let mut request = GetSessionRequest { namespace: context.namespace(), session_id, ..GetSessionRequest::default() };
    let mut claims = Vec::new();
    loop {
        let mut response = context.rpc.call(Repeat::Safe, &request).await?;
        let Some(session) = &mut response.session else { return Ok(response) };
        claims.append(&mut session.claims);
        match claims.last() {
            Some(last) if last.id > request.after_claim && session.claim_count > claims.len() as u64 => {
                request.after_claim = last.id;
            }
            _ => {
                session.claims = claims;
                return Ok(response);
            }
        }
    }
}

/// All sessions, merged into one response.
pub(super) async fn list_sessions(rpc: &Rpc, namespace: &str) -> Result<ListSessionsResponse, Failure> {
    let request = ListSessionsRequest { namespace: namespace.to_owned(), page_size: PAGE, page_token: String::new() };
    Ok(all_pages!(rpc, request, sessions))
}

pub async fn servers(context: &Context) -> Result<u8, Failure> {
    let all = list_servers(&context.rpc, &context.global.namespace).await?;
    context.output.message(&all, output::servers)
}

/// The servers, as the replying server sees them.
pub(super) async fn list_servers(rpc: &Rpc, namespace: &str) -> Result<ListServersResponse, Failure> {
    let request = ListServersRequest { namespace: namespace.to_owned() };
    rpc.call(Repeat::Safe, &request).await
}
