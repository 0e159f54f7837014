//! Converts lock events for watches.

use std::sync::Arc;

use tenure_core::{
    Claim, ClaimSpec, ClaimState, EndReason, Event, Eviction, LockSettings, Recorded, Revision, Text, Transfer,
};
use tenure_proto::v1;
use tenure_proto::v1::EventType;

use crate::grpc::convert;
use crate::store::Batch;
use crate::watch::Filter;

/// Converts an event of a batch for the locks of a watch. Locks for which the event is the same share one.
pub(super) fn events(recorded: &Recorded, batch: &Batch, filter: &Filter) -> Vec<v1::Event> {
    Converter { batch, filter }.lock_events(recorded)
}

struct Converter<'a> {
    batch: &'a Batch,
    filter: &'a Filter,
}

impl Converter<'_> {
    fn lock_events(&self, recorded: &Recorded) -> Vec<v1::Event> {
        let revision = recorded.revision;
        let held = |claim: &Revision, token: &Revision, spec: &Arc<ClaimSpec>| {
            Claim::new(*claim, spec.clone(), ClaimState::Held { token: *token })
        };
        let event = match &recorded.event {
            Event::ClaimQueued(spec) => {
                LockEvent::of(EventType::Queued, Claim::new(revision, spec.clone(), ClaimState::Waiting))
            }
            Event::ClaimGranted { claim, spec } => LockEvent::of(EventType::Granted, held(claim, &revision, spec)),
            Event::ClaimUpdated { claim, token, spec } => LockEvent::of(EventType::Updated, held(claim, token, spec)),
            Event::ClaimLingering { claim, token, spec, reason, home, still_held, .. } => {
                let state = ClaimState::Lingering { token: *token, home: *home };
                let lingering = LockEvent::of(EventType::Lingering, Claim::new(*claim, spec.clone(), state));
                LockEvent { reason: Some(*reason), still_held, ..lingering }
            }
            Event::ClaimEnded { claim, token, spec, reason, eviction, still_held, .. } => {
                let state = token.map_or(ClaimState::Waiting, |token| ClaimState::Held { token });
                LockEvent {
                    reason: Some(*reason),
                    by: eviction.as_ref(),
                    still_held,
                    // A release with a minimum hold makes the claim linger first; this event ends that.
                    has_lingered: *reason == EndReason::Released && !spec.min_hold.is_zero(),
                    ..LockEvent::of(EventType::Ended, Claim::new(*claim, spec.clone(), state))
                }
            }
            Event::TransferStarted { claim, token, spec, to, to_session, drain, by } => {
                let transfer = Some(Box::new(Transfer { to: *to, started: revision, drain: *drain }));
                let started = Claim { transfer, ..held(claim, token, spec) };
                let event = LockEvent::of(EventType::TransferStarted, started);
                LockEvent { by: by.as_ref(), to_session: to_session.as_ref(), ..event }
            }
            Event::TransferCancelled { claim, token, spec } => {
                LockEvent::of(EventType::TransferCancelled, held(claim, token, spec))
            }
            Event::ClaimTransferred { from, from_token, from_spec, still_held, claim, spec, .. } => {
                let (from, to) = (held(from, from_token, from_spec), held(claim, &revision, spec));
                return self.transfer_events(revision, &from, &to, still_held);
            }
            Event::LockConfigured { name, settings, by } => {
                let settings = Some(settings).filter(|settings| !settings.is_default());
                let kind = EventType::Configured;
                let event = LockEvent { kind, by: Some(by), settings, ..LockEvent::default() };
                return self.encode([name], revision, &event).into_iter().collect();
            }
            Event::SessionOpened(_)
            | Event::SessionMoved { .. }
            | Event::SessionEnded { .. }
            | Event::Group { .. }
            | Event::ClientConnected { .. }
            | Event::ClientEnded { .. }
            | Event::ServerAdopted { .. }
            | Event::ClaimAwaited { .. }
            | Event::AcquireCancelled { .. }
            | Event::ForwardsVoided { .. }
            | Event::HistoryLost { .. } => return Vec::new(),
        };
        let spec = event.claim.as_ref().map(|claim| claim.spec.clone());
        spec.and_then(|spec| self.encode(spec.names.iter(), revision, &event)).into_iter().collect()
    }

    /// The events of a handoff: of the locks of both claims, and of the locks of only one.
    fn transfer_events(&self, revision: Revision, from: &Claim, to: &Claim, still_held: &[Text]) -> Vec<v1::Event> {
        let reason = Some(EndReason::Transferred);
        let (kept, given): (Vec<&Text>, Vec<&Text>) =
            from.spec.names.iter().partition(|name| to.spec.names.contains(name));
        let taken = to.spec.names.iter().filter(|name| !from.spec.names.contains(name));
        let previous = Some(from.clone());
        let transferred = LockEvent { previous, reason, ..LockEvent::of(EventType::Transferred, to.clone()) };
        let ended = LockEvent { reason, still_held, ..LockEvent::of(EventType::Ended, from.clone()) };
        let granted = LockEvent::of(EventType::Granted, to.clone());
        let events = [
            self.encode(kept, revision, &transferred),
            self.encode(given, revision, &ended),
            self.encode(taken, revision, &granted),
        ];
        events.into_iter().flatten().collect()
    }

    /// When a claim was granted, if it was granted at this revision.
    fn granted_ms(&self, claim: &Claim, revision: Revision) -> Option<i64> {
        claim.token().filter(|token| *token == revision).map(|_| self.batch.at_ms)
    }

    /// Encodes an event for its watched locks, if any.
    fn encode<'n>(
        &self,
        names: impl IntoIterator<Item = &'n Text>,
        revision: Revision,
        event: &LockEvent<'_>,
    ) -> Option<v1::Event> {
        let names: Vec<&Text> = names.into_iter().filter(|name| self.filter.matches(name)).collect();
        if names.is_empty() {
            return None;
        }
        let ended = matches!(event.kind, EventType::Ended | EventType::Lingering);
        let over = ended && !event.has_lingered && event.claim.as_ref().is_some_and(|claim| claim.token().is_some());
        let vacant =
            |name: &&&Text| over && !event.still_held.contains(name) && !held_after(name, revision, self.batch);
        Some(v1::Event {
            revision: revision.0,
            vacant_names: names.iter().filter(vacant).map(ToString::to_string).collect(),
            names: names.iter().map(ToString::to_string).collect(),
            r#type: event.kind.into(),
            claim: event.claim.as_ref().map(|claim| event.convert(claim, self.granted_ms(claim, revision))),
            end_reason: event.reason.map_or(v1::EndReason::Unspecified, convert::end_reason).into(),
            operator: event.by.map(|by| by.operator.to_string()).unwrap_or_default(),
            note: event.by.map(|by| by.note.to_string()).unwrap_or_default(),
            time: Some(convert::timestamp(self.batch.at_ms)),
            previous: event.previous.as_ref().map(convert::claim),
            settings: event.settings.map(convert::settings),
        })
    }
}

