//! Errors as JSON, with the facts of `google.rpc.ErrorInfo`.

use std::collections::BTreeMap;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use tonic::{Code, Status};
use tonic_types::StatusExt;

/// The error of a call, returned as one object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallError {
    /// The name of a gRPC code, such as `PERMISSION_DENIED`.
    code: &'static str,
    /// The reason, as one word: from the contract's `ErrorReason`, or one of the console's own, which begin with
    /// `CONSOLE_`.
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    message: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// How long to wait before a retry, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<f64>,
    #[serde(skip)]
    status: StatusCode,
}

impl CallError {
    /// An error of the console itself.
    pub(super) fn own(code: Code, reason: &str, message: impl Into<String>) -> Self {
        let (code, status) = named(code);
        let (reason, message) = (format!("CONSOLE_{reason}"), message.into());
        Self { code, reason, message, metadata: BTreeMap::new(), retry_after: None, status }
    }

    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }
}

impl From<Status> for CallError {
    fn from(error: Status) -> Self {
        let details = error.get_error_details();
        let (code, status) = named(error.code());
        let (reason, metadata) = details
            .error_info()
            .map(|info| (info.reason.clone(), info.metadata.clone().into_iter().collect()))
            .unwrap_or_default();
        let wait = details.retry_info().and_then(|retry| retry.retry_delay);
        let retry_after = wait.map(|wait| wait.as_secs_f64());
        Self { code, reason, message: error.message().to_owned(), metadata, retry_after, status }
    }
}

impl IntoResponse for CallError {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}

/// The code's name and HTTP status, as in `google.rpc.Code`.
fn named(code: Code) -> (&'static str, StatusCode) {
    match code {
        Code::Ok => ("OK", StatusCode::OK),
        Code::Cancelled => ("CANCELLED", StatusCode::SERVICE_UNAVAILABLE),
        Code::Unknown => ("UNKNOWN", StatusCode::INTERNAL_SERVER_ERROR),
        Code::InvalidArgument => ("INVALID_ARGUMENT", StatusCode::BAD_REQUEST),
        Code::DeadlineExceeded => ("DEADLINE_EXCEEDED", StatusCode::GATEWAY_TIMEOUT),
        Code::NotFound => ("NOT_FOUND", StatusCode::NOT_FOUND),
        Code::AlreadyExists => ("ALREADY_EXISTS", StatusCode::CONFLICT),
        Code::PermissionDenied => ("PERMISSION_DENIED", StatusCode::FORBIDDEN),
        Code::ResourceExhausted => ("RESOURCE_EXHAUSTED", StatusCode::TOO_MANY_REQUESTS),
        Code::FailedPrecondition => ("FAILED_PRECONDITION", StatusCode::BAD_REQUEST),
        Code::Aborted => ("ABORTED", StatusCode::CONFLICT),
        Code::OutOfRange => ("OUT_OF_RANGE", StatusCode::BAD_REQUEST),
        Code::Unimplemented => ("UNIMPLEMENTED", StatusCode::NOT_IMPLEMENTED),
        Code::Internal => ("INTERNAL", StatusCode::INTERNAL_SERVER_ERROR),
        Code::Unavailable => ("UNAVAILABLE", StatusCode::SERVICE_UNAVAILABLE),
        Code::DataLoss => ("DATA_LOSS", StatusCode::INTERNAL_SERVER_ERROR),
        Code::Unauthenticated => ("UNAUTHENTICATED", StatusCode::UNAUTHORIZED),
    }
}
