//! Observes locks, groups and sessions at the servers directly, bypassing the relays.

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use tenure_client::v1::{Claim, ErrorReason};
use tenure_client::{Client, ClientOptions, Error};
use tokio_stream::StreamExt;

/// Queries the servers about one namespace.
#[derive(Debug)]
pub struct Observer {
    client: Client,
}

impl Observer {
    /// Creates an observer of the servers on these ports.
    ///
    /// # Errors
    /// If there are none.
    pub fn start(ports: &[u16], namespace: &str) -> anyhow::Result<Self> {
        let endpoints = ports.iter().map(|port| format!("127.0.0.1:{port}"));
        Ok(Self { client: ClientOptions::new().endpoints(endpoints).namespace(namespace).connect()? })
    }

    /// The current state of the object in `until`: one of `lock`, `group`, `session` and `sessions`.
    ///
    /// # Errors
    /// If it names none, or no server replies.
    pub async fn state(&self, until: &Map<String, Value>) -> anyhow::Result<Value> {
        let name = |key: &str| until.get(key).and_then(Value::as_str);
        if let Some(name) = name("lock") {
            let lock = self.client.get_lock(name).await?;
            let claims = |claims: &[Claim]| claims.iter().map(claim).collect::<Vec<_>>();
            return Ok(json!({"lock": name, "holders": claims(&lock.holders), "waiters": claims(&lock.waiters)}));
        }
        if let Some(name) = name("group") {
            let group = self.client.get_group(name).await?;
            let members = group.members.iter().map(|member| {
                json!({"number": member.number, "session_id": member.session_id, "assignment": member.assignment})
            });
            return Ok(json!({
                "group": name,
                "members": members.collect::<Vec<_>>(),
                "leader": group.leader.map(|leader| leader.member),
                "config": group.config,
                "current": group.assignments_current,
            }));
        }
        if let Some(id) = name("session") {
            return match self.client.get_session(id).await {
                Ok(session) => Ok(json!({
                    "session": id,
                    "open": true,
                    "owner": session.owner,
                    "metadata": session.metadata,
                    "claims": session.claims.iter().map(claim).collect::<Vec<_>>(),
                })),
                Err(error) if is_gone(&error) => Ok(json!({"session": id, "open": false})),
                Err(error) => Err(error.into()),
            };
        }
        if until.contains_key("sessions") {
            let sessions: Result<Vec<_>, Error> = self.client.list_sessions().collect().await;
            let ids: Vec<String> = sessions?.into_iter().map(|session| session.id).collect();
            return Ok(json!({"sessions": ids}));
        }
        bail!("no object is named")
    }
}

/// The expected state: a number in place of a list is the length of the list.
///
/// # Errors
/// If it names no object.
pub fn expected_state(until: &Map<String, Value>) -> anyhow::Result<Value> {
    until.keys().next().context("no object is named")?;
    let lists = ["holders", "waiters", "members", "claims", "sessions"];
    let fields = until.iter().map(|(name, value)| match value {
        Value::Number(length) if lists.contains(&name.as_str()) => (name.clone(), json!({"length": length})),
        _ => (name.clone(), value.clone()),
    });
    Ok(Value::Object(fields.collect()))
}

fn is_gone(error: &Error) -> bool {
    matches!(error.reason(), Some(ErrorReason::SessionNotFound | ErrorReason::SessionEnded))
}

fn claim(claim: &Claim) -> Value {
    json!({
        "session_id": claim.session_id,
        "owner": claim.owner,
        "token": Some(claim.token).filter(|token| *token > 0),
        "state": claim.state().word(),
        "priority": claim.priority,
        "metadata": claim.metadata,
    })
}
