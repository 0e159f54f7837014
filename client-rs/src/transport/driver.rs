//! The connection's task: owns the stream, passes messages between it and the engine, and connects to the next server
//! when it fails.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use rand::RngExt;
use tenure_proto::v1::{StreamRequest, StreamResponse};
use tokio::sync::{mpsc, watch};
use tokio::task::yield_now;
use tokio::time::sleep;
use tonic::transport::Uri;
use tonic::{Status, Streaming};

use super::connector::Connector;
use super::dial::{Dialled, dial};
use crate::backoff::Backoff;
use crate::clock::{self, Moment};
use crate::connection::{Connection, Inbox, Wire};
use crate::error::{Error, Result};
use crate::options::ClientOptions;
use crate::protocol::{Engine, Verdict};

/// Pauses between failed rounds of connection attempts: from this ...
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// ... to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// After a connection that was shorter than this, there is a pause before the next one.
const SHORT_LIVED: Duration = Duration::from_millis(500);
/// How long an old stream is kept while the sessions are attached to the new one.
const OVERLAP: Duration = Duration::from_secs(5);
/// The most commands in one message: the contract's bound.
const COMMANDS_PER_MESSAGE: usize = 1000;
/// After this number of messages from the server, other events have their turn.
const MESSAGES_PER_TURN: usize = 64;
/// The number of requests processed at once, apart from those that arrive meanwhile.
const REQUESTS_PER_TURN: usize = 256;
/// The runtime's timers stop during suspend, so the clock is read at least this often.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// How long closing the sessions may take after the last handle to the client is dropped.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The next endpoint is tried at the latest after this part of the shortest time for which a renewal is valid.
const STAGGER_DIVISOR: u32 = 12;

type Dialling = Pin<Box<dyn Future<Output = Result<Dialled>> + Send>>;

struct Task {
    connector: Arc<dyn Connector>,
    servers: Arc<[Uri]>,
    connect_timeout: Duration,
    engine: Engine,
    requests: Option<mpsc::Sender<StreamRequest>>,
    responses: Option<Streaming<StreamResponse>>,
    /// The old stream, until all sessions are attached to the new one or this moment has passed.
    parked: Option<(mpsc::Sender<StreamRequest>, Streaming<StreamResponse>, Moment)>,
    dialling: Option<Dialling>,
    next_endpoint: usize,
    connected_at: Option<Moment>,
    backoff: Backoff,
    wire: watch::Sender<Result<Wire>>,
}

/// Starts the task of a new connection.
pub(crate) fn start(options: ClientOptions, connector: Arc<dyn Connector>) -> Result<Connection> {
    let servers = options.urls()?;
    let runtime = tokio::runtime::Handle::try_current()
        .map_err(|_| Error::invalid("runtime", "a client is made inside a Tokio runtime"))?;
    let (connection, inbox) = Connection::new(options.namespace.clone(), options.call_timeout);
    runtime.spawn(run(connector, servers, options, inbox));
    Ok(connection)
}

/// Runs until the client is shut down or the last handle to it is dropped.
async fn run(connector: Arc<dyn Connector>, servers: Vec<Uri>, options: ClientOptions, inbox: Inbox) {
    let Inbox { mut requests, mut notes, wire } = inbox;
    let mut task = Task {
        next_endpoint: rand::rng().random_range(0..servers.len().max(1)),
        connector,
        servers: servers.into(),
        connect_timeout: options.connect_timeout,
        engine: Engine::new(options.namespace, uuid::Uuid::now_v7().to_string()),
        requests: None,
        responses: None,
        parked: None,
        dialling: None,
        connected_at: None,
        backoff: Backoff::new(FIRST_PAUSE, LONGEST_PAUSE),
        wire,
    };
    task.start_dialling();
    let mut has_handles = true;
    let mut asked = Vec::new();
    loop {
        // Received messages come first: an answer that has arrived is not overdue.
        task.receive_arrived();
        let now = clock::now();
        task.engine.due(now);
        task.follow_verdict();
        task.unpark(now);
        if task.engine.take_shut_down() {
            break;
        }
        let nap = task.nap(now);
        let accepts_requests = has_handles && task.engine.has_space();
        tokio::select! {
            count = requests.recv_many(&mut asked, REQUESTS_PER_TURN), if accepts_requests => match count {
                1.. => {
                    // Callers that were answered by one message send their next requests at the same time. After a
                    // yield these are sent in one message, too.
                    yield_now().await;
                    requests.recv_many(&mut asked, REQUESTS_PER_TURN).now_or_never();
                    let now = clock::now();
                    for request in asked.drain(..) {
                        task.engine.request(request, now);
                    }
                }
                0 => {
                    has_handles = false;
                    let now = clock::now();
                    while let Ok(note) = notes.try_recv() {
                        task.engine.note(note, now);
                    }
                    task.engine.shut_down(now.after(CLOSE_TIMEOUT), None, now);
                }
            },
            Some(note) = notes.recv() => {
                let now = clock::now();
                task.engine.note(note, now);
                while let Ok(note) = notes.try_recv() {
                    task.engine.note(note, now);
                }
            }
            response = next_response(&mut task.responses) => task.received(response),
            permit = reserve(&task.requests), if task.engine.has_outgoing() => match permit {
                Some(permit) => {
                    permit.send(StreamRequest { commands: task.engine.take_outgoing(COMMANDS_PER_MESSAGE) });
                }
                None => task.disconnect("the connection broke".to_owned()),
            },
            dialled = finish(&mut task.dialling) => task.dialled(dialled),
            () = sleep(nap) => {}
        }
    }
}

