//! What the handles of a client share: its protocol, and the status of each number in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use std::time::Duration;

use foldhash::HashMap;
use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;
use tokio::sync::watch;

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
    statuses: HashMap<u64, watch::Sender<Status>>,
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

    /// Declares something, and what its renewal depends on. Returns its number.
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
        let (status, receiver) = watch::channel(Status::Declared);
        self.statuses.insert(number, status);
        self.needs.extend(progress.map(|progress| (number, Need { session, since: None, progress })));
        Presence::new(receiver, of_session)
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
            match &status {
                Status::Open(_) | Status::Held { .. } => {
                    self.needs.get_mut(&number).map(|need| need.since.get_or_insert(now));
                }
                Status::Withdrawn | Status::Ended(_) => drop(self.needs.remove(&number)),
                _ => {}
            }
            let is_end = matches!(status, Status::Ended(_));
            if let Some(sender) = self.statuses.get(&number) {
                sender.send_if_modified(|before| replace(before, status, now));
            }
            if is_end {
                self.statuses.remove(&number);
            }
        }
    }

    fn request(&mut self, kind: Changed, now: Moment) -> u64 {
        let has_trace = matches!(kind, Changed::Declare(_) | Changed::Withdraw(_));
        let traceparent = if has_trace { trace::current() } else { String::new() };
        self.protocol.handle_request(v1::Change { kind: Some(kind), traceparent }, now)
    }
}

/// Returns whether to wake those who wait for a change: a renewal in time is none.
fn replace(before: &mut Status, status: Status, now: Moment) -> bool {
    let is_healthy = matches!(before, Status::Open(validity) if now < validity.at_risk_from());
    let is_renewal = is_healthy && matches!(status, Status::Open(_));
    *before = status;
    !is_renewal
}
