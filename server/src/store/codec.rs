//! How events are written down: a JSON array for each batch, one flat object for each event, in the words that the
//! views and people with plain SQL use. Every store of SQL keeps its log in this form.
//!
//! Durations are kept in whole milliseconds and rounded up: a session or a minimum hold may get longer by that, never
//! shorter. What is zero or empty is left out.

mod groups;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::{
    ClaimSpec, EndReason, Event, Eviction, LockSettings, Metadata, Mode, Preempt, Recorded, Revision, ServerId,
    SessionSpec, Text,
};

/// One event. Which fields there are depends on the kind of event.
#[derive(Default, Serialize, Deserialize)]
struct Line<'a> {
    revision: u64,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    session: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    owner: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    still_held: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    priority: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disconnect_grace_ms: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    mode: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permits: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permit_limit: Option<u32>,
    #[serde(default, skip_serializing_if = "is_zero")]
    min_hold_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    settling_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drain_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer_to: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    to_session: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    operator: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    note: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_pause_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dead: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    group: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<u64>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    config: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    membership: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_revision: Option<u64>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    assignments: Vec<groups::AssignmentLine<'a>>,
    #[serde(default, skip_serializing_if = "no_labels")]
    metadata: Cow<'a, BTreeMap<String, String>>,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

fn no_labels(metadata: &BTreeMap<String, String>) -> bool {
    metadata.is_empty()
}

/// What is stored cannot be read: damaged, or written by a newer version.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodecError {
    /// Not the JSON that was expected.
    #[error("stored data is unreadable: {0}")]
    Json(#[from] serde_json::Error),
    /// A word that this version does not know.
    #[error("stored data has an unknown {what} \"{word}\": was it written by a newer version?")]
    Unknown {
        /// What kind of word.
        what: &'static str,
        /// The word.
        word: String,
    },
    /// A field that must be there.
    #[error("stored data lacks \"{0}\"")]
    Missing(&'static str),
}

/// The events of a batch as JSON.
pub(crate) fn encode_events(events: &[Recorded]) -> Result<String, CodecError> {
    let lines: Vec<Line<'_>> = events.iter().flat_map(lines).collect();
    Ok(serde_json::to_string(&lines)?)
}

/// The events of a batch from JSON.
pub(crate) fn decode_events(json: &str) -> Result<Vec<Recorded>, CodecError> {
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

/// An event as lines: a handoff is two with the same revision, the end of one claim and the grant of another, so that
/// whoever reads lines has nothing more to know.
fn lines(recorded: &Recorded) -> Vec<Line<'_>> {
    let Event::ClaimTransferred { from, from_token, from_spec, still_held, longest_pause, claim, spec } =
        &recorded.event
    else {
        return vec![Line::from(recorded)];
    };
    let ended = Line {
        revision: recorded.revision.0,
        token: Some(from_token.0),
        reason: Some(EndReason::Transferred.as_str().into()),
        still_held: borrowed(still_held),
        longest_pause_ms: longest_pause.map(millis),
        ..Line::of_claim("claim_ended", *from, from_spec)
    };
    let granted = Line {
        revision: recorded.revision.0,
        token: Some(recorded.revision.0),
        ..Line::of_claim("claim_granted", *claim, spec)
    };
    vec![ended, granted]
}

/// The second line of a handoff.
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

/// How a name stands in the JSON of the events that are about it.
pub(crate) fn encode_name(name: &str) -> Result<String, CodecError> {
    Ok(serde_json::to_string(name)?)
}

/// Labels as a JSON object.
pub(crate) fn encode_metadata(metadata: &Metadata) -> Result<String, CodecError> {
    Ok(serde_json::to_string(&**metadata)?)
}

/// Labels from a JSON object.
pub(crate) fn decode_metadata(json: &str) -> Result<Metadata, CodecError> {
    Ok(Arc::new(serde_json::from_str(json)?))
}

/// The word for a mode. The usual one goes without saying.
fn mode_word(mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Exclusive => None,
        mode => Some(mode_name(mode)),
    }
}

/// The word for a mode.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
        Mode::Permits { .. } => "permits",
    }
}

