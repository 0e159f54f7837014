//! Decoding of lines into events.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{ClaimSpec, Event, Eviction, Recorded, Revision, ServerId, SessionSpec, Text};

use super::line::Line;
use super::words::{labels, mode, need, reason, settings, text, texts};
use super::{CodecError, groups};

fn claim_spec(line: &mut Line<'_>) -> Result<Arc<ClaimSpec>, CodecError> {
    Ok(Arc::new(ClaimSpec {
        session: text(line.session.take(), "session")?,
        opened: Revision(need(line.opened, "opened")?),
        owner: text(line.owner.take(), "owner")?,
        names: texts(&line.names).into(),
        mode: mode(line.mode.as_deref().unwrap_or("exclusive"), line.permits, line.permit_limit)?,
        priority: line.priority,
        metadata: labels(std::mem::take(&mut line.metadata)),
        min_hold: Duration::from_millis(line.min_hold_ms),
        awaited_at: line.awaited_at.map(ServerId),
    }))
}

fn eviction(line: &mut Line<'_>) -> Result<Option<Eviction>, CodecError> {
    let Some(operator) = line.operator.take() else { return Ok(None) };
    Ok(Some(Eviction { operator: Text::from(&*operator), note: text(line.note.take(), "note")? }))
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
                metadata: labels(line.metadata),
                home: ServerId(need(line.home, "home")?),
                attachment: line.attachment,
                identity: line.identity.map(Text::from),
                client: line.client.map(Text::from),
            })),
            "session_attached" => Event::SessionAttached {
                session: text(line.session, "session")?,
                opened: Revision(need(line.opened, "opened")?),
                home: ServerId(need(line.home, "home")?),
                ttl: Duration::from_millis(need(line.ttl_ms, "ttl_ms")?),
                disconnect_grace: line.disconnect_grace_ms.map(Duration::from_millis),
                attachment: line.attachment,
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
            "claim_awaited" => Event::ClaimAwaited {
                claim: Revision(need(line.awaited, "awaited")?),
                at: line.awaited_at.map(ServerId),
            },
            "acquire_cancelled" => {
                Event::AcquireCancelled { session: text(line.session, "session")?, names: texts(&line.names).into() }
            }
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
            "passes_voided" => Event::PassesVoided { by: ServerId(need(line.by, "by")?) },
            "history_lost" => Event::HistoryLost { after: Revision(need(line.after, "after")?) },
            word => return Err(CodecError::Unknown { what: "event", word: word.to_owned() }),
        };
        Ok(Self { revision, event })
    }
}
