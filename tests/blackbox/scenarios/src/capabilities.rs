//! The requests that a client's driver supports, and so the scenarios that it can run.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use serde::Deserialize;
use serde_json::Map;
use tokio::time::timeout;

use crate::clients::ClientSpec;
use crate::driver::Driver;
use crate::participant::START;
use crate::scenario::{Connect, Scenario};
use crate::step::Action;

/// The requests that a driver supports.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Capabilities {
    /// The fields of each request. None: everything is supported.
    fields: Option<BTreeMap<String, Vec<String>>>,
}

impl Capabilities {
    /// Queries a driver that supports a part of the requests.
    ///
    /// # Errors
    /// If it does not reply.
    pub(crate) async fn of(client: &ClientSpec) -> anyhow::Result<Self> {
        if !client.partial {
            return Ok(Self::default());
        }
        let mut driver = Driver::start(client.driver()?)?;
        let (_, answer) = driver.channel.ask("hello", &Map::new()).await?;
        let answered = timeout(START, answer).await.context("the driver did not start")?;
        let answer = answered.context("the driver ended")?.answer.map_err(|error| anyhow!("hello: {error}"))?;
        let fields = answer.get("fields").context("hello names no fields")?;
        Ok(Self { fields: Some(serde_json::from_value(fields.clone())?) })
    }

    /// Whether a scenario uses only supported requests.
    pub(crate) fn cover(&self, scenario: &Scenario) -> bool {
        let Some(known) = &self.fields else { return true };
        let is_known = |request: &str, field: &String| known.get(request).is_some_and(|fields| fields.contains(field));
        let connects = match &scenario.connect {
            Connect::With(fields) => fields.keys().all(|field| is_known("connect", field)),
            Connect::Whether(_) => true,
        };
        connects
            && scenario.steps.iter().all(|step| match &step.action {
                Action::Request(request) => {
                    known.contains_key(&request.kind) && request.with.keys().all(|field| is_known(&request.kind, field))
                }
                Action::Events(_) => known.contains_key("next"),
                _ => true,
            })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_supported(more: &str) -> bool {
        let fields = json!({"connect": ["client"], "acquire": ["client", "names"], "cancel": ["request"]});
        let known = Capabilities { fields: serde_json::from_value(fields).expect("fields") };
        let text = format!("{{title: t, promise: p, clients: [a], {more}}}");
        known.cover(&Scenario::parse("any", &text).expect("a scenario"))
    }

    #[test]
    fn scenarios_with_only_known_requests_are_supported() {
        assert!(is_supported("steps: [{at: a, do: acquire, with: {client: c, names: [x]}, start: s}, {pending: [s]}]"));
        assert!(!is_supported("steps: [{at: a, do: acquire, with: {client: c, names: [x], priority: 1}}]"));
        assert!(!is_supported("steps: [{at: a, do: hold, with: {guard: g}}]"));
        assert!(!is_supported("steps: [{at: a, notified: w, events: []}]"));
        assert!(!is_supported("connect: {token: t}, steps: [{at: a, do: cancel, with: {request: s}}]"));
        assert!(
            Capabilities::default().cover(
                &Scenario::parse("any", "{title: t, promise: p, clients: [a], steps: [{at: a, do: hold}]}")
                    .expect("a scenario")
            )
        );
    }
}
