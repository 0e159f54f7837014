//! How a batch travels: what the one who follows knows by its own table is only referred to. So a pair of grant and end takes a
//! few bytes, and hardly more than the name of its lock is made anew of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use prost::bytes::Bytes;
use tenure_core::{
    Claim, ClaimSpec, EndReason, Event, Metadata, Mode, Names, Recorded, Revision, ServerId, SessionSpec, Table, Text,
    no_labels, whole_millis,
};
use tenure_proto::internal::event::Kind;
use tenure_proto::internal::{self as proto};

use crate::sequencer::passing::Packed;
use crate::store::{Batch, decode_events, encode_events};

/// The events of a batch. Empty if their revisions have a gap: that cannot be told.
pub(super) fn pack(batch: &Batch) -> Bytes {
    let expected = (batch.previous.0 + 1..).map(Revision);
    if !batch.events.iter().map(|recorded| recorded.revision).eq(expected.take(batch.events.len())) {
        return Bytes::new();
    }
    // After that, what a claim was made with is no longer what the table before the batch shows.
    let updates = batch.events.iter().any(|recorded| {
        matches!(recorded.event, Event::ClaimUpdated { .. } | Event::ClaimAwaited { .. } | Event::ServerAdopted { .. })
    });
    let events = batch.events.iter().map(|recorded| proto::Event {
        kind: Some(short(recorded).filter(|_| !updates).unwrap_or_else(|| logged(recorded))),
    });
    proto::Events { events: events.collect() }.encode_to_vec().into()
}

fn logged(recorded: &Recorded) -> Kind {
    Kind::Logged(encode_events(std::slice::from_ref(recorded)))
}

/// The short form of an event, if it has one.
fn short(recorded: &Recorded) -> Option<Kind> {
    Some(match &recorded.event {
        Event::ClaimQueued(spec) if spec.declared == 0 => Kind::Queued(claimed(spec)),
        Event::ClaimGranted { claim, spec } if *claim == recorded.revision && spec.declared == 0 => {
            Kind::Granted(claimed(spec))
        }
        Event::ClaimGranted { claim, .. } if *claim != recorded.revision => Kind::GrantedWaiter(claim.0),
        Event::ClaimEnded { claim, token, reason, eviction: None, still_held, longest_pause, .. } => {
            Kind::Ended(proto::Ended {
                claim: claim.0,
                token: token.map(|token| token.0),
                reason: end_reason(*reason).into(),
                still_held: still_held.iter().map(ToString::to_string).collect(),
                longest_pause_ms: longest_pause.map(whole_millis),
            })
        }
        _ => return None,
    })
}

fn claimed(spec: &ClaimSpec) -> proto::Claimed {
    let (mode, permits, limit) = match spec.mode {
        Mode::Exclusive => (proto::Mode::Unspecified, 0, 0),
        Mode::Shared => (proto::Mode::Shared, 0, 0),
        Mode::Permits { permits, limit } => (proto::Mode::Permits, permits, limit),
    };
    proto::Claimed {
        opened: spec.opened.0,
        names: spec.names.iter().map(ToString::to_string).collect(),
        mode: mode.into(),
        permits,
        limit,
        priority: spec.priority,
        metadata: (*spec.metadata).clone(),
        min_hold_ms: whole_millis(spec.min_hold),
        waiting_server: spec.waiting_server.map(|at| at.0),
    }
}

fn end_reason(reason: EndReason) -> proto::EndReason {
    match reason {
        EndReason::Released => proto::EndReason::Released,
        EndReason::Expired => proto::EndReason::Expired,
        EndReason::Disconnected => proto::EndReason::Disconnected,
        EndReason::Closed => proto::EndReason::Closed,
        EndReason::Evicted => proto::EndReason::Evicted,
        EndReason::Transferred => proto::EndReason::Transferred,
    }
}

fn told_reason(reason: proto::EndReason) -> Option<EndReason> {
    EndReason::ALL.into_iter().find(|known| end_reason(*known) == reason)
}

