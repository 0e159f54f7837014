//! What the page has to know before it can ask for anything.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::HeaderMap;
use serde::Serialize;

use super::refusal::Refusal;
use super::{Console, gate};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct About {
    version: &'static str,
    /// What the page is let do, and by what.
    access: Access,
    /// Where clients reach the server, as host and port. Empty until it has started.
    endpoint: String,
    /// Whether they speak TLS with it.
    tls: bool,
    /// What people call it.
    label: String,
    /// If `access` is `closed`: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Refusal>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Access {
    /// The server has not started yet.
    Starting,
    /// Nobody is asked who he is, and may only read.
    ReadOnly,
    /// Whoever shows a token may do what the policy says.
    Token,
    /// Nothing.
    Closed,
}

pub(super) async fn about(State(console): State<Console>, headers: HeaderMap) -> Result<impl IntoResponse, Refusal> {
    let version = env!("CARGO_PKG_VERSION");
    let Some(served) = console.0.served.get() else {
        gate::check_host(&headers)?;
        let (endpoint, label) = (String::new(), String::new());
        return Ok(Json(About { version, access: Access::Starting, endpoint, tls: false, label, why: None }));
    };
    let why = if served.is_open { gate::check_place(console.0.admin).err() } else { None };
    if served.is_open && why.is_none() {
        gate::check_host(&headers)?;
    }
    let access = match (&why, served.is_open) {
        (Some(_), _) => Access::Closed,
        (None, true) => Access::ReadOnly,
        (None, false) => Access::Token,
    };
    let (endpoint, label) = (served.endpoint.clone(), served.label.clone());
    Ok(Json(About { version, access, endpoint, tls: served.has_tls, label, why }))
}
