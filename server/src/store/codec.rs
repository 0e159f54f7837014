//! The stored form of events: a JSON array for each batch, one flat object for each event, with the names that the
//! views use. All SQL stores keep their log in this form. It is derived from the types of the core; only a handoff is
//! written as two events.

mod frequent;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serializer as _;
use serde_json::{Serializer, Value, json};
use tenure_core::{EndReason, Event, Metadata, Recorded, Revision, no_labels};

use self::frequent::StoredEvent;

/// The length of most events, in bytes.
const USUAL_EVENT: usize = 256;

/// Stored data cannot be read: it is damaged, or written by a newer version.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// The data is not the expected JSON.
    #[error("stored data is unreadable, damaged or written by a newer version: {0}")]
    Json(#[from] serde_json::Error),
    /// Two events have the same revision, but are not a handoff.
    #[error("stored data has two events at revision {0} that are not a handoff")]
    Pair(Revision),
}

/// Encodes the events of a batch as JSON.
#[must_use]
pub fn encode_events(events: &[Recorded]) -> String {
    let mut json = Vec::with_capacity(events.len() * USUAL_EVENT);
    let written = Serializer::new(&mut json).collect_seq(events.iter().flat_map(split));
    written.ok().and_then(|()| String::from_utf8(json).ok()).expect("every event has an encoding")
}

/// A handoff as two events at the same revision, the end of one claim and the grant of another, so that the views need
/// no knowledge of handoffs. Other events as they are.
fn split(recorded: &Recorded) -> impl Iterator<Item = Cow<'_, Recorded>> {
    let revision = recorded.revision;
    let events = match &recorded.event {
        Event::ClaimTransferred { from, from_token, from_spec, still_held, longest_pause, claim, spec } => {
            let ended = Event::ClaimEnded {
                claim: *from,
                token: Some(*from_token),
                spec: from_spec.clone(),
                reason: EndReason::Transferred,
                eviction: None,
                still_held: still_held.clone(),
                longest_pause: *longest_pause,
            };
            let granted = Event::ClaimGranted { claim: *claim, spec: spec.clone() };
            [ended, granted].map(|event| Some(Cow::Owned(Recorded { revision, event })))
        }
        _ => [Some(Cow::Borrowed(recorded)), None],
    };
    events.into_iter().flatten()
}

/// Decodes the events of a batch from JSON.
///
/// # Errors
/// If the JSON is invalid, or written by a newer version with events that this one does not know.
pub fn decode_events(json: &str) -> Result<Vec<Recorded>, CodecError> {
    let stored: Vec<StoredEvent> = serde_json::from_str(json)?;
    let mut events: Vec<Recorded> = stored.into_iter().map(|StoredEvent(recorded)| recorded).collect();
    let mut unpaired = Ok(());
    events.dedup_by(|second, first| {
        let is_pair = second.revision == first.revision;
        if is_pair && !join(&mut first.event, &second.event) {
            unpaired = Err(CodecError::Pair(first.revision));
        }
        is_pair
    });
    unpaired.map(|()| events)
}

/// Merges the second event of a handoff into the first. False if they are none.
fn join(first: &mut Event, second: &Event) -> bool {
    let (
        Event::ClaimEnded { claim: from, token: Some(from_token), spec: from_spec, still_held, longest_pause, .. },
        Event::ClaimGranted { claim, spec },
    ) = (&*first, second)
    else {
        return false;
    };
    *first = Event::ClaimTransferred {
        from: *from,
        from_token: *from_token,
        from_spec: from_spec.clone(),
        still_held: still_held.clone(),
        longest_pause: *longest_pause,
        claim: *claim,
        spec: spec.clone(),
    };
    true
}

/// Encodes a name as in the JSON of the events that concern it.
pub(crate) fn encode_name(name: &str) -> String {
    Value::from(name).to_string()
}

/// Empty labels as a JSON object, which is the usual case.
const NO_LABELS: &str = "{}";

/// Encodes labels as a JSON object.
pub(crate) fn encode_metadata(metadata: &Metadata) -> Cow<'static, str> {
    if metadata.is_empty() { NO_LABELS.into() } else { json!(**metadata).to_string().into() }
}

/// Decodes labels from a JSON object.
pub(crate) fn decode_metadata(json: &str) -> Result<Metadata, CodecError> {
    if json == NO_LABELS {
        return Ok(no_labels());
    }
    Ok(Arc::new(serde_json::from_str(json)?))
}

/// Encodes keys as a JSON array.
pub(crate) fn encode_keys<K: Clone + Into<Value>>(keys: &[K]) -> String {
    Value::from(keys).to_string()
}

#[cfg(test)]
mod tests {
    use tenure_core::ServerId;

    use super::*;

    #[test]
    fn unknown_event_is_named() {
        let error = decode_events(r#"[{"revision":1,"event":"moon_rose"}]"#).unwrap_err();
        assert!(error.to_string().contains("unknown variant `moon_rose`"), "{error}");
    }

    #[test]
    fn missing_field_is_named() {
        let error = decode_events(r#"[{"revision":1,"event":"history_lost"}]"#).unwrap_err();
        assert!(error.to_string().contains("missing field `after`"), "{error}");
    }

    #[test]
    fn damaged_leader_of_a_group_is_an_error() {
        let decode = |lead: &str| {
            let left = r#""member":2,"session":"s","opened":1,"owner":"","reason":"released""#;
            decode_events(&format!(
                r#"[{{"revision":3,"event":"group","group_id":1,"group":"g","change":"left",{left}{lead}}}]"#
            ))
        };
        assert!(decode("").is_ok() && decode(r#","leader":1,"token":3"#).is_ok(), "{:?}", decode(""));
        for damaged in [r#","leader":"x","token":3"#, r#","leader":1"#, r#","token":3"#] {
            assert!(decode(damaged).is_err(), "{damaged}");
        }
    }

    #[test]
    fn two_events_of_one_revision_are_a_handoff_or_an_error() {
        let adopted = r#"{"revision":3,"event":"server_adopted","dead":7,"by":8}"#;
        let error = decode_events(&format!("[{adopted},{adopted}]")).unwrap_err();
        assert!(error.to_string().contains("two events at revision 3"), "{error}");
    }

    #[test]
    fn encoding_is_flat_and_omits_empty_fields() {
        let event = Event::ServerAdopted { dead: ServerId(7), by: ServerId(8) };
        let json = encode_events(&[Recorded { revision: Revision(3), event }]);
        assert_eq!(json, r#"[{"revision":3,"event":"server_adopted","dead":7,"by":8}]"#);
    }
}