/// A mode from its word and, if it is one to permits, how many, and of how many.
pub(crate) fn mode(word: &str, permits: Option<u32>, limit: Option<u32>) -> Result<Mode, CodecError> {
    match word {
        "exclusive" => Ok(Mode::Exclusive),
        "shared" => Ok(Mode::Shared),
        "permits" => Ok(Mode::Permits { permits: need(permits, "permits")?, limit: need(limit, "permit_limit")? }),
        word => Err(CodecError::Unknown { what: "mode", word: word.to_owned() }),
    }
}

/// Permits and limit of a mode that has them.
pub(crate) fn counted(mode: Mode) -> Option<(u32, u32)> {
    match mode {
        Mode::Exclusive | Mode::Shared => None,
        Mode::Permits { permits, limit } => Some((permits, limit)),
    }
}

/// A duration in whole milliseconds, rounded up.
pub(crate) fn millis(duration: Duration) -> u64 {
    let whole = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(whole).unwrap_or(u64::MAX).min(i64::MAX as u64)
}

impl<'a> Line<'a> {
    fn of_session(event: &'static str, spec: &'a SessionSpec) -> Self {
        Self {
            event: event.into(),
            session: Some((&*spec.id).into()),
            owner: Some((&*spec.owner).into()),
            ttl_ms: Some(millis(spec.ttl)),
            disconnect_grace_ms: spec.disconnect_grace.map(millis),
            home: Some(spec.home.0),
            metadata: Cow::Borrowed(&spec.metadata),
            ..Self::default()
        }
    }

    fn of_claim(event: &'static str, claim: Revision, spec: &'a ClaimSpec) -> Self {
        Self {
            event: event.into(),
            claim: Some(claim.0),
            session: Some((&*spec.session).into()),
            opened: Some(spec.opened.0),
            owner: Some((&*spec.owner).into()),
            names: borrowed(&spec.names),
            priority: spec.priority,
            mode: mode_word(spec.mode).map(Cow::Borrowed),
            permits: counted(spec.mode).map(|(permits, _)| permits),
            permit_limit: counted(spec.mode).map(|(_, limit)| limit),
            min_hold_ms: millis(spec.min_hold),
            metadata: Cow::Borrowed(&spec.metadata),
            ..Self::default()
        }
    }
}

impl<'a> From<&'a Recorded> for Line<'a> {
    fn from(recorded: &'a Recorded) -> Self {
        let line = match &recorded.event {
            Event::SessionOpened(spec) => {
                Line { opened: Some(recorded.revision.0), ..Line::of_session("session_opened", spec) }
            }
            Event::SessionAttached { session, opened, home, ttl, disconnect_grace } => Line {
                event: "session_attached".into(),
                session: Some((&**session).into()),
                opened: Some(opened.0),
                home: Some(home.0),
                ttl_ms: Some(millis(*ttl)),
                disconnect_grace_ms: disconnect_grace.map(millis),
                ..Line::default()
            },
            Event::SessionEnded { session, opened, reason } => Line {
                event: "session_ended".into(),
                session: Some((&**session).into()),
                opened: Some(opened.0),
                reason: Some(reason.as_str().into()),
                ..Line::default()
            },
            Event::ClaimQueued(spec) => Line::of_claim("claim_queued", recorded.revision, spec),
            Event::ClaimGranted { claim, spec } => {
                Line { token: Some(recorded.revision.0), ..Line::of_claim("claim_granted", *claim, spec) }
            }
            Event::ClaimLingering { claim, token, spec, reason, home, still_held, longest_pause } => Line {
                token: Some(token.0),
                reason: Some(reason.as_str().into()),
                home: Some(home.0),
                still_held: borrowed(still_held),
                longest_pause_ms: longest_pause.map(millis),
                ..Line::of_claim("claim_lingering", *claim, spec)
            },
            Event::ClaimEnded { claim, token, spec, reason, eviction, still_held, longest_pause } => Line {
                token: token.map(|token| token.0),
                reason: Some(reason.as_str().into()),
                longest_pause_ms: longest_pause.map(millis),
                operator: eviction.as_ref().map(|eviction| (&*eviction.operator).into()),
                note: eviction.as_ref().map(|eviction| (&*eviction.note).into()),
                still_held: borrowed(still_held),
                ..Line::of_claim("claim_ended", *claim, spec)
            },
            Event::ClaimUpdated { claim, token, spec } => {
                Line { token: Some(token.0), ..Line::of_claim("claim_updated", *claim, spec) }
            }
            Event::TransferStarted { claim, token, spec, to, to_session, drain, by } => Line {
                token: Some(token.0),
                transfer_to: to.map(|to| to.0),
                to_session: to_session.as_deref().map(Cow::Borrowed),
                drain_ms: Some(millis(*drain)),
                operator: by.as_ref().map(|by| (&*by.operator).into()),
                note: by.as_ref().map(|by| (&*by.note).into()),
                ..Line::of_claim("transfer_started", *claim, spec)
            },
            Event::TransferCancelled { claim, token, spec } => {
                Line { token: Some(token.0), ..Line::of_claim("transfer_cancelled", *claim, spec) }
            }
            Event::ClaimTransferred { claim, spec, .. } => {
                Line { token: Some(recorded.revision.0), ..Line::of_claim("claim_granted", *claim, spec) }
            }
            Event::LockConfigured { name, settings, by } => Line {
                event: "lock_configured".into(),
                names: vec![(&**name).into()],
                permit_limit: settings.limit,
                settling_ms: settings.preempt.map(|preempt| millis(preempt.settling)),
                drain_ms: settings.preempt.map(|preempt| millis(preempt.drain)),
                operator: Some((&*by.operator).into()),
                note: Some((&*by.note).into()),
                ..Line::default()
            },
            Event::Group { id, group, change } => groups::line(recorded.revision, *id, group, change),
            Event::ServerAdopted { dead, by } => {
                Line { event: "server_adopted".into(), dead: Some(dead.0), by: Some(by.0), ..Line::default() }
            }
            Event::HistoryLost { after } => {
                Line { event: "history_lost".into(), after: Some(after.0), ..Line::default() }
            }
        };
        Line { revision: recorded.revision.0, ..line }
    }
}