/// A lock event in core types.
#[derive(Default)]
struct LockEvent<'a> {
    kind: EventType,
    claim: Option<Claim>,
    previous: Option<Claim>,
    reason: Option<EndReason>,
    by: Option<&'a Eviction>,
    settings: Option<&'a LockSettings>,
    still_held: &'a [Text],
    /// Whether the hold had ended before, and only its minimum hold had not elapsed.
    has_lingered: bool,
    /// The session that the hold is to be handed over to.
    to_session: Option<&'a Text>,
}

impl LockEvent<'_> {
    fn of(kind: EventType, claim: Claim) -> Self {
        Self { kind, claim: Some(claim), ..Self::default() }
    }

    fn convert(&self, claim: &Claim, granted_ms: Option<i64>) -> v1::Claim {
        let mut converted = convert::claim_since(claim, granted_ms);
        if let (Some(transfer), Some(to)) = (&mut converted.transfer, self.to_session) {
            transfer.to_session_id = to.to_string();
        }
        converted
    }
}

/// Whether the rest of the batch grants the lock.
fn held_after(name: &str, after: Revision, batch: &Batch) -> bool {
    batch.events.iter().filter(|recorded| recorded.revision > after).any(|recorded| match &recorded.event {
        Event::ClaimGranted { spec, .. } | Event::ClaimTransferred { spec, .. } => {
            spec.names.iter().any(|granted| &**granted == name)
        }
        _ => false,
    })
}
