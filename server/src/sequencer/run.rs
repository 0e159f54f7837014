//! The sequencer's loop.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Command, Revision, ServerId, Text};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::backpressure::Backpressure;
use super::desk::SharedDesk;
use super::granted::SharedGrantTimes;
use super::metrics::Counts;
use super::passing::{Passing, Peers};
use super::replica::Replica;
use super::tally::Tally;
use super::work::Work;
use super::{Message, Namespace, Reader, Refusal};
use crate::cluster::lease::Lease;
use crate::cluster::membership::Membership;
use crate::limits::Budget;
use crate::store::log_reader::LogReader;
use crate::store::{Store, StoreError};
use crate::watch::Hub;

/// How many requests may queue up before their senders are held back. Most are refused before: see [`Backpressure`].
const QUEUE: usize = 65_536;

/// The sequencer looks at the service clock at least this often, so that it runs.
const LOOK: Duration = Duration::from_millis(50);

/// After this long, what is due by itself and could not be carried out is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// Rows are written behind the log about this often.
const SAVE: Duration = Duration::from_millis(250);

/// Rows that another server should have written are written here when they are this old.
const SAVE_FOR_OTHERS: Duration = Duration::from_secs(5);

/// What the sequencers of a server have in common.
#[derive(Clone)]
pub struct Settings {
    /// This server.
    pub me: ServerId,
    /// How long a claim is kept that nobody attends to.
    pub reattach: Duration,
    /// This server's lease.
    pub lease: Arc<Lease>,
    /// The other servers that live, who should be told of changes.
    pub membership: Arc<Membership>,
    /// The ways to them, if there are any.
    pub peers: Option<Arc<dyn Peers>>,
    /// What they count with.
    pub counts: Counts,
    /// Reads history.
    pub(crate) log_reader: LogReader,
    /// Of which messages are kept for watches whose readers are behind.
    pub(crate) watch_budget: Budget,
    /// Ends the sequencers.
    pub cancel: CancellationToken,
    /// The number before that of the first batch. A namespace that is closed and opened again must not use numbers
    /// again that a batch of unknown outcome may still have.
    pub first_number: u64,
}

