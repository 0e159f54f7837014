//! The stored form of events: a JSON array for each batch, one flat object for each event, with the names that the
//! views and plain SQL queries use. All SQL stores keep their log in this form.
//!
//! Durations are stored in whole milliseconds, rounded up: a session or a minimum hold may get longer by that, never
//! shorter. Zero and empty values are left out.

mod groups;
mod line;
mod object;
mod read;
mod words;
mod write;

use std::borrow::Cow;
use std::sync::Arc;

use tenure_core::{Event, Metadata, Recorded, no_labels};

use line::Line;
use object::{write_labels, write_list, write_number, write_text};
pub(crate) use words::{counted, millis, mode, mode_name, settings};
use write::write_lines;

/// The length of most lines, in bytes.
const USUAL_LINE: usize = 256;

/// Stored data cannot be read: it is damaged, or written by a newer version.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// The data is not the expected JSON.
    #[error("stored data is unreadable: {0}")]
    Json(#[from] serde_json::Error),
    /// The data has a word that this version does not know.
    #[error("stored data has an unknown {what} \"{word}\": was it written by a newer version?")]
    Unknown {
        /// The kind of word.
        what: &'static str,
        /// The word.
        word: String,
    },
    /// A required field is missing.
    #[error("stored data lacks \"{0}\"")]
    Missing(&'static str),
}

/// Encodes the events of a batch as JSON.
#[must_use]
pub fn encode_events(events: &[Recorded]) -> String {
    let mut json = String::with_capacity(events.len() * USUAL_LINE);
    write_list(&mut json, events, write_lines);
    json
}

/// Decodes the events of a batch from JSON. Two lines of one revision are a handoff.
///
/// # Errors
/// If the JSON is invalid, or written by a newer version with events that this one does not know.
pub fn decode_events(json: &str) -> Result<Vec<Recorded>, CodecError> {
    let lines: Vec<Line<'_>> = serde_json::from_str(json)?;
    let mut events: Vec<Recorded> = Vec::with_capacity(lines.len());
    for line in lines {
        let recorded = Recorded::try_from(line)?;
        match events.last_mut() {
            Some(last) if last.revision == recorded.revision => join_transfer(last, recorded.event)?,
            _ => events.push(recorded),
        }
    }
    Ok(events)
}

/// Merges the second line of a handoff into the first.
fn join_transfer(first: &mut Recorded, second: Event) -> Result<(), CodecError> {
    let joined = match (&first.event, second) {
        (
            Event::ClaimEnded {
                claim: from, token: Some(from_token), spec: from_spec, still_held, longest_pause, ..
            },
            Event::ClaimGranted { claim, spec },
        ) => Event::ClaimTransferred {
            from: *from,
            from_token: *from_token,
            from_spec: from_spec.clone(),
            still_held: still_held.clone(),
            longest_pause: *longest_pause,
            claim,
            spec,
        },
        _ => return Err(CodecError::Unknown { what: "pair of events at revision", word: first.revision.to_string() }),
    };
    first.event = joined;
    Ok(())
}

/// Encodes a name as in the JSON of the events that concern it.
pub(crate) fn encode_name(name: &str) -> String {
    let mut json = String::new();
    write_text(&mut json, name);
    json
}

/// Empty labels as a JSON object, which is the usual case.
const NO_LABELS: &str = "{}";

/// Encodes labels as a JSON object.
pub(crate) fn encode_metadata(metadata: &Metadata) -> Cow<'static, str> {
    if metadata.is_empty() {
        return NO_LABELS.into();
    }
    let mut json = String::new();
    write_labels(&mut json, metadata);
    json.into()
}

/// Decodes labels from a JSON object.
pub(crate) fn decode_metadata(json: &str) -> Result<Metadata, CodecError> {
    if json == NO_LABELS {
        return Ok(no_labels());
    }
    Ok(Arc::new(serde_json::from_str(json)?))
}

/// Encodes keys as a JSON array.
pub(crate) fn encode_keys(keys: &[u64]) -> String {
    let mut json = String::new();
    write_list(&mut json, keys, |key, out| write_number(out, i128::from(*key)));
    json
}

#[cfg(test)]
mod tests {
    use tenure_core::{Revision, ServerId};

    use super::*;

    #[test]
    fn what_a_newer_version_wrote_is_named() {
        let error = decode_events(r#"[{"revision":1,"event":"moon_rose"}]"#).unwrap_err();
        assert!(error.to_string().contains("unknown event \"moon_rose\""), "{error}");
    }

    #[test]
    fn a_missing_field_is_named() {
        let error = decode_events(r#"[{"revision":1,"event":"history_lost"}]"#).unwrap_err();
        assert_eq!(error.to_string(), "stored data lacks \"after\"");
    }

    #[test]
    fn the_form_is_flat_and_leaves_out_what_is_empty() {
        let event = Event::ServerAdopted { dead: ServerId(7), by: ServerId(8) };
        let json = encode_events(&[Recorded { revision: Revision(3), event }]);
        assert_eq!(json, r#"[{"revision":3,"event":"server_adopted","dead":7,"by":8}]"#);
    }
}