fn need<T>(value: Option<T>, field: &'static str) -> Result<T, CodecError> {
    value.ok_or(CodecError::Missing(field))
}

fn text(value: Option<Cow<'_, str>>, field: &'static str) -> Result<Text, CodecError> {
    Ok(Text::from(&*need(value, field)?))
}

fn reason(word: Option<Cow<'_, str>>) -> Result<EndReason, CodecError> {
    let word = need(word, "reason")?;
    EndReason::ALL
        .into_iter()
        .find(|reason| reason.as_str() == word)
        .ok_or_else(|| CodecError::Unknown { what: "end reason", word: word.into_owned() })
}

fn borrowed(names: &[Text]) -> Vec<Cow<'_, str>> {
    names.iter().map(|name| Cow::Borrowed(&**name)).collect()
}

fn texts(names: &[Cow<'_, str>]) -> Vec<Text> {
    names.iter().map(|name| Text::from(&**name)).collect()
}

fn claim_spec(line: &mut Line<'_>) -> Result<Arc<ClaimSpec>, CodecError> {
    Ok(Arc::new(ClaimSpec {
        session: text(line.session.take(), "session")?,
        opened: Revision(need(line.opened, "opened")?),
        owner: text(line.owner.take(), "owner")?,
        names: texts(&line.names),
        mode: mode(line.mode.as_deref().unwrap_or("exclusive"), line.permits, line.permit_limit)?,
        priority: line.priority,
        metadata: Arc::new(std::mem::take(&mut line.metadata).into_owned()),
        min_hold: Duration::from_millis(line.min_hold_ms),
    }))
}

fn eviction(line: &mut Line<'_>) -> Result<Option<Eviction>, CodecError> {
    let Some(operator) = line.operator.take() else { return Ok(None) };
    Ok(Some(Eviction { operator: Text::from(&*operator), note: text(line.note.take(), "note")? }))
}

/// What is set on a lock.
pub(crate) fn settings(
    limit: Option<u32>,
    settling_ms: Option<u64>,
    drain_ms: Option<u64>,
) -> Result<LockSettings, CodecError> {
    let preempt = match settling_ms {
        None => None,
        Some(settling) => Some(Preempt {
            settling: Duration::from_millis(settling),
            drain: Duration::from_millis(need(drain_ms, "drain_ms")?),
        }),
    };
    Ok(LockSettings { limit, preempt })
}

impl TryFrom<Line<'_>> for Recorded {
    type Error = CodecError;

    fn try_from(mut line: Line<'_>) -> Result<Self, CodecError> {
        let revision = Revision(line.revision);
        let event = match &*line.event {
            "session_opened" => Event::SessionOpened(Arc::new(SessionSpec {
                id: text(line.session, "session")?,
                ttl: Duration::from_millis(need(line.ttl_ms, "ttl_ms")?),
                disconnect_grace: line.disconnect_grace_ms.map(Duration::from_millis),
                owner: text(line.owner, "owner")?,
                metadata: Arc::new(line.metadata.into_owned()),
                home: ServerId(need(line.home, "home")?),
            })),
            "session_attached" => Event::SessionAttached {
                session: text(line.session, "session")?,
                opened: Revision(need(line.opened, "opened")?),
                home: ServerId(need(line.home, "home")?),
                ttl: Duration::from_millis(need(line.ttl_ms, "ttl_ms")?),
                disconnect_grace: line.disconnect_grace_ms.map(Duration::from_millis),
            },
            "session_ended" => Event::SessionEnded {
                session: text(line.session, "session")?,
                opened: Revision(need(line.opened, "opened")?),
                reason: reason(line.reason)?,
            },
            "claim_queued" => Event::ClaimQueued(claim_spec(&mut line)?),
            "claim_granted" => {
                Event::ClaimGranted { claim: Revision(need(line.claim, "claim")?), spec: claim_spec(&mut line)? }
            }
            "claim_lingering" => Event::ClaimLingering {
                claim: Revision(need(line.claim, "claim")?),
                token: Revision(need(line.token, "token")?),
                spec: claim_spec(&mut line)?,
                reason: reason(line.reason.take())?,
                home: ServerId(need(line.home, "home")?),
                still_held: texts(&line.still_held),
                longest_pause: line.longest_pause_ms.map(Duration::from_millis),
            },
            "claim_ended" => Event::ClaimEnded {
                claim: Revision(need(line.claim, "claim")?),
                token: line.token.map(Revision),
                spec: claim_spec(&mut line)?,
                reason: reason(line.reason.take())?,
                eviction: eviction(&mut line)?,
                still_held: texts(&line.still_held),
                longest_pause: line.longest_pause_ms.map(Duration::from_millis),
            },
            "claim_updated" => Event::ClaimUpdated {
                claim: Revision(need(line.claim, "claim")?),
                token: Revision(need(line.token, "token")?),
                spec: claim_spec(&mut line)?,
            },
            "transfer_started" => Event::TransferStarted {
                claim: Revision(need(line.claim, "claim")?),
                token: Revision(need(line.token, "token")?),
                spec: claim_spec(&mut line)?,
                to: line.transfer_to.map(Revision),
                to_session: line.to_session.as_deref().map(Text::from),
                drain: Duration::from_millis(need(line.drain_ms, "drain_ms")?),
                by: eviction(&mut line)?,
            },
            "transfer_cancelled" => Event::TransferCancelled {
                claim: Revision(need(line.claim, "claim")?),
                token: Revision(need(line.token, "token")?),
                spec: claim_spec(&mut line)?,
            },
            "lock_configured" => Event::LockConfigured {
                name: Text::from(&**need(line.names.first(), "names")?),
                settings: settings(line.permit_limit, line.settling_ms, line.drain_ms)?,
                by: need(eviction(&mut line)?, "operator")?,
            },
            "group_joined" | "group_left" | "group_configured" | "group_assigned" => groups::event(line)?,
            "server_adopted" => {
                Event::ServerAdopted { dead: ServerId(need(line.dead, "dead")?), by: ServerId(need(line.by, "by")?) }
            }
            "history_lost" => Event::HistoryLost { after: Revision(need(line.after, "after")?) },
            word => return Err(CodecError::Unknown { what: "event", word: word.to_owned() }),
        };
        Ok(Self { revision, event })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_never_get_shorter() {
        assert_eq!(millis(Duration::from_nanos(1_000_001)), 2);
        assert_eq!(millis(Duration::from_millis(1200)), 1200);
        assert_eq!(millis(Duration::ZERO), 0);
        assert_eq!(millis(Duration::MAX), i64::MAX as u64);
    }

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
        let json = encode_events(&[Recorded { revision: Revision(3), event }]).unwrap();
        assert_eq!(json, r#"[{"revision":3,"event":"server_adopted","dead":7,"by":8}]"#);
    }
}