impl Task {
    fn receive_arrived(&mut self) {
        for _ in 0..MESSAGES_PER_TURN {
            let Some(response) = next_response(&mut self.responses).now_or_never() else { return };
            self.received(response);
        }
    }

    fn received(&mut self, response: Result<Option<StreamResponse>, Status>) {
        match response {
            Ok(Some(response)) => self.engine.received(response, clock::now()),
            Ok(None) => self.disconnect("the server ended the stream".to_owned()),
            Err(status) => self.disconnect(status.message().to_owned()),
        }
    }

    fn start_dialling(&mut self) {
        if self.dialling.is_some() {
            return;
        }
        let now = clock::now();
        let pause = match self.connected_at {
            Some(at) if now.since(at) >= SHORT_LIVED => {
                self.backoff.reset();
                None
            }
            Some(_) => Some(self.backoff.next_pause()),
            None => None,
        };
        self.dial_after(pause);
    }

    fn dial_after(&mut self, pause: Option<Duration>) {
        let (connector, servers) = (Arc::clone(&self.connector), Arc::clone(&self.servers));
        let order = self.order();
        let stagger = self.engine.shortest_window().unwrap_or(Duration::MAX) / STAGGER_DIVISOR;
        let limit = self.connect_timeout;
        let pause = pause.map(|pause| pause.min(stagger));
        self.dialling = Some(Box::pin(async move {
            if let Some(pause) = pause {
                sleep(pause).await;
            }
            dial(&*connector, &servers, order, limit, stagger).await
        }));
    }

    /// The endpoints in the order in which to try them.
    fn order(&self) -> Vec<usize> {
        let count = self.servers.len();
        // The endpoint of the current stream comes last; while that stream is still open, it is not tried, unless there
        // is no other.
        let others = if self.requests.is_some() && count > 1 { count - 1 } else { count };
        (0..others).map(|step| (self.next_endpoint + step) % count).collect()
    }

    fn dialled(&mut self, dialled: Result<Dialled>) {
        self.dialling = None;
        let now = clock::now();
        match dialled {
            Ok(dialled) => {
                let uri = self.servers.get(dialled.endpoint);
                tracing::info!(endpoint = ?uri, "connected");
                if let (Some(requests), Some(responses)) = (self.requests.take(), self.responses.take()) {
                    self.parked = Some((requests, responses, now.after(OVERLAP)));
                }
                self.next_endpoint = (dialled.endpoint + 1) % self.servers.len();
                self.connected_at = Some(now);
                self.requests = Some(dialled.requests);
                self.responses = Some(dialled.responses);
                drop(self.wire.send_replace(Ok(dialled.wire)));
                self.engine.connected(now);
            }
            Err(error) => {
                tracing::warn!(%error, "no server can be reached");
                if self.requests.is_none() {
                    drop(self.wire.send_replace(Err(error.clone())));
                    self.engine.trouble(error, now);
                }
                let pause = self.backoff.next_pause();
                self.dial_after(Some(pause));
            }
        }
    }

    fn follow_verdict(&mut self) {
        match self.engine.take_verdict() {
            Some(Verdict::Broken) => self.disconnect("the server did not answer".to_owned()),
            Some(Verdict::Leave) => self.start_dialling(),
            None => {}
        }
    }

    fn disconnect(&mut self, problem: String) {
        tracing::warn!(problem, "the stream broke");
        self.requests = None;
        self.responses = None;
        drop(self.wire.send_replace(Err(Error::Unavailable(problem.clone()))));
        self.engine.disconnected(problem);
        self.start_dialling();
    }

    fn unpark(&mut self, now: Moment) {
        if self.parked.as_ref().is_some_and(|(.., until)| *until <= now || self.engine.is_settled()) {
            self.parked = None;
        }
    }

    fn nap(&self, now: Moment) -> Duration {
        let deadlines = self.engine.next_deadline().into_iter().chain(self.parked.as_ref().map(|(.., until)| *until));
        deadlines.min().map_or(LONGEST_SLEEP, |deadline| deadline.since(now)).min(LONGEST_SLEEP)
    }
}

/// The next message, if there is a stream.
async fn next_response(responses: &mut Option<Streaming<StreamResponse>>) -> Result<Option<StreamResponse>, Status> {
    match responses {
        Some(responses) => responses.message().await,
        None => std::future::pending().await,
    }
}

/// A permit to send a message, if there is a stream; `None` if it broke.
async fn reserve(requests: &Option<mpsc::Sender<StreamRequest>>) -> Option<mpsc::OwnedPermit<StreamRequest>> {
    match requests {
        Some(requests) => requests.clone().reserve_owned().await.ok(),
        None => std::future::pending().await,
    }
}

/// The result of the connection attempt, if one is in progress.
async fn finish(dialling: &mut Option<Dialling>) -> Result<Dialled> {
    match dialling {
        Some(dialling) => dialling.await,
        None => std::future::pending().await,
    }
}
