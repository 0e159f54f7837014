//! What the handles of a client share: its protocol, and the status of each number in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::HashMap;
use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;

use crate::clock::Moment;
use crate::presence::Presence;
use crate::progress::Progress;
use crate::protocol::{Event, Protocol, Status};
use crate::trace;

/// How often it is checked, while there is no progress, whether there is again.
const LOOK_FOR_PROGRESS: Duration = Duration::from_millis(20);

/// The protocol, and the status of each number in it.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) protocol: Protocol,
    statuses: HashMap<u64, Weak<Presence>>,
    /// The progress that the renewal of sessions depends on, by the number of the session or claim that needs it.
    needs: BTreeMap<u64, Need>,
    /// The sessions without progress.
    stalled: BTreeSet<u64>,
    is_left: bool,
    /// Until when everything is to be withdrawn, if the client is being closed.
    closing: Option<Moment>,
}

/// Progress that is needed.
#[derive(Debug)]
struct Need {
    session: u64,
    /// Once the session is open, or the claim is held: reports from before do not count.
    since: Option<Moment>,
    progress: Progress,
}

/// What the driver is to do.
#[derive(Debug)]
pub(crate) struct Due {
    /// Call [`Table::due`] again then, at the latest.
    pub(crate) next: Option<Moment>,
    pub(crate) has_outgoing: bool,
    /// Connect to another server.
    pub(crate) leave: bool,
    /// The client is closed.
    pub(crate) is_closed: bool,
}

impl Table {
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            statuses: HashMap::default(),
            needs: BTreeMap::new(),
            stalled: BTreeSet::new(),
            is_left: false,
            closing: None,
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Declares something. Returns its first number.
    pub(crate) fn declare(&mut self, declaration: v1::Declaration, now: Moment) -> u64 {
        self.request(Changed::Declare(declaration), now)
    }

    /// A number's status, from now on. The renewal of its session depends on the progress, once it is open or held.
    pub(crate) fn follow(
        &mut self,
        number: u64,
        session: u64,
        of_session: Option<Arc<Presence>>,
        progress: Option<Progress>,
    ) -> Arc<Presence> {
        let presence = Presence::new(of_session);
        self.statuses.insert(number, Arc::downgrade(&presence));
        self.needs.extend(progress.map(|progress| (number, Need { session, since: None, progress })));
        presence
    }

    /// Withdraws what has this number.
    pub(crate) fn withdraw(&mut self, number: u64, now: Moment) {
        self.request(Changed::Withdraw(number), now);
    }

    /// Withdraws everything, and declares nothing any more.
    pub(crate) fn close(&mut self, until: Moment, now: Moment) {
        self.closing = Some(self.closing.map_or(until, |before| before.min(until)));
        self.protocol.sessions().into_iter().for_each(|session| self.withdraw(session, now));
    }

    /// Does what is due.
    pub(crate) fn due(&mut self, now: Moment) -> Due {
        // First, because a keep-alive that is due must not renew a session without progress.
        self.check_progress(now);
        self.protocol.handle_timeout(now);
        self.dispatch(now);
        let look = (!self.stalled.is_empty()).then(|| now.after(LOOK_FOR_PROGRESS));
        let is_empty = self.statuses.is_empty();
        Due {
            next: self.protocol.poll_timeout().into_iter().chain(self.closing).chain(look).min(),
            has_outgoing: self.protocol.has_outgoing(),
            leave: std::mem::take(&mut self.is_left),
            is_closed: self.closing.is_some_and(|until| until <= now || is_empty),
        }
    }

    /// Pauses the sessions without progress, and resumes the others.
    pub(crate) fn check_progress(&mut self, now: Moment) {
        let is_stalled = |need: &&Need| need.since.is_some_and(|since| need.progress.is_stalled_at(since, now));
        let stalled: BTreeSet<u64> = self.needs.values().filter(is_stalled).map(|need| need.session).collect();
        let before = std::mem::replace(&mut self.stalled, stalled);
        for session in before.symmetric_difference(&self.stalled).copied().collect::<Vec<_>>() {
            let is_stalled = self.stalled.contains(&session);
            tracing::info!(session, is_stalled, "the progress of the program has changed");
            self.request(if is_stalled { Changed::Pause(session) } else { Changed::Resume(session) }, now);
        }
    }

