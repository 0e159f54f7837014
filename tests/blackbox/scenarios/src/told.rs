//! The events of watches, one by one: the server decides how events are grouped into items.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use anyhow::{anyhow, bail, ensure};
use serde_json::Value;

use crate::matcher::{compare, resolve};
use crate::play::{Play, patience};
use crate::step::Told;

/// The received and not yet compared events of each watch of each client.
#[derive(Default)]
pub(crate) struct Heard(BTreeMap<(String, String), Events>);

#[derive(Default)]
struct Events {
    events: VecDeque<Value>,
    group_events: VecDeque<Value>,
    /// The revision of the last item.
    revision: u64,
}

impl Play<'_> {
    /// Compares the next events with the expected ones.
    pub(crate) async fn told(&mut self, number: usize, told: &Told) -> anyhow::Result<()> {
        let key = (told.at.clone(), told.watch.clone());
        let mut heard = self.heard.0.remove(&key).unwrap_or_default();
        let (began, within) = (Instant::now(), patience(told.within_ms));
        let (events, group_events) = (told.events.len() * told.times, told.group_events.len() * told.times);
        while heard.events.len() < events || heard.group_events.len() < group_events {
            let left = within.saturating_sub(began.elapsed());
            let item = self.next_item(&told.at, &told.watch, left).await;
            let item = item.map_err(|error| error.context(heard.show()))?;
            self.say(number, || format!("{} < {item}", told.at));
            heard.take(&item)?;
        }
        for (expected, kind) in [(&told.events, false), (&told.group_events, true)] {
            for expected in expected.iter().cycle().take(expected.len() * told.times) {
                let next = if kind { heard.group_events.pop_front() } else { heard.events.pop_front() };
                let next = next.unwrap_or_default();
                let wanted = resolve(expected, &self.kept);
                compare(expected, &next, &mut self.kept)
                    .map_err(|mismatch| anyhow!("{mismatch}\n    in {next}, not {wanted}"))?;
            }
        }
        self.heard.0.insert(key, heard);
        Ok(())
    }
}

impl Events {
    fn take(&mut self, item: &Value) -> anyhow::Result<()> {
        let revision = item.get("revision").and_then(Value::as_u64).unwrap_or_default();
        match item.get("kind").and_then(Value::as_str) {
            Some("progress") => {
                ensure!(revision >= self.revision, "progress goes back from {} to {revision}", self.revision);
            }
            Some("events") => {
                ensure!(revision > self.revision, "what happened at {revision} is told after {}", self.revision);
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
        format!("heard so far: [{}]", all.collect::<Vec<_>>().join(", "))
    }
}