/// A batch that has come over a link.
pub(super) struct Arrived {
    namespace: Text,
    previous: Revision,
    server: ServerId,
    number: u64,
    at_ms: i64,
    events: Vec<proto::Event>,
}

impl fmt::Debug for Arrived {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Arrived").field("previous", &self.previous).finish_non_exhaustive()
    }
}

impl Arrived {
    /// A batch of this server.
    pub(super) fn new(batch: proto::Batch, server: ServerId, namespace: &Text) -> Result<Self, String> {
        let proto::Batch { previous, number, at_ms, events } = batch;
        let events = proto::Events::decode(events).map_err(|error| error.to_string())?.events;
        if events.is_empty() {
            return Err("batch: at least one event".to_owned());
        }
        if previous >= Revision::MAX.0 - events.len() as u64 {
            return Err("batch: its revisions exceed the limit".to_owned());
        }
        Ok(Self { namespace: namespace.clone(), previous: Revision(previous), server, number, at_ms, events })
    }
}

impl Packed for Arrived {
    fn previous(&self) -> Revision {
        self.previous
    }

    fn revision(&self) -> Revision {
        Revision(self.previous.0 + self.events.len() as u64)
    }

    fn unpack(&self, table: &Table) -> Result<Batch, String> {
        let mut before = Before { table, previous: self.previous, events: Vec::with_capacity(self.events.len()) };
        for event in &self.events {
            let revision = before.next();
            let event = event.kind.as_ref().and_then(|kind| before.event(revision, kind));
            let event = event.ok_or_else(|| format!("batch: invalid event at revision {revision}"))?;
            before.events.push(Recorded { revision, event });
        }
        let (namespace, events) = (self.namespace.clone(), before.events);
        let (previous, server, number, at_ms) = (self.previous, self.server, self.number, self.at_ms);
        Ok(Batch { namespace, previous, events, server, number, at_ms })
    }
}

/// What is known before an event: the table before the batch, and the events of the batch so far.
struct Before<'t> {
    table: &'t Table,
    previous: Revision,
    events: Vec<Recorded>,
}

impl Before<'_> {
    fn next(&self) -> Revision {
        Revision(self.previous.0 + self.events.len() as u64 + 1)
    }

    fn event(&self, revision: Revision, kind: &Kind) -> Option<Event> {
        Some(match kind {
            Kind::Queued(claimed) => Event::ClaimQueued(self.spec(claimed)?),
            Kind::Granted(claimed) => Event::ClaimGranted { claim: revision, spec: self.spec(claimed)? },
            Kind::GrantedWaiter(claim) => {
                let claim = Revision(*claim);
                Event::ClaimGranted { claim, spec: self.spec_of(claim)? }
            }
            Kind::Ended(ended) => {
                let claim = Revision(ended.claim);
                Event::ClaimEnded {
                    claim,
                    token: ended.token.map(Revision),
                    spec: self.spec_of(claim)?,
                    reason: told_reason(ended.reason())?,
                    eviction: None,
                    still_held: ended.still_held.iter().map(|name| Text::from(&**name)).collect(),
                    longest_pause: ended.longest_pause_ms.map(Duration::from_millis),
                }
            }
            Kind::Logged(json) => {
                let [recorded] = <[Recorded; 1]>::try_from(decode_events(json).ok()?).ok()?;
                Some(recorded).filter(|recorded| recorded.revision == revision)?.event
            }
        })
    }

    /// What a new claim was made with.
    fn spec(&self, claimed: &proto::Claimed) -> Option<Arc<ClaimSpec>> {
        let opened = Revision(claimed.opened);
        let session = self.session(opened)?;
        let (permits, limit) = (claimed.permits, claimed.limit);
        Some(Arc::new(ClaimSpec {
            session: session.id.clone(),
            opened,
            owner: session.owner.clone(),
            names: names(&claimed.names)?,
            mode: match proto::Mode::try_from(claimed.mode).ok()? {
                proto::Mode::Unspecified => Mode::Exclusive,
                proto::Mode::Shared => Mode::Shared,
                proto::Mode::Permits => Mode::Permits { permits, limit },
            },
            priority: claimed.priority,
            metadata: labels(claimed),
            min_hold: Duration::from_millis(claimed.min_hold_ms),
            waiting_server: claimed.waiting_server.map(ServerId),
            declared: 0,
        }))
    }

    /// What a session was opened with.
    fn session(&self, opened: Revision) -> Option<&SessionSpec> {
        match self.made_here(opened) {
            Some(Event::SessionOpened(spec)) => Some(spec),
            Some(_) => None,
            None => self.table.session_opened_at(opened).map(|session| &session.spec),
        }
    }

    /// What a claim was made with.
    fn spec_of(&self, claim: Revision) -> Option<Arc<ClaimSpec>> {
        match self.made_here(claim) {
            Some(Event::ClaimQueued(spec) | Event::ClaimGranted { spec, .. }) => Some(spec.clone()),
            Some(_) => None,
            None => self.table.claim(claim).map(|Claim { spec, .. }| spec.clone()),
        }
    }

    /// The event of the batch at this revision, if there is one so far.
    fn made_here(&self, revision: Revision) -> Option<&Event> {
        let place = revision.0.checked_sub(self.previous.0 + 1)?;
        self.events.get(usize::try_from(place).ok()?).map(|recorded| &recorded.event)
    }
}

