//! Calls the services of this process as if over the network.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Version};
use http_body_util::Full;
use tonic::Status;
use tonic::body::Body;
use tower::ServiceExt;

use super::Service;
use crate::transport::Peer;

/// Calls a method. Of the caller's headers, only the authorization is passed on.
///
/// # Errors
/// If the message or the method cannot form a call.
pub(super) async fn call(
    service: Service,
    method: &str,
    message: &[u8],
    headers: &HeaderMap,
    address: SocketAddr,
) -> Result<Response<Body>, Status> {
    let mut wire = BytesMut::with_capacity(message.len() + 5);
    wire.put_u8(0);
    wire.put_u32(u32::try_from(message.len()).map_err(|_| Status::out_of_range("the message is too large"))?);
    wire.extend_from_slice(message);
    let mut request = Request::new(Body::new(Full::new(Bytes::from(wire))));
    *request.method_mut() = Method::POST;
    *request.version_mut() = Version::HTTP_2;
    *request.uri_mut() = format!("/{method}").parse().map_err(|_| Status::unimplemented(""))?;
    let named = request.headers_mut();
    named.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    named.insert(TE, HeaderValue::from_static("trailers"));
    for shown in headers.get_all(AUTHORIZATION) {
        named.append(AUTHORIZATION, shown.clone());
    }
    request.extensions_mut().insert(Arc::new(Peer { address: Some(address), ..Peer::default() }));
    let Ok(response) = service.oneshot(request).await;
    Ok(response)
}
