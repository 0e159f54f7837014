//! Encoding of events as lines.

use tenure_core::{ClaimSpec, EndReason, Event, Eviction, Recorded, Revision, SessionSpec};

use super::groups;
use super::object::Object;
use super::words::{counted, millis, mode_word};

/// Writes an event as lines, separated by commas. A handoff is two lines with the same revision, the end of one claim
/// and the grant of another, so that readers of lines need no knowledge of handoffs.
pub(super) fn write_lines(recorded: &Recorded, out: &mut String) {
    if let Event::ClaimTransferred { from, from_token, from_spec, still_held, longest_pause, .. } = &recorded.event {
        let mut line = begin(recorded.revision, "claim_ended", out);
        line.number("claim", from.0).number("token", from_token.0).text("reason", EndReason::Transferred.as_str());
        line.texts("still_held", still_held).optional("longest_pause_ms", longest_pause.map(millis));
        claim_spec(&mut line, from_spec);
        line.end();
        out.push(',');
    }
    write_line(recorded, out);
}

fn write_line(recorded: &Recorded, out: &mut String) {
    let Recorded { revision, event } = recorded;
    let mut line = begin(*revision, name(event), out);
    match event {
        Event::SessionOpened(spec) => {
            line.number("opened", revision.0);
            session_spec(&mut line, spec);
        }
        Event::SessionAttached { session, opened, home, ttl, disconnect_grace, attachment } => {
            line.text("session", session).number("opened", opened.0).number("home", home.0);
            line.number("ttl_ms", millis(*ttl)).optional("disconnect_grace_ms", disconnect_grace.map(millis));
            line.optional("attachment", told_of(*attachment));
        }
        Event::SessionEnded { session, opened, reason } => {
            line.text("session", session).number("opened", opened.0).text("reason", reason.as_str());
        }
        Event::ClaimQueued(spec) => {
            line.number("claim", revision.0);
            claim_spec(&mut line, spec);
        }
        // The end of the other hold is written as a line of its own.
        Event::ClaimGranted { claim, spec } | Event::ClaimTransferred { claim, spec, .. } => {
            line.number("claim", claim.0).number("token", revision.0);
            claim_spec(&mut line, spec);
        }
        Event::ClaimLingering { claim, token, spec, reason, home, still_held, longest_pause } => {
            line.number("claim", claim.0).number("token", token.0).text("reason", reason.as_str());
            line.number("home", home.0).texts("still_held", still_held);
            line.optional("longest_pause_ms", longest_pause.map(millis));
            claim_spec(&mut line, spec);
        }
        Event::ClaimEnded { claim, token, spec, reason, eviction, still_held, longest_pause } => {
            line.number("claim", claim.0).optional("token", token.map(|token| token.0));
            line.text("reason", reason.as_str()).texts("still_held", still_held);
            line.optional("longest_pause_ms", longest_pause.map(millis));
            operator(&mut line, eviction.as_ref());
            claim_spec(&mut line, spec);
        }
        Event::ClaimUpdated { claim, token, spec } | Event::TransferCancelled { claim, token, spec } => {
            line.number("claim", claim.0).number("token", token.0);
            claim_spec(&mut line, spec);
        }
        Event::ClaimAwaited { claim, at } => {
            line.number("awaited", claim.0).optional("awaited_at", at.map(|at| at.0));
        }
        Event::AcquireCancelled { session, names } => {
            line.text("session", session).texts("names", names);
        }
        Event::TransferStarted { claim, token, spec, to, to_session, drain, by } => {
            line.number("claim", claim.0).number("token", token.0).optional("transfer_to", to.map(|to| to.0));
            if let Some(to_session) = to_session {
                line.text("to_session", to_session);
            }
            line.number("drain_ms", millis(*drain));
            operator(&mut line, by.as_ref());
            claim_spec(&mut line, spec);
        }
        Event::LockConfigured { name, settings, by } => {
            line.texts("names", std::slice::from_ref(name)).optional("permit_limit", settings.limit);
            line.optional("settling_ms", settings.preempt.map(|preempt| millis(preempt.settling)));
            line.optional("drain_ms", settings.preempt.map(|preempt| millis(preempt.drain)));
            operator(&mut line, Some(by));
        }
        Event::Group { id, group, change } => {
            line.number("group_id", id.0).text("group", group);
            groups::write(&mut line, *revision, change);
        }
        Event::ServerAdopted { dead, by } => {
            line.number("dead", dead.0).number("by", by.0);
        }
        Event::PassesVoided { by } => {
            line.number("by", by.0);
        }
        Event::HistoryLost { after } => {
            line.number("after", after.0);
        }
    }
    line.end();
}

/// Begins a line. The kind of event is near its beginning, where a search looks for it.
fn begin<'o>(revision: Revision, event: &'static str, out: &'o mut String) -> Object<'o> {
    let mut line = Object::begin(out);
    line.number("revision", revision.0).text("event", event);
    line
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::SessionOpened(_) => "session_opened",
        Event::SessionAttached { .. } => "session_attached",
        Event::SessionEnded { .. } => "session_ended",
        Event::ClaimQueued(_) => "claim_queued",
        Event::ClaimGranted { .. } | Event::ClaimTransferred { .. } => "claim_granted",
        Event::ClaimLingering { .. } => "claim_lingering",
        Event::ClaimEnded { .. } => "claim_ended",
        Event::ClaimUpdated { .. } => "claim_updated",
        Event::ClaimAwaited { .. } => "claim_awaited",
        Event::AcquireCancelled { .. } => "acquire_cancelled",
        Event::TransferStarted { .. } => "transfer_started",
        Event::TransferCancelled { .. } => "transfer_cancelled",
        Event::LockConfigured { .. } => "lock_configured",
        Event::Group { change, .. } => groups::name(change),
        Event::ServerAdopted { .. } => "server_adopted",
        Event::PassesVoided { .. } => "passes_voided",
        Event::HistoryLost { .. } => "history_lost",
    }
}

/// An attachment count, or `None` if it is zero.
fn told_of(attachment: u64) -> Option<u64> {
    (attachment > 0).then_some(attachment)
}

fn session_spec(line: &mut Object<'_>, spec: &SessionSpec) {
    line.text("session", &spec.id).text("owner", &spec.owner).number("ttl_ms", millis(spec.ttl));
    line.optional("disconnect_grace_ms", spec.disconnect_grace.map(millis)).number("home", spec.home.0);
    line.optional("attachment", told_of(spec.attachment));
    if let Some(identity) = &spec.identity {
        line.text("identity", identity);
    }
    if let Some(client) = &spec.client {
        line.text("client", client);
    }
    line.labels("metadata", &spec.metadata);
}

fn claim_spec(line: &mut Object<'_>, spec: &ClaimSpec) {
    line.text("session", &spec.session).number("opened", spec.opened.0).text("owner", &spec.owner);
    line.texts("names", &spec.names);
    if spec.priority != 0 {
        line.number("priority", spec.priority);
    }
    if let Some(mode) = mode_word(spec.mode) {
        line.text("mode", mode);
    }
    if let Some((permits, limit)) = counted(spec.mode) {
        line.number("permits", permits).number("permit_limit", limit);
    }
    let min_hold = millis(spec.min_hold);
    if min_hold != 0 {
        line.number("min_hold_ms", min_hold);
    }
    line.optional("awaited_at", spec.awaited_at.map(|at| at.0));
    line.labels("metadata", &spec.metadata);
}

fn operator(line: &mut Object<'_>, by: Option<&Eviction>) {
    if let Some(by) = by {
        line.text("operator", &by.operator).text("note", &by.note);
    }
}
