//! Rejects requests that are not gRPC or have too many headers. Other methods than POST, and other content types, are
//! requests that a foreign web page can make a browser send with the user's client certificate.

use http::{Method, Request, Response, StatusCode, header};
use tonic::Status;
use tonic::body::Body;

const GRPC: &str = "application/grpc";

/// The maximum number of headers in a request. Each occupies some hundred bytes here, but may take a single byte on the
/// wire (CVE-2026-49975).
const HEADERS: usize = 64;

/// The response to a request that is rejected.
pub(crate) fn rejection<B>(request: &Request<B>) -> Option<Response<Body>> {
    if let Some(status) = refusal(request) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        return Some(response);
    }
    check_headers(request).err().map(Status::into_http)
}

/// The status for a request that is not gRPC.
fn refusal<B>(request: &Request<B>) -> Option<StatusCode> {
    if request.method() != Method::POST {
        return Some(StatusCode::METHOD_NOT_ALLOWED);
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_grpc = kind.strip_prefix(GRPC).is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']));
    (!is_grpc).then_some(StatusCode::UNSUPPORTED_MEDIA_TYPE)
}

/// Checks the number of headers.
///
/// # Errors
/// If there are more than the limit.
fn check_headers<B>(request: &Request<B>) -> Result<(), Status> {
    if request.headers().len() > HEADERS {
        return Err(Status::resource_exhausted(format!("headers: at most {HEADERS}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: &str, kind: &str) -> Option<u16> {
        let request = Request::builder().method(method).header("content-type", kind).body(()).expect("a request");
        refusal(&request).map(|status| status.as_u16())
    }

    #[test]
    fn request_that_is_not_a_grpc_post_is_rejected() {
        for kind in ["application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8"] {
            assert_eq!(status("POST", kind), None, "{kind}");
            assert_eq!(status("GET", kind), Some(405), "{kind}");
        }
        for kind in ["", "text/plain", "application/json", "application/grpc-web", "application/grpcx"] {
            assert_eq!(status("POST", kind), Some(415), "{kind}");
        }
        let bare = Request::builder().method("POST").body(()).expect("a request");
        assert_eq!(refusal(&bare), Some(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }

    #[test]
    fn headers_are_bounded() {
        let with = |more| {
            let request = Request::builder().method("POST").header("content-type", GRPC);
            let request = (0..more).fold(request, |request, _| request.header("x-more", ""));
            check_headers(&request.body(()).expect("a request")).map_err(|status| status.message().to_owned())
        };
        assert_eq!(with(HEADERS - 1), Ok(()));
        assert_eq!(with(HEADERS), Err("headers: at most 64".to_owned()));
    }
}
