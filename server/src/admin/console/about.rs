//! The information that the page needs before its first call.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::HeaderMap;
use serde::Serialize;

use super::error::CallError;
use super::{Console, gate};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct About {
    version: &'static str,
    /// What the page may do, and with which credentials.
    access: Access,
    /// The host and port for clients. Empty until the server has started.
    endpoint: String,
    /// Whether clients use TLS.
    tls: bool,
    /// The display name of the server.
    label: String,
    /// The reason, if `access` is `closed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<CallError>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Access {
    /// The server has not started yet.
    Starting,
    /// No credentials are required; read-only.
    ReadOnly,
    /// A token is required; the policy determines what it may do.
    Token,
    /// No access.
    Closed,
}

pub(super) async fn about(State(console): State<Console>, headers: HeaderMap) -> Result<impl IntoResponse, CallError> {
    let served = console.0.served.get();
    let is_open = served.is_some_and(|served| served.access.is_open());
    let why = if is_open { gate::check_place(console.0.admin).err() } else { None };
    let access = match (served, &why) {
        (None, _) => Access::Starting,
        (Some(_), Some(_)) => Access::Closed,
        (Some(_), None) if is_open => Access::ReadOnly,
        (Some(_), None) => Access::Token,
    };
    if matches!(access, Access::Starting | Access::ReadOnly) {
        gate::check_host(&headers)?;
    }
    Ok(Json(About {
        version: env!("CARGO_PKG_VERSION"),
        access,
        endpoint: served.map(|served| served.endpoint.clone()).unwrap_or_default(),
        tls: served.is_some_and(|served| served.has_tls),
        label: served.map(|served| served.label.clone()).unwrap_or_default(),
        why,
    }))
}
