//! The sequencer's main loop.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Command, Rejection, Revision, ServerId, Text};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::backpressure::Backpressure;
use super::forwarding::{Forwarder, Peers};
use super::local::SharedLocalState;
use super::metrics::Counts;
use super::replica::Replica;
use super::tally::Tally;
use super::work::Work;
use super::{Message, Namespace, Reader};
use crate::cluster::lease::Lease;
use crate::cluster::membership::Membership;
use crate::limits::Budget;
use crate::store::log_reader::LogReader;
use crate::store::{Store, StoreError};
use crate::watch::Hub;

/// Capacity of the request queue, beyond which senders wait. Most requests are rejected before: see [`Backpressure`].
const QUEUE: usize = 65_536;

/// The sequencer reads the service clock at least this often, to keep it running.
const CLOCK_INTERVAL: Duration = Duration::from_millis(50);

/// Delay before a due command that could not be carried out is retried.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Approximate interval at which rows are written behind the log.
const SAVE: Duration = Duration::from_millis(250);

/// Age at which rows that another server should have written are written here.
const SAVE_FOR_OTHERS: Duration = Duration::from_secs(5);

/// Settings shared by the sequencers of a server.
#[derive(Clone)]
pub struct Settings {
    /// This server.
    pub me: ServerId,
    /// How long a claim is kept that no caller waits for.
    pub reattach: Duration,
    /// This server's lease.
    pub lease: Arc<Lease>,
    /// The other live servers, which should be notified of changes.
    pub membership: Arc<Membership>,
    /// The connections to them, if there are any.
    pub peers: Option<Arc<dyn Peers>>,
    /// Their metrics.
    pub counts: Counts,
    /// Reads history.
    pub(crate) log_reader: Arc<LogReader>,
    /// Bounds the messages kept for watches whose readers are behind.
    pub(crate) watch_budget: Budget,
    /// Stops the sequencers.
    pub cancel: CancellationToken,
    /// The number before that of the first batch. A namespace that is closed and reopened must not reuse the numbers of
    /// batches whose outcome is unknown.
    pub first_number: u64,
}

pub(super) struct Sequencer {
    pub(super) settings: Settings,
    pub(super) replica: Replica,
    pub(super) requests: mpsc::Receiver<Message>,
    /// Urgent requests, which precede those.
    pub(super) urgent: mpsc::Receiver<Message>,
    pub(super) backpressure: Backpressure,
    /// Readers deferred to a later batch.
    pub(super) readers: Vec<Reader>,
    /// The number of the last batch of this server in this namespace.
    pub(super) number: u64,
    pub(super) forwarder: Forwarder,
    /// A head that this server has not reached, announced by servers that send what they commit, and since when.
    pub(super) announced: Option<(Revision, Instant)>,
    /// The write of rows in progress, and the revision that it brings them to.
    saving: Option<(Revision, JoinHandle<Result<(), StoreError>>)>,
    /// Since when the rows are behind.
    behind_since: Option<Instant>,
}

/// Loads a namespace and starts its sequencer.
///
/// # Errors
/// If the store cannot be read.
pub async fn start(
    name: Text,
    store: Arc<dyn Store>,
    settings: Settings,
) -> Result<(Namespace, JoinHandle<()>), StoreError> {
    let (requests, queue) = mpsc::channel(QUEUE);
    let (urgent, urgent_queue) = mpsc::channel(QUEUE);
    let tally = Tally::new(settings.me, settings.counts.clone());
    let namespace = Namespace {
        name,
        requests,
        urgent,
        backpressure: Backpressure::default(),
        totals: tally.totals(),
        lateness: settings.counts.lateness.clone(),
        local: SharedLocalState::new(&settings),
        lease: settings.lease.clone(),
        hub: Arc::new(Hub::new(settings.watch_budget.clone())),
        log_reader: settings.log_reader.clone(),
        cancel: settings.cancel.clone(),
    };
    let mut sequencer = Sequencer {
        replica: Replica::new(&namespace, store, tally),
        requests: queue,
        urgent: urgent_queue,
        backpressure: namespace.backpressure.clone(),
        readers: Vec::new(),
        number: settings.first_number,
        forwarder: Forwarder::new(settings.first_number),
        announced: None,
        saving: None,
        behind_since: None,
        settings,
    };
    sequencer.replica.load().await?;
    sequencer.catch_up().await?;
    Ok((namespace, tokio::spawn(sequencer.run())))
}

impl Sequencer {
    async fn run(mut self) {
        while let Some(work) = self.gather().await {
            if !work.is_empty() {
                self.carry_out(work).await;
            }
            self.link_to_writers();
            self.save_behind().await;
        }
        self.reject_in_flight();
        self.reject_requests().await;
        self.save_last().await;
    }

    /// Rejects the remaining requests when this server stops: they change nothing.
    async fn reject_requests(&mut self) {
        self.urgent.close();
        self.requests.close();
        while let Some(request) = next(&mut self.urgent, &mut self.requests).await {
            self.reject_request(request, &Rejection::Draining);
        }
    }

