//! Assembles a page of history from the events of a lock, without I/O.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Claim, ClaimSpec, EndReason, Event, Recorded, Revision, Text};

use super::{Cursor, Entry, HoldEnd, HoldRecord, Loss};
use crate::limits;
use crate::store::Batch;

/// Approximate size of a hold in a message beside its texts, in bytes.
const HOLD: usize = 128;

/// A page that is being assembled from batches, newest first.
///
/// The end of a hold is found by reading backwards; its beginning is known by revision, since a fencing token is the
/// revision of the grant, and a claim's id that of the event that created it. So the batches of these may be added in
/// any order.
pub(super) struct Assembly {
    name: Text,
    from: Cursor,
    listed: Vec<Listed>,
    /// The index of each claim in `listed`.
    claims: HashMap<Revision, usize>,
    /// The events by which the holds and their sessions began, as far as they are known.
    origins: BTreeMap<Revision, Origin>,
}

struct Listed {
    entry: Entry,
    /// Position in the log. `None` for a current hold.
    position: Option<Position>,
}

impl Listed {
    /// Approximate size in a message, in bytes.
    fn bytes(&self) -> usize {
        HOLD + self.entry.hold().map_or(0, |hold| hold.spec.bytes())
    }
}

#[derive(Clone, Copy)]
struct Position {
    batch: Revision,
    event: Revision,
    /// The event may be only the end of lingering, with the end of the hold further back.
    perhaps_lingered: bool,
}

#[derive(Clone, Copy)]
enum Origin {
    Wanted,
    Dropped,
    Known {
        at_ms: i64,
        /// The TTL, if the event opened a session.
        ttl: Option<Duration>,
    },
}

impl Assembly {
    /// A page that begins at this cursor.
    pub(super) fn new(name: Text, from: Cursor) -> Self {
        Self { name, from, listed: Vec::new(), claims: HashMap::new(), origins: BTreeMap::new() }
    }

    /// Adds a current hold, and when it was granted, if that is known: the log may no longer have it.
    pub(super) fn lasts(&mut self, claim: &Claim, granted_ms: Option<i64>) {
        if let Some(token) = claim.token() {
            if let Some(at_ms) = granted_ms {
                self.origins.insert(token, Origin::Known { at_ms, ttl: None });
            }
            self.list(claim.id, token, &claim.spec, None, None);
        }
    }

    /// Adds the entries of the next older batch.
    pub(super) fn look_back(&mut self, batch: &Batch) {
        let before = self.from.before;
        for recorded in batch.events.iter().rev().filter(|recorded| recorded.revision < before) {
            self.look_at(recorded, batch);
        }
        self.learn(batch);
    }

    fn look_at(&mut self, recorded: &Recorded, batch: &Batch) {
        let mut position = Position { batch: batch.revision(), event: recorded.revision, perhaps_lingered: false };
        let at_ms = batch.at_ms;
        match &recorded.event {
            Event::ClaimLingering { claim, token, spec, reason, longest_pause, .. } => {
                let end = HoldEnd { at_ms, reason: *reason, eviction: None, longest_pause: *longest_pause };
                self.ended(*claim, *token, spec, end, position);
            }
            Event::ClaimEnded { claim, token: Some(token), spec, reason, eviction, longest_pause, .. } => {
                // A release with a minimum hold makes the claim linger: this is the end of lingering, not of the hold.
                if *reason == EndReason::Released && !spec.min_hold.is_zero() {
                    return;
                }
                position.perhaps_lingered = !spec.min_hold.is_zero();
                let (eviction, longest_pause) = (eviction.clone(), *longest_pause);
                self.ended(*claim, *token, spec, HoldEnd { at_ms, reason: *reason, eviction, longest_pause }, position);
            }
            Event::ClaimTransferred { from, from_token, from_spec, longest_pause, .. } => {
                let (reason, longest_pause) = (EndReason::Transferred, *longest_pause);
                let end = HoldEnd { at_ms, reason, eviction: None, longest_pause };
                self.ended(*from, *from_token, from_spec, end, position);
            }
            Event::HistoryLost { after } => {
                let loss = Loss { after: *after, revision: recorded.revision, at_ms };
                self.listed.push(Listed { entry: Entry::Lost(loss), position: Some(position) });
            }
            // A claim that ends without a token was never a hold.
            Event::ClaimEnded { token: None, .. }
            | Event::ClaimQueued(_)
            | Event::ClaimGranted { .. }
            | Event::ClaimUpdated { .. }
            | Event::TransferStarted { .. }
            | Event::TransferCancelled { .. }
            | Event::LockConfigured { .. }
            | Event::Group { .. }
            | Event::SessionOpened(_)
            | Event::SessionMoved { .. }
            | Event::SessionEnded { .. }
            | Event::ClientConnected { .. }
            | Event::ClientEnded { .. }
            | Event::ServerAdopted { .. }
            | Event::ClaimAwaited { .. }
            | Event::AcquireCancelled { .. }
            | Event::ForwardsVoided { .. } => {}
        }
    }

