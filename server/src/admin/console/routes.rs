//! The HTTP routes of the console.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Path, State};
use axum::middleware::map_response;
use axum::response::{Redirect, Response};
use axum::routing::{get, post};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::time::timeout;
use tonic::Code;

use super::error::CallError;
use super::{Console, Served, about, answer, calls, contract, files, gate};
use crate::grpc::authenticate::check_identified;
use crate::transport::Peer;

/// The maximum size of a request, in bytes.
const REQUEST: usize = 256 * 1024;

/// Timeout for receiving a request.
const COMING: Duration = Duration::from_secs(10);

/// Timeout of a call, or of a stream's first message: longer than a planned handoff usually takes. The operation is not
/// undone.
const CALL: Duration = Duration::from_secs(60);

/// The content security policy: only resources of this origin.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Console {
    pub(crate) fn router(self) -> Router {
        Router::new()
            .route("/", get(|| async { Redirect::temporary("/console/") }))
            .route("/console", get(|| async { Redirect::temporary("/console/") }))
            .route("/console/", get(files::index))
            .route("/console/{*file}", get(files::other))
            .route("/console/about", get(about::about))
            .route("/console/api/{service}/{method}", post(call))
            .layer(map_response(guarded))
            .with_state(self)
    }
}

/// Adds security headers to every answer.
async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(answer::TIME, answer::now());
    response
}

async fn call(
    State(console): State<Console>,
    Path((service, method)): Path<(String, String)>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, CallError> {
    let starting = || CallError::own(Code::Unavailable, "STARTING", "the server has not started yet");
    let served = console.0.served.get().ok_or_else(starting)?;
    let unknown = || {
        let error = CallError::own(Code::Unimplemented, "UNKNOWN_METHOD", "the contract has no such method");
        error.with_status(StatusCode::NOT_FOUND)
    };
    let asked = console.0.contract.method(&service, &method).ok_or_else(unknown)?;
    let name = format!("{service}/{method}");
    check(&console, served, &headers, &name)?;
    if asked.is_client_streaming() {
        let why = format!("{name} takes a stream of requests, which the console cannot send");
        return Err(CallError::own(Code::Unimplemented, "STREAMING", why));
    }
    // Before the call occupies any resource: unidentified callers must not exclude others.
    let peer = Arc::new(Peer { address: Some(address), ..Peer::default() });
    check_identified(&served.access, &format!("/{name}"), &headers, &peer)?;
    let limiter = if asked.is_server_streaming() { &console.0.streams } else { &console.0.calls };
    let busy = || {
        CallError::own(
            Code::ResourceExhausted,
            "BUSY",
            "too many console calls in progress, in total or from this address: retry later",
        )
    };
    let permit = limiter.acquire(Some(address.ip())).ok_or_else(busy)?;
    let json = read(body).await?;
    let invalid = |why| CallError::own(Code::InvalidArgument, "INVALID_JSON", why);
    let message = contract::encode(asked.input(), &json).map_err(invalid)?;
    let answer = async {
        let service = served.service.clone();
        let messages = calls::call(service, &name, message, asked.output(), &headers, peer).await?;
        match asked.is_server_streaming() {
            true => answer::lines(messages, permit).await,
            false => answer::whole(messages).await,
        }
    };
    let late = || {
        let why = format!("no response within {CALL:?}: the call may still take effect");
        CallError::own(Code::DeadlineExceeded, "LATE", why)
    };
    timeout(CALL, answer).await.map_err(|_| late())?
}

/// Whether this call may be made by this page, from this place.
fn check(console: &Console, served: &Served, headers: &HeaderMap, method: &str) -> Result<(), CallError> {
    let is_open = served.access.is_open();
    if is_open {
        gate::check_place(console.0.admin)?;
        gate::check_host(headers)?;
    }
    gate::check_site(headers, is_open)?;
    gate::check_kind(headers)?;
    if is_open { gate::check_reading(method) } else { Ok(()) }
}

async fn read(body: Body) -> Result<bytes::Bytes, CallError> {
    let late = || CallError::own(Code::DeadlineExceeded, "LATE", format!("request not received within {COMING:?}"));
    let large = |_| {
        let error = CallError::own(Code::InvalidArgument, "TOO_LARGE", format!("request: at most {REQUEST} bytes"));
        error.with_status(StatusCode::PAYLOAD_TOO_LARGE)
    };
    timeout(COMING, to_bytes(body, REQUEST)).await.map_err(|_| late())?.map_err(large)
}
