//! The events of watches, one by one: the server decides how events are grouped into items.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use anyhow::{anyhow, bail, ensure};
use serde_json::Value;

use crate::execution::{Execution, time_limit};
use crate::matcher::{compare, resolve};
use crate::step::Events;

/// The received and not yet compared events of each watch of each client.
#[derive(Default)]
pub(crate) struct ReceivedEvents(BTreeMap<(String, String), Pending>);

#[derive(Default)]
struct Pending {
    events: VecDeque<Value>,
    group_events: VecDeque<Value>,
    /// The revision of the last item.
    revision: u64,
}

impl Execution<'_> {
    /// Compares the next events with the expected ones.
    pub(crate) async fn expect_events(&mut self, number: usize, expected: &Events) -> anyhow::Result<()> {
        let key = (expected.at.clone(), expected.watch.clone());
        let mut received = self.received.0.remove(&key).unwrap_or_default();
        let (began, within) = (Instant::now(), time_limit(expected.within_ms));
        let (events, group_events) =
            (expected.events.len() * expected.times, expected.group_events.len() * expected.times);
        while received.events.len() < events || received.group_events.len() < group_events {
            let left = within.saturating_sub(began.elapsed());
            let item = self.next_item(&expected.at, &expected.watch, left).await;
            let item = item.map_err(|error| error.context(received.show()))?;
            self.trace(number, || format!("{} < {item}", expected.at));
            received.take(&item)?;
        }
        for (list, of_groups) in [(&expected.events, false), (&expected.group_events, true)] {
            for event in list.iter().cycle().take(list.len() * expected.times) {
                let next = if of_groups { received.group_events.pop_front() } else { received.events.pop_front() };
                let next = next.unwrap_or_default();
                let wanted = resolve(event, &self.stored);
                compare(event, &next, &mut self.stored)
                    .map_err(|mismatch| anyhow!("{mismatch}\n    in {next}, not {wanted}"))?;
            }
        }
        self.received.0.insert(key, received);
        Ok(())
    }
}

impl Pending {
    fn take(&mut self, item: &Value) -> anyhow::Result<()> {
        let revision = item.get("revision").and_then(Value::as_u64).unwrap_or_default();
        match item.get("kind").and_then(Value::as_str) {
            Some("progress") => {
                ensure!(revision >= self.revision, "progress goes back from {} to {revision}", self.revision);
            }
            Some("events") => {
                ensure!(revision > self.revision, "an event of {revision} arrives after {}", self.revision);
                let list = |name: &str| item.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
                self.events.extend(list("events"));
                self.group_events.extend(list("group_events"));
            }
            _ => bail!("expected events, got {item}"),
        }
        self.revision = revision;
        Ok(())
    }

    fn show(&self) -> String {
        let all = self.events.iter().chain(&self.group_events).map(Value::to_string);
        format!("received so far: [{}]", all.collect::<Vec<_>>().join(", "))
    }
}