    fn ended(&mut self, claim: Revision, token: Revision, spec: &Arc<ClaimSpec>, end: HoldEnd, position: Position) {
        if self.from.listed.contains(&claim) || !spec.names.contains(&self.name) {
            return;
        }
        match self.claims.get(&claim).and_then(|at| self.listed.get_mut(*at)) {
            // The later event ended only its lingering.
            Some(Listed { entry: Entry::Hold(hold), .. }) => hold.end = Some(end),
            _ => self.list(claim, token, spec, Some(end), Some(position)),
        }
    }

    fn list(
        &mut self,
        claim: Revision,
        token: Revision,
        spec: &Arc<ClaimSpec>,
        end: Option<HoldEnd>,
        position: Option<Position>,
    ) {
        for origin in [claim, token, spec.opened] {
            self.origins.entry(origin).or_insert(Origin::Wanted);
        }
        self.claims.insert(claim, self.listed.len());
        let spec = spec.clone();
        let hold = HoldRecord { claim, token, spec, queued_ms: None, granted_ms: None, ttl: None, end };
        self.listed.push(Listed { entry: Entry::Hold(hold), position });
    }

    /// Learns from a batch how holds began.
    pub(super) fn learn(&mut self, batch: &Batch) {
        for (revision, origin) in self.origins.range_mut(batch.previous.next()..=batch.revision()) {
            let event = batch.events.binary_search_by_key(revision, |recorded| recorded.revision);
            if let (Origin::Wanted, Ok(at)) = (*origin, event) {
                let ttl = match &batch.events[at].event {
                    Event::SessionOpened(spec) => Some(spec.ttl),
                    _ => None,
                };
                *origin = Origin::Known { at_ms: batch.at_ms, ttl };
            }
        }
    }

    /// An event whose batch is still needed: one of the first incomplete hold, among the current holds and the next
    /// `most` entries.
    pub(super) fn wanted(&self, most: usize) -> Option<Revision> {
        let listed = self.listed.iter().take(self.lasting() + most);
        listed.flat_map(origins_of).find(|origin| self.lacks(*origin))
    }

    /// Number of complete entries that follow the current holds.
    pub(super) fn complete_count(&self) -> usize {
        let complete = |listed: &&Listed| !origins_of(listed).any(|origin| self.lacks(origin));
        self.listed.iter().skip(self.lasting()).take_while(complete).count()
    }

    fn lacks(&self, origin: Revision) -> bool {
        matches!(self.origins.get(&origin), Some(Origin::Wanted))
    }

    /// Records that these events are no longer in the log.
    pub(super) fn dropped(&mut self, from: Revision, to: Revision) {
        for (_, origin) in self.origins.range_mut(from..=to.max(from)) {
            if matches!(origin, Origin::Wanted) {
                *origin = Origin::Dropped;
            }
        }
    }

    fn lasting(&self) -> usize {
        self.listed.iter().take_while(|listed| listed.position.is_none()).count()
    }

    /// Number of entries beside the current holds.
    pub(super) fn ended_count(&self) -> usize {
        self.listed.len() - self.lasting()
    }

    /// The page: the current holds and at most `size` more entries, of about [`limits::PAGE`] bytes; and where the next
    /// page begins, if there is one. Batches that end at `further` or before have not been examined.
    pub(super) fn finish(mut self, size: usize, further: Option<Revision>) -> (Vec<Entry>, Option<Cursor>) {
        let lasting = self.lasting();
        let mut bytes = 0;
        let fits = self.listed.iter().skip(lasting).take(size).take_while(|listed| {
            let fits = bytes < limits::PAGE;
            bytes += listed.bytes();
            fits
        });
        let kept = lasting + fits.count();
        let cut = self.listed.len() > kept;
        self.listed.truncate(kept);
        let last = self.listed.last().and_then(|last| last.position).filter(|_| cut);
        let next = last.map(|last| (last.batch, last.event)).or(further.map(|further| (further, further.next())));
        let next = next.map(|(until, before)| {
            let lingered =
                self.listed.iter().filter(|listed| listed.position.is_some_and(|position| position.perhaps_lingered));
            let again = lingered.filter_map(|listed| Some(listed.entry.hold()?.claim));
            // A claim has no events before the one that created it.
            let listed = self.from.listed.iter().copied().chain(again).filter(|claim| *claim < before).collect();
            Cursor { until, before, listed }
        });
        let (listed, origins) = (self.listed, self.origins);
        (listed.into_iter().map(|listed| with_origins(listed.entry, &origins)).collect(), next)
    }
}

/// The events that determine the times of a hold.
fn origins_of(listed: &Listed) -> impl Iterator<Item = Revision> {
    listed.entry.hold().into_iter().flat_map(|hold| [hold.token, hold.claim, hold.spec.opened])
}

fn with_origins(entry: Entry, origins: &BTreeMap<Revision, Origin>) -> Entry {
    let Entry::Hold(mut hold) = entry else { return entry };
    let known = |revision: Revision| match origins.get(&revision) {
        Some(Origin::Known { at_ms, ttl }) => Some((*at_ms, *ttl)),
        _ => None,
    };
    hold.granted_ms = known(hold.token).map(|(at_ms, _)| at_ms);
    hold.queued_ms = known(hold.claim).map(|(at_ms, _)| at_ms);
    hold.ttl = known(hold.spec.opened).and_then(|(_, ttl)| ttl);
    Entry::Hold(hold)
}
