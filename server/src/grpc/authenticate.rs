//! Identifies the caller of each call, before any other work is done for it.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{Either, Ready, ready};
use http::header::AUTHORIZATION;
use http::{HeaderMap, Request, Response};
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};

use super::authorize::not_allowed;
use super::status::{self, invalid};
use crate::auth::{Access, Act, Caller, Identity, Unidentified, Verb};
use crate::transport::{Peer, grpc_only};

/// Open without credentials, because health checks have none.
const OPEN: &str = "/grpc.health.v1.Health/";

/// For other servers, which authenticate in their own way; the called service checks that.
const PEERS: &str = "/tenure.internal.v1.PeerService/";

/// Lists the methods: only for callers that may call some.
const REFLECTION: &str = "/grpc.reflection.";

/// Rejects requests that are not gRPC and calls of unidentified callers, and adds a [`Caller`] to the extensions of the others.
#[derive(Clone)]
pub struct IdentifyLayer(Access);

impl IdentifyLayer {
    /// Identifies callers by these credentials.
    #[must_use]
    pub fn new(access: Access) -> Self {
        Self(access)
    }
}

impl<S> Layer<S> for IdentifyLayer {
    type Service = Identify<S>;

    fn layer(&self, inner: S) -> Identify<S> {
        Identify { access: self.0.clone(), inner }
    }
}

/// A service behind [`IdentifyLayer`].
#[derive(Clone)]
pub struct Identify<S> {
    access: Access,
    inner: S,
}

impl<S> Identify<S> {
    fn caller(&self, request: &Request<Body>) -> Result<Caller, Status> {
        check_once(request.headers())?;
        let unknown = Peer::default();
        let peer = request.extensions().get::<Arc<Peer>>().map_or(&unknown, |peer| &**peer);
        if peer.server.is_some() && request.uri().path().starts_with(PEERS) {
            return Ok(self.access.anonymous(peer));
        }
        match self.access.identify(request.headers(), peer) {
            Err(_) if request.uri().path().starts_with(OPEN) => Ok(self.access.anonymous(peer)),
            Ok(caller) if request.uri().path().starts_with(REFLECTION) && caller.rights().are_none() => {
                caller.note_refused("policy", || Act::called(request.uri().path()));
                let identity = caller.identity.as_ref().map_or("", Identity::as_str);
                let status = not_allowed(identity, Verb::Read, "", "");
                status::count(&status, caller.refusals());
                Err(status)
            }
            identified => identified.map_err(|why| refuse(&self.access, request.uri().path(), peer, why)),
        }
    }
}

/// Checks that there is at most one token: an intermediary may use a different one than this server.
///
/// # Errors
/// If there are more.
fn check_once(headers: &HeaderMap) -> Result<(), Status> {
    if headers.get_all(AUTHORIZATION).iter().nth(1).is_some() {
        return Err(invalid(AUTHORIZATION, "at most once"));
    }
    Ok(())
}

/// Checks that the caller is identified, before any other work is done for the call.
///
/// # Errors
/// If it is not; the rejection is written to the audit log and counted.
pub(crate) fn check_identified(access: &Access, path: &str, headers: &HeaderMap, peer: &Peer) -> Result<(), Status> {
    check_once(headers)?;
    access.identify(headers, peer).map(drop).map_err(|why| refuse(access, path, peer, why))
}

fn refuse(access: &Access, path: &str, peer: &Peer, why: Unidentified) -> Status {
    access.note_unidentified(path, peer, why);
    let status = Status::from(why);
    status::count(&status, &access.refusals);
    status
}

impl<S> Service<Request<Body>> for Identify<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(rejection) = grpc_only::rejection(&request) {
            return Either::Right(ready(Ok(rejection)));
        }
        match self.caller(&request) {
            Ok(caller) => {
                request.extensions_mut().insert(caller);
                Either::Left(self.inner.call(request))
            }
            Err(status) => Either::Right(ready(Ok(status.into_http()))),
        }
    }
}
