//! From events to lines.

use std::borrow::Cow;

use tenure_core::{ClaimSpec, EndReason, Event, Recorded, Revision, SessionSpec, Text};

use super::groups;
use super::line::Line;
use super::words::{counted, millis, mode_word};

/// An event as lines: a handoff is two with the same revision, the end of one claim and the grant of another, so that
/// whoever reads lines has nothing more to know.
pub(super) fn lines(recorded: &Recorded) -> Vec<Line<'_>> {
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
            Event::PassesVoided { by } => Line { event: "passes_voided".into(), by: Some(by.0), ..Line::default() },
            Event::HistoryLost { after } => {
                Line { event: "history_lost".into(), after: Some(after.0), ..Line::default() }
            }
        };
        Line { revision: recorded.revision.0, ..line }
    }
}

fn borrowed(names: &[Text]) -> Vec<Cow<'_, str>> {
    names.iter().map(|name| Cow::Borrowed(&**name)).collect()
}
