//! The encoding of the log: what one version has written, every later one reads, and writes the same.

use std::collections::HashSet;

use serde_json::Value;
use tenure_server::store::{decode_events, encode_events};

use crate::samples::{batch, every_event};

/// Batches in their encoding: one for each event, and for each set of fields that it may have. Lines are only added.
const LOG: &str = include_str!("encoding/log.jsonl");

/// The events of a batch, with their fields.
fn fields(line: &str) -> Vec<(Value, Value, Vec<String>)> {
    let Ok(Value::Array(events)) = serde_json::from_str(line) else { panic!("not an array: {line}") };
    let keys = |event: &Value| event.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
    events.iter().map(|event| (event["event"].clone(), event["change"].clone(), keys(event))).collect()
}

#[test]
fn log_of_an_earlier_version_is_read_and_written_again() {
    for line in LOG.lines() {
        let events = decode_events(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(encode_events(&events), line);
    }
}

#[test]
fn every_event_is_in_the_log() {
    let known: HashSet<_> = LOG.lines().map(fields).collect();
    for event in every_event() {
        let line = encode_events(&batch("n", 0, vec![event]).events);
        assert!(known.contains(&fields(&line)), "a line is missing in log.jsonl, such as {line}");
    }
}
