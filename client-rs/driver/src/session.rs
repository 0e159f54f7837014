//! Clients and sessions.

use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use tenure_client::transport::{Secret, Security};
use tenure_client::{ClientOptions, Session, SessionState};

use crate::answer::{self, Answer, Failure};
use crate::request::{Connect, SessionFields};
use crate::things::Things;

pub(crate) fn connect(fields: Connect, things: &Things) -> Answer {
    let mut options = ClientOptions::new();
    if let Some(endpoints) = fields.endpoints {
        options = options.endpoints(endpoints);
    }
    if let Some(namespace) = fields.namespace {
        options = options.namespace(namespace);
    }
    if let Some(timeout) = fields.connect_timeout_ms {
        options = options.connect_timeout(Duration::from_millis(timeout));
    }
    if let Some(timeout) = fields.call_timeout_ms {
        options = options.call_timeout(Duration::from_millis(timeout));
    }
    let Connect { ca_cert, client_cert, client_key, tls_server_name, token, token_file, .. } = fields;
    let token = token.map(Secret);
    let security = Security { ca_cert, client_cert, client_key, tls_server_name, token, token_file };
    options = options.security(security);
    things.clients.put(fields.client, options.connect()?);
    Ok(json!({}))
}

pub(crate) async fn open(client: &str, name: String, fields: &SessionFields, things: &Things) -> Answer {
    let session = things.clients.get(client)?.session(fields.full()).await?;
    let session = things.sessions.put(name, session);
    Ok(json!({
        "session_id": session.id(),
        "ttl_ms": session.ttl().as_millis(),
        "disconnect_grace_ms": session.disconnect_grace().map(|grace| grace.as_millis()),
    }))
}

/// The session's state, computed by the clock.
pub(crate) fn state(session: &Session) -> Value {
    answer::state(&session.state(), session.is_valid())
}

pub(crate) async fn await_state(session: &Session, wanted: &str) -> Answer {
    let is_wanted = |state: &SessionState| {
        use SessionState::{AtRisk, Healthy, Lost};
        matches!((wanted, state), (_, Lost(_)) | ("healthy", Healthy) | ("at_risk", AtRisk))
    };
    if !["healthy", "at_risk", "lost"].contains(&wanted) {
        return Err(Failure::Driver(format!("there is no state \"{wanted}\"")));
    }
    let mut states = session.states();
    while states.next().await.is_some_and(|state| !is_wanted(&state)) {}
    Ok(state(session))
}
