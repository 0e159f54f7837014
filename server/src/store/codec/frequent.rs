//! Decodes the most frequent events directly. serde buffers the fields of a tagged and flattened type, which takes three
//! times as long: servers that follow the log decode every event.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use tenure_core::{
    ClaimSpec, EndReason, Event, Eviction, Metadata, Millis, Mode, Names, Recorded, Revision, ServerId, Text, no_labels,
};

/// An event of the log.
pub(super) struct StoredEvent(pub(super) Recorded);

/// All fields of the events that queue, grant or end a claim.
#[derive(Deserialize)]
struct ClaimEvent {
    claim: Option<Revision>,
    token: Option<Revision>,
    session: Text,
    opened: Revision,
    owner: Text,
    names: Names,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    priority: i32,
    #[serde(default = "no_labels")]
    metadata: Metadata,
    #[serde(default, rename = "min_hold_ms")]
    min_hold: Millis,
    waiting_server: Option<ServerId>,
    #[serde(default)]
    declared: u64,
    reason: Option<EndReason>,
    by: Option<Eviction>,
    #[serde(default)]
    still_held: Vec<Text>,
    longest_pause_ms: Option<u64>,
}

impl ClaimEvent {
    fn event<E: Error>(self, kind: &str) -> Result<Event, E> {
        let Self {
            session, opened, owner, names, mode, priority, metadata, min_hold, waiting_server, declared, ..
        } = self;
        let spec =
            ClaimSpec { session, opened, owner, names, mode, priority, metadata, min_hold, waiting_server, declared };
        let (claim, spec) = (self.claim.ok_or_else(|| E::missing_field("claim")), Arc::new(spec));
        Ok(match kind {
            QUEUED => Event::ClaimQueued(spec),
            GRANTED => Event::ClaimGranted { claim: claim?, spec },
            _ => Event::ClaimEnded {
                claim: claim?,
                token: self.token,
                spec,
                reason: self.reason.ok_or_else(|| E::missing_field("reason"))?,
                eviction: self.by,
                still_held: self.still_held,
                longest_pause: self.longest_pause_ms.map(Duration::from_millis),
            },
        })
    }
}

const QUEUED: &str = "claim_queued";
const GRANTED: &str = "claim_granted";
const ENDED: &str = "claim_ended";

impl<'de> Deserialize<'de> for StoredEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields).map(Self)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Recorded;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Recorded, A::Error> {
        let (mut revision, mut others) = (None, Map::new());
        while let Some(key) = map.next_key::<&str>()? {
            match (key, revision) {
                // Encoders write these two first.
                ("revision", None) if others.is_empty() => revision = Some(map.next_value::<Revision>()?),
                ("event", Some(revision)) if others.is_empty() => {
                    let kind = map.next_value::<&str>()?;
                    if matches!(kind, QUEUED | GRANTED | ENDED) {
                        let event = ClaimEvent::deserialize(MapAccessDeserializer::new(map))?.event(kind)?;
                        return Ok(Recorded { revision, event });
                    }
                    others.insert(key.to_owned(), kind.into());
                }
                _ => drop(others.insert(key.to_owned(), map.next_value()?)),
            }
        }
        others.extend(revision.map(|revision| ("revision".to_owned(), revision.0.into())));
        Recorded::deserialize(Value::Object(others)).map_err(Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(json: &str) -> Result<Recorded, String> {
        serde_json::from_str::<StoredEvent>(json).map(|stored| stored.0).map_err(|error| error.to_string())
    }

    #[test]
    fn event_decodes_as_serde_derives_it() {
        let spec = r#""session":"s","opened":1,"owner":"o","names":["a","b"]"#;
        let more = r#""mode":{"permits":{"permits":2,"limit":3}},"priority":-1,"metadata":{"k":"v"},"min_hold_ms":5,"waiting_server":7,"declared":2"#;
        let end = r#""reason":"evicted","by":{"operator":"eve","note":""},"still_held":["b"],"longest_pause_ms":9"#;
        for json in [
            format!(r#"{{"revision":4,"event":"claim_queued",{spec},{more}}}"#),
            format!(r#"{{"revision":4,"event":"claim_granted","claim":3,{spec}}}"#),
            format!(r#"{{"revision":4,"event":"claim_ended","claim":3,{spec},"reason":"released"}}"#),
            format!(r#"{{"revision":4,"event":"claim_ended","claim":3,"token":3,{spec},{more},{end}}}"#),
            format!(r#"{{"event":"claim_granted","revision":4,"claim":3,{spec}}}"#),
            r#"{"revision":4,"event":"client_ended","client":"c"}"#.to_owned(),
        ] {
            let expected: Recorded = serde_json::from_str(&json).expect("an event");
            assert_eq!(decoded(&json), Ok(expected), "{json}");
        }
    }

    #[test]
    fn missing_field_is_an_error() {
        let spec = r#""session":"s","opened":1,"owner":"o","names":["a"]"#;
        for (json, field) in [
            (format!(r#"{{"revision":4,"event":"claim_granted",{spec}}}"#), "claim"),
            (format!(r#"{{"revision":4,"event":"claim_ended","claim":3,{spec}}}"#), "reason"),
            (r#"{"revision":4,"event":"claim_queued"}"#.to_owned(), "session"),
            (r#"{"event":"client_ended","client":"c"}"#.to_owned(), "revision"),
        ] {
            let error = decoded(&json).expect_err("incomplete");
            assert!(error.contains(&format!("missing field `{field}`")), "{error}");
        }
    }
}