pub(super) struct Sequencer {
    pub(super) settings: Settings,
    pub(super) replica: Replica,
    pub(super) requests: mpsc::Receiver<Message>,
    /// What comes before those.
    pub(super) pressing: mpsc::Receiver<Message>,
    pub(super) backpressure: Backpressure,
    /// Those whose turn has yet to come.
    pub(super) readers: Vec<Reader>,
    pub(super) cancel: CancellationToken,
    /// The number of the last batch of this server in this namespace.
    pub(super) number: u64,
    pub(super) passing: Passing,
    /// A head that others tell of what is appended up to, which this server is not at, and since when.
    pub(super) awaited: Option<(Revision, Instant)>,
    /// The write of rows that is under way, and the revision it brings them to.
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
    let desk = SharedDesk::new(&settings);
    let hub = Arc::new(Hub::new(settings.watch_budget.clone()));
    let (sender, requests) = mpsc::channel(QUEUE);
    let (pressing_sender, pressing) = mpsc::channel(QUEUE);
    let backpressure = Backpressure::default();
    let tally = Tally::new(settings.me, settings.counts.clone());
    let totals = tally.totals();
    let granted = SharedGrantTimes::default();
    let replica = Replica::new(name.clone(), store, desk.clone(), hub.clone(), tally, granted.clone());
    let cancel = settings.cancel.clone();
    let ended = cancel.clone();
    let (lease, sessions, log_reader) =
        (settings.lease.clone(), settings.counts.sessions.clone(), settings.log_reader.clone());
    let number = settings.first_number;
    let mut sequencer = Sequencer {
        settings,
        replica,
        requests,
        pressing,
        backpressure: backpressure.clone(),
        readers: Vec::new(),
        cancel,
        number,
        passing: Passing::default(),
        awaited: None,
        saving: None,
        behind_since: None,
    };
    sequencer.replica.load().await?;
    sequencer.catch_up().await?;
    let running = tokio::spawn(sequencer.run());
    let (requests, pressing) = (sender, pressing_sender);
    let namespace = Namespace {
        name,
        requests,
        pressing,
        backpressure,
        totals,
        sessions,
        desk,
        granted,
        lease,
        hub,
        log_reader,
        cancel: ended,
    };
    Ok((namespace, running))
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
        self.forsake();
        self.turn_away().await;
        self.save_last().await;
    }

    /// This server stops: what it has not begun changes nothing.
    async fn turn_away(&mut self) {
        self.pressing.close();
        self.requests.close();
        while let Some(request) = next(&mut self.pressing, &mut self.requests).await {
            self.backpressure.give_back(request.load());
            request.refuse(&self.replica.name, &Refusal::Draining);
        }
    }

    /// Waits until there is something to do, or time to look at the clock; takes what is due by itself and all that has
    /// arrived.
    async fn gather(&mut self) -> Option<Work> {
        let until = Instant::now() + self.pause();
        let until = self.passing.until().map_or(until, |patience| patience.min(until));
        let until = if self.readers.is_empty() { until } else { Instant::now() };
        let has_room = self.has_room();
        let first = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return None,
            Some(heard) = self.passing.word() => {
                self.hear(heard).await;
                None
            }
            request = next(&mut self.pressing, &mut self.requests), if has_room => Some(request?),
            () = tokio::time::sleep_until(until) => None,
        };
        if first.is_some() {
            // Others may be about to ask, who were answered by the same batch.
            tokio::task::yield_now().await;
        }
        self.lose_patience();
        let has_room = self.has_room();
        let mut work = self.passing.owed().unwrap_or_default();
        work.readers.append(&mut self.readers);
        for command in self.due() {
            work.push_due(command);
        }
        if let Some(first) = first {
            self.add(first, &mut work);
        }
        while has_room
            && !work.is_full()
            && let Ok(request) = self.pressing.try_recv().or_else(|_| self.requests.try_recv())
        {
            self.add(request, &mut work);
        }
        Some(work)
    }

    fn add(&mut self, request: Message, work: &mut Work) {
        self.backpressure.give_back(request.load());
        match request {
            Message::Follow { server, reply } => {
                // Who has gone does not follow.
                let _ = reply.send(self.passing.followers.add(server));
            }
            request => work.push(request),
        }
    }

    /// Whether this server appended last.
    fn is_writer(&self) -> bool {
        self.replica.last_writer == Some(self.settings.me)
    }

    /// For how long nothing is due. Without the lease nothing is, until it is back.
    fn pause(&self) -> Duration {
        let Some(now) = self.settings.lease.tick() else { return LOOK };
        let next = self.replica.desk.lock().home.next_deadline();
        next.map_or(LOOK, |next| next.saturating_sub(now)).min(LOOK)
    }

    /// What is due by itself. Without the lease nothing is: the sessions could not have been renewed.
    fn due(&mut self) -> Vec<Command> {
        let Some(now) = self.settings.lease.tick() else { return Vec::new() };
        self.replica.desk.lock().home.due(now)
    }

    pub(super) fn again(&mut self, command: &Command) {
        let at = self.settings.lease.standing_tick() + AGAIN;
        self.replica.desk.lock().home.again(command, at);
    }

    /// Writes the rows behind the log from time to time, while everything else goes on.
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
            Ok(Err(StoreError::Conflict)) => {
                // Another server was first; the head tells how far it came.
                if let Err(error) = self.catch_up().await {
                    tracing::debug!(namespace = %self.replica.name, %error, "cannot follow the log");
                }
            }
            Ok(Err(error)) => tracing::debug!(namespace = %self.replica.name, %error, "rows stay behind the log"),
            Err(error) => tracing::error!(namespace = %self.replica.name, %error, "writing rows failed"),
        }
    }

    /// A server that stops leaves the rows up to date, so that the next one starts fast.
    async fn save_last(&mut self) {
        self.finish_saving().await;
        if self.is_writer() && self.replica.rows.behind(&self.replica.table) {
            let changes = self.replica.row_changes();
            if let Err(error) = self.replica.store.save(&self.replica.name, &changes).await {
                tracing::debug!(namespace = %self.replica.name, %error, "rows stay behind the log");
            }
        }
    }
}

/// The next request: what is pressing first.
pub(super) async fn next(
    pressing: &mut mpsc::Receiver<Message>,
    requests: &mut mpsc::Receiver<Message>,
) -> Option<Message> {
    tokio::select! {
        biased;
        Some(request) = pressing.recv() => Some(request),
        request = requests.recv() => request,
    }
}