    /// Passes the events of the protocol on.
    pub(crate) fn dispatch(&mut self, now: Moment) {
        while let Some(event) = self.protocol.poll_event() {
            let Event::Changed { number, status } = event else {
                self.is_left = true;
                continue;
            };
            let presence = self.statuses.get(&number).and_then(Weak::upgrade);
            match &status {
                // Handles have seen its end, which is final, before this renewal arrived.
                Status::Open(_) if presence.as_ref().is_some_and(|presence| presence.is_recorded_as_lost()) => {
                    self.withdraw(number, now);
                    continue;
                }
                Status::Open(_) | Status::Held { .. } => {
                    self.needs.get_mut(&number).map(|need| need.since.get_or_insert(now));
                }
                Status::Withdrawn | Status::Ended(_) => drop(self.needs.remove(&number)),
                _ => {}
            }
            if matches!(status, Status::Ended(_)) {
                self.statuses.remove(&number);
            }
            if let Some(presence) = presence {
                presence.set(status, now);
            }
        }
    }

    fn request(&mut self, kind: Changed, now: Moment) -> u64 {
        let has_trace = matches!(kind, Changed::Declare(_) | Changed::Withdraw(_));
        let traceparent = if has_trace { trace::current() } else { String::new() };
        self.protocol.handle_request(v1::Change { kind: Some(kind), traceparent }, now)
    }
}

#[cfg(test)]
mod tests {
    use tenure_proto::v1::connect_request::Kind as Sent;
    use tenure_proto::v1::connect_response::Kind as Received;

    use super::*;
    use crate::clock;
    use crate::convert::to_wire;
    use crate::error::LostReason;

    const VALID_FOR: Duration = Duration::from_millis(50);

    fn receive(table: &mut Table, kind: Received, now: Moment) {
        table.protocol.handle_response(1, v1::ConnectResponse { kind: Some(kind) }, now);
        table.dispatch(now);
    }

    #[tokio::test]
    async fn session_that_handles_have_seen_expire_is_not_renewed() {
        let mut table = Table::new(Protocol::new("default".into(), "client".into()));
        let start = clock::now();
        table.protocol.handle_connected(start);
        let open = Some(v1::DeclaredSession::default());
        let session = table.declare(v1::Declaration { open, ..v1::Declaration::default() }, start);
        let presence = table.follow(session, session, None, None);
        let valid_for = Some(to_wire(VALID_FOR));
        let open = v1::OpenState { renew_after: valid_for, warn_after: valid_for, valid_for, ..Default::default() };
        let state = v1::State { number: session, kind: Some(v1::state::Kind::Open(open)) };
        receive(&mut table, Received::States(v1::States { states: vec![state] }), start);
        // Sends a keep-alive.
        table.request(Changed::Pause(session), start);
        table.request(Changed::Resume(session), start.after(VALID_FOR / 5));
        table.dispatch(start);
        assert_eq!(presence.lost().await, LostReason::Unrenewed);
        let number = std::iter::from_fn(|| table.protocol.poll_transmit()).find_map(|sent| match sent.kind {
            Some(Sent::KeepAlive(keep_alive)) => Some(keep_alive.number),
            _ => None,
        });
        // The task that receives it has read the clock before.
        let late = start.after(VALID_FOR / 2);
        receive(&mut table, Received::KeptAlive(v1::KeptAlive { number: number.expect("sent") }), late);
        let sent: Vec<_> = std::iter::from_fn(|| table.protocol.poll_transmit()).collect();
        let is_withdrawal = |sent: &v1::ConnectRequest| match &sent.kind {
            Some(Sent::Changes(sent)) => sent.changes.iter().any(|c| c.kind == Some(Changed::Withdraw(session))),
            _ => false,
        };
        assert!(sent.iter().any(is_withdrawal), "{sent:?}");
    }
}