fn names(names: &[String]) -> Option<Names> {
    match names {
        [] => None,
        [name] => Some(Text::from(&**name).into()),
        names => Some(names.iter().map(|name| Text::from(&**name)).collect::<Vec<_>>().into()),
    }
}

fn labels(claimed: &proto::Claimed) -> Metadata {
    if claimed.metadata.is_empty() { no_labels() } else { Metadata::new(claimed.metadata.clone()) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tenure_core::testing::{self, Build};
    use tenure_core::{AskedMode, Command, Handoff, Opening, Origin};

    use super::*;

    const HERE: ServerId = ServerId(8);

    /// Numbers that look random, the same each time.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }

        fn text(&mut self, kind: &str, bound: u64) -> Text {
            format!("{kind}{}", self.below(bound)).into()
        }

        fn labels(&mut self) -> Metadata {
            match self.below(3) {
                0 => Metadata::new(BTreeMap::from([("key".to_owned(), "\"value\"".to_owned())])),
                _ => no_labels(),
            }
        }

        fn millis(&mut self, bound: u64) -> Duration {
            Duration::from_millis(self.below(bound))
        }

        fn command(&mut self, table: &Table) -> Command {
            let session = self.text("session", 4);
            let name = self.text("name", 5);
            let token = table.claims().nth(self.below(4) as usize).and_then(Claim::token).unwrap_or_default();
            match self.below(12) {
                0 => testing::close(session),
                1 => Command::UpdateClaim { session, name, token, metadata: self.labels() },
                2 => testing::evict(name),
                3 => Command::Transfer { name, token: None, to: None, by: Handoff::ByHolder { session } },
                4 => testing::adopt(ServerId(7), HERE),
                5..8 => self.release(table).unwrap_or_else(|| testing::close(session)),
                _ => self.acquire(session, name),
            }
        }

        fn release(&mut self, table: &Table) -> Option<Command> {
            let claim = table.claims().nth(self.below(4) as usize)?;
            let (session, name) = (claim.spec.session.clone(), claim.spec.names[0].clone());
            Some(match claim.token() {
                Some(token) => testing::release(session, name, token),
                None => testing::cancel(session, claim.spec.names.clone()),
            })
        }

        fn acquire(&mut self, session: Text, name: Text) -> Command {
            let opening = Opening { owner: self.text("owner", 2), metadata: self.labels(), ..testing::opening() };
            let names = if self.below(3) == 0 { vec![name, "other".into()] } else { vec![name] };
            let mode = match self.below(3) {
                0 => AskedMode::Exclusive,
                1 => AskedMode::Shared,
                _ => AskedMode::Permits { permits: 2, limit: Some(5) },
            };
            let received = Revision(self.below(9));
            let origin = if self.below(2) == 0 { Origin::Call { received } } else { Origin::Stream { attached: None } };
            let command = testing::acquire(session, Names::from(names)).opening(Some(opening)).origin(origin);
            let command = command.at(ServerId(7 + self.below(2))).mode(mode);
            let command = command.queue(self.below(4) > 0).priority(1 - self.below(3) as i32).labels(self.labels());
            command.min_hold(if self.below(4) == 0 { self.millis(9) } else { Duration::ZERO })
        }
    }

    fn batch(previous: Revision, events: Vec<Recorded>) -> Batch {
        Batch { namespace: "n".into(), previous, events, server: HERE, number: 2, at_ms: 3 }
    }

    fn arrived(batch: &Batch) -> Result<Arrived, String> {
        let (previous, number, at_ms, events) = (batch.previous.0, batch.number, batch.at_ms, pack(batch));
        Arrived::new(proto::Batch { previous, number, at_ms, events }, batch.server, &batch.namespace)
    }

    fn adopted(revision: u64) -> Recorded {
        Recorded { revision: Revision(revision), event: testing::filler(1) }
    }

    #[test]
    fn whatever_happens_arrives_as_it_is_in_the_log() {
        let (mut here, mut there) = (Table::default(), Table::default());
        let mut dice = Dice(1);
        let mut short_forms = 0;
        for _ in 0..2_000 {
            let previous = here.revision();
            let mut events = Vec::new();
            for _ in 0..=dice.below(8) {
                let command = dice.command(&here);
                let _ = here.decide(command, &mut events);
            }
            here.commit();
            if events.is_empty() {
                continue;
            }
            for recorded in &mut events {
                if let Event::ClaimEnded { longest_pause, .. } = &mut recorded.event {
                    *longest_pause = Some(dice.millis(5)).filter(|pause| !pause.is_zero());
                }
            }
            let sent = batch(previous, events);
            let arrived = arrived(&sent).expect("readable");
            let is_short = |event: &&proto::Event| !matches!(event.kind, Some(Kind::Logged(_)));
            short_forms += arrived.events.iter().filter(is_short).count();
            assert_eq!((arrived.previous(), arrived.revision()), (previous, here.revision()));
            assert_eq!(arrived.unpack(&there), Ok(sent.clone()));
            sent.events.iter().for_each(|recorded| there.apply(recorded));
            assert_eq!(here, there);
        }
        assert!(short_forms > 1_500, "{short_forms}");
    }

    #[test]
    fn a_batch_with_a_gap_is_not_told() {
        assert!(arrived(&batch(Revision(4), vec![adopted(5), adopted(7)])).is_err());
    }

    #[test]
    fn a_batch_beyond_the_last_revision_is_none() {
        let last = Revision::MAX.0;
        assert!(arrived(&batch(Revision(last), vec![adopted(last + 1)])).is_err());
    }

    #[test]
    fn what_refers_to_something_unknown_is_refused() {
        let granted = Kind::Granted(proto::Claimed { opened: 3, names: vec!["a".into()], ..proto::Claimed::default() });
        let ended = |reason: proto::EndReason| {
            Kind::Ended(proto::Ended { claim: 3, token: Some(3), reason: reason.into(), ..proto::Ended::default() })
        };
        let other_revision = logged(&adopted(9));
        let kinds = [
            None,
            Some(granted),
            Some(Kind::GrantedWaiter(3)),
            Some(ended(proto::EndReason::Released)),
            Some(ended(proto::EndReason::Unspecified)),
            Some(Kind::Logged("[]".to_owned())),
            Some(other_revision),
        ];
        for kind in kinds {
            let events = vec![proto::Event { kind: kind.clone() }];
            let (namespace, previous, server) = ("n".into(), Revision(4), HERE);
            let arrived = Arrived { namespace, previous, server, number: 1, at_ms: 1, events };
            assert!(arrived.unpack(&Table::default()).is_err(), "{kind:?}");
        }
    }
}