    pub(super) fn reject_request(&self, request: Message, rejection: &Rejection) {
        self.backpressure.remove(request.load());
        request.reject(rejection);
    }

    /// Waits for a request or for the next check of the clock; then takes the due commands and all that has arrived.
    async fn gather(&mut self) -> Option<Work> {
        let until = Instant::now() + self.pause();
        let until = self.forwarder.until().map_or(until, |patience| patience.min(until));
        let until = if self.readers.is_empty() { until } else { Instant::now() };
        let has_room = self.has_room();
        let first = tokio::select! {
            biased;
            () = self.settings.cancel.cancelled() => return None,
            Some((link, event)) = self.forwarder.events.recv() => {
                self.on_link_event(link, event).await;
                None
            }
            request = next(&mut self.urgent, &mut self.requests), if has_room => Some(request?),
            () = tokio::time::sleep_until(until) => None,
        };
        if first.is_some() {
            // Other callers that the same batch answered may be about to send requests.
            tokio::task::yield_now().await;
        }
        self.take_back_overdue();
        let has_room = self.has_room();
        let mut work = self.forwarder.returned.take().unwrap_or_default();
        work.readers.append(&mut self.readers);
        for command in self.due() {
            work.push_due(command);
        }
        if let Some(first) = first {
            self.add(first, &mut work);
        }
        while has_room
            && !work.is_full()
            && let Ok(request) = self.urgent.try_recv().or_else(|_| self.requests.try_recv())
        {
            self.add(request, &mut work);
        }
        Some(work)
    }

    fn add(&mut self, request: Message, work: &mut Work) {
        self.backpressure.remove(request.load());
        match request {
            Message::Follow { server, link, reply } => {
                // A requester that is gone does not follow.
                let _ = reply.send(self.forwarder.followers.add(server, link));
            }
            request => work.push(request),
        }
    }

    /// The revision of the table.
    pub(super) fn revision(&self) -> Revision {
        self.replica.table.revision()
    }

    /// Whether this server appended last.
    fn is_writer(&self) -> bool {
        self.replica.last_writer == Some(self.settings.me)
    }

    /// Time until a command is due. Without the lease none is, until it is regained.
    fn pause(&self) -> Duration {
        let Some(now) = self.settings.lease.tick() else { return CLOCK_INTERVAL };
        let next = self.replica.local.lock().home.next_deadline();
        next.map_or(CLOCK_INTERVAL, |next| next.saturating_sub(now)).min(CLOCK_INTERVAL)
    }

    /// The commands that are due. Without the lease none are: the sessions could not have been renewed.
    fn due(&mut self) -> Vec<Command> {
        let Some(now) = self.settings.lease.tick() else { return Vec::new() };
        self.replica.local.lock().home.due(now)
    }

    pub(super) fn retry(&mut self, command: &Command) {
        let at = self.settings.lease.standing_tick() + RETRY_DELAY;
        self.replica.local.lock().home.retry_at(command, at);
    }

    /// Writes the rows behind the log from time to time, concurrently with everything else.
    async fn save_behind(&mut self) {
        if self.saving.as_ref().is_some_and(|(_, saving)| saving.is_finished()) {
            self.finish_saving().await;
        }
        if self.saving.is_some() || !self.replica.rows.behind(&self.replica.table) {
            return;
        }
        let wait = if self.is_writer() { SAVE } else { SAVE_FOR_OTHERS };
        let now = Instant::now();
        if now < *self.behind_since.get_or_insert(now) + wait {
            return;
        }
        self.behind_since = None;
        let changes = self.replica.row_changes();
        let (store, name, to) = (self.replica.store.clone(), self.replica.name.clone(), changes.to);
        let saving = tokio::spawn(async move { store.save(&name, &changes).await });
        self.saving = Some((to, saving));
    }

    async fn finish_saving(&mut self) {
        let Some((to, saving)) = self.saving.take() else { return };
        match saving.await {
            Ok(Ok(())) => self.replica.rows.saved(to),
            // Another server wrote first; the head shows how far it got.
            Ok(Err(StoreError::Conflict)) => self.try_catch_up().await,
            Ok(Err(error)) => tracing::debug!(namespace = %self.replica.name, %error, "rows are behind the log"),
            Err(error) => tracing::error!(namespace = %self.replica.name, %error, "writing rows failed"),
        }
    }

    /// Brings the rows up to date before this server stops, so that the next one starts fast.
    async fn save_last(&mut self) {
        self.finish_saving().await;
        if self.is_writer() && self.replica.rows.behind(&self.replica.table) {
            let changes = self.replica.row_changes();
            if let Err(error) = self.replica.store.save(&self.replica.name, &changes).await {
                tracing::debug!(namespace = %self.replica.name, %error, "rows are behind the log");
            }
        }
    }
}

/// The next request; urgent ones first.
pub(super) async fn next(
    urgent: &mut mpsc::Receiver<Message>,
    requests: &mut mpsc::Receiver<Message>,
) -> Option<Message> {
    tokio::select! {
        biased;
        Some(request) = urgent.recv() => Some(request),
        request = requests.recv() => request,
    }
}
