//! The connection's task: owns the stream, passes messages between it and the protocol, and connects to the next server
//! when it fails.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, OptionFuture};
use rand::RngExt;
use tenure_proto::v1;
use tokio::sync::{mpsc, watch};
use tokio::task::yield_now;
use tokio::time::sleep;
use tonic::transport::Uri;
use tonic::{Status, Streaming};

use super::connector::Connector;
use super::dial::{Dialled, dial};
use crate::backoff::Backoff;
use crate::clock::{self, Moment};
use crate::connection::{Connection, Shared, Wire};
use crate::error::{Error, Result};
use crate::options::ClientOptions;

/// Pauses between failed rounds of connection attempts: from this ...
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// ... to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// After a stream that was shorter than this, or was not confirmed at all, there is a pause before the next one.
const SHORT_LIVED: Duration = Duration::from_millis(500);
/// After this number of messages from the server, other events have their turn.
const MESSAGES_PER_TURN: usize = 64;
/// The runtime's timers stop during suspend, so the clock is read at least this often.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// The next endpoint is tried at the latest after this part of the shortest time for which a session is valid.
const STAGGER_DIVISOR: u32 = 12;

/// An open stream.
struct Stream {
    epoch: u64,
    requests: mpsc::Sender<v1::ConnectRequest>,
    responses: Streaming<v1::ConnectResponse>,
}

struct Driver {
    connector: Arc<dyn Connector>,
    servers: Arc<[Uri]>,
    connect_timeout: Duration,
    shared: Arc<Shared>,
    stream: Option<Stream>,
    /// The last welcomed stream before, until the server of the current one has taken over: its end would be a disconnect.
    before: Option<Stream>,
    dialling: Option<BoxFuture<'static, Result<Dialled>>>,
    next_endpoint: usize,
    /// When the server of the current stream confirmed its Hello.
    welcomed_at: Option<Moment>,
    backoff: Backoff,
    wire: watch::Sender<Result<Wire>>,
}

/// Starts the task of a new connection.
pub(crate) fn start(options: ClientOptions, connector: Arc<dyn Connector>) -> Result<Connection> {
    let (connection, driver) = new(options, connector)?;
    drop(connection.runtime.spawn(driver.run()));
    Ok(connection)
}

fn new(options: ClientOptions, connector: Arc<dyn Connector>) -> Result<(Connection, Driver)> {
    let servers = options.urls()?;
    let runtime = tokio::runtime::Handle::try_current()
        .map_err(|_| Error::invalid("runtime", "a client is made inside a Tokio runtime"))?;
    let (connection, shared, wire) = Connection::new(options.namespace, new_client_id(), options.call_timeout, runtime);
    let driver = Driver {
        next_endpoint: rand::rng().random_range(0..servers.len().max(1)),
        connector,
        servers: servers.into(),
        connect_timeout: options.connect_timeout,
        shared,
        stream: None,
        before: None,
        dialling: None,
        welcomed_at: None,
        backoff: Backoff::new(FIRST_PAUSE, LONGEST_PAUSE),
        wire,
    };
    Ok((connection, driver))
}

fn new_client_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

impl Driver {
    /// Runs until the client is closed.
    async fn run(mut self) {
        self.dial_after(Duration::ZERO);
        loop {
            // Received messages come first: an acknowledgement that has arrived is not overdue.
            for _ in 0..MESSAGES_PER_TURN {
                let Some(Some(response)) = next_response(&mut self.stream).now_or_never() else { break };
                self.received(response);
            }
            let now = clock::now();
            let due = self.shared.table().due(now);
            if due.is_closed {
                return;
            }
            if due.leave {
                self.start_dialling();
            }
            let nap = due.next.map_or(LONGEST_SLEEP, |next| next.since(now)).min(LONGEST_SLEEP);
            let requests = self.stream.as_ref().filter(|_| due.has_outgoing).map(|stream| stream.requests.clone());
            tokio::select! {
                // Callers that were notified by one message make their next changes at the same time. After a yield
                // these are sent in one message, too.
                () = self.shared.wake.notified() => yield_now().await,
                Some(response) = next_response(&mut self.stream) => self.received(response),
                Some(permit) = OptionFuture::from(requests.map(mpsc::Sender::reserve_owned)) => match permit {
                    Ok(permit) => {
                        self.shared.table().protocol.poll_transmit().map(|request| permit.send(request));
                    }
                    Err(_) => self.disconnect("the connection broke"),
                },
                Some(dialled) = OptionFuture::from(self.dialling.as_mut()) => self.dialled(dialled),
                () = sleep(nap) => {}
            }
        }
    }

    fn received(&mut self, response: Result<Option<v1::ConnectResponse>, Status>) {
        let Some(epoch) = self.stream.as_ref().map(|stream| stream.epoch) else { return };
        match response {
            Ok(Some(response)) => {
                self.before = None;
                let mut table = self.shared.table();
                let now = clock::now();
                // The first message is the Welcome.
                self.welcomed_at.get_or_insert(now);
                table.protocol.handle_response(epoch, response, now);
                table.dispatch(now);
            }
            Ok(None) => self.disconnect("the server ended the stream"),
            Err(status) => {
                let problem = status.message().to_owned();
                if Error::from(status).reason() == Some(v1::ErrorReason::ClientSuperseded) {
                    self.shared.table().protocol.handle_superseded(epoch, new_client_id());
                }
                self.disconnect(&problem);
            }
        }
    }

    fn start_dialling(&mut self) {
        if self.dialling.is_some() {
            return;
        }
        let now = clock::now();
        let is_failing = self.welcomed_at.is_none_or(|at| now.since(at) < SHORT_LIVED);
        if !is_failing {
            self.backoff.reset();
        }
        let pause = if is_failing { self.backoff.next_pause() } else { Duration::ZERO };
        self.dial_after(pause);
    }

    fn dial_after(&mut self, pause: Duration) {
        let (connector, servers, limit) =
            (Arc::clone(&self.connector), Arc::clone(&self.servers), self.connect_timeout);
        // The endpoint of the current stream comes last; while that stream is still open, it is not tried, unless there
        // is no other.
        let count = servers.len();
        let others = if self.stream.is_some() && count > 1 { count - 1 } else { count };
        let order: Vec<usize> = (0..others).map(|step| (self.next_endpoint + step) % count).collect();
        let stagger = self.shared.table().protocol.shortest_validity().unwrap_or(Duration::MAX) / STAGGER_DIVISOR;
        let dialling = async move {
            sleep(pause.min(stagger)).await;
            dial(&*connector, &servers, order, limit, stagger).await
        };
        self.dialling = Some(dialling.boxed());
    }

    fn dialled(&mut self, dialled: Result<Dialled>) {
        self.dialling = None;
        let now = clock::now();
        match dialled {
            Ok(Dialled { endpoint, wire, requests, responses }) => {
                tracing::info!(endpoint = ?self.servers.get(endpoint), "connected");
                self.next_endpoint = (endpoint + 1) % self.servers.len();
                let mut table = self.shared.table();
                // First, because a Hello renews the sessions that are not paused.
                table.check_progress(now);
                let epoch = table.protocol.handle_connected(now);
                table.dispatch(now);
                drop(table);
                let before = self.stream.replace(Stream { epoch, requests, responses });
                if self.welcomed_at.take().is_some() {
                    self.before = before;
                }
                drop(self.wire.send_replace(Ok(wire)));
            }
            Err(error) => {
                tracing::warn!(%error, "no server can be reached");
                if self.stream.is_none() {
                    drop(self.wire.send_replace(Err(error.clone())));
                    if let Error::Refused(refusal) = error {
                        let mut table = self.shared.table();
                        table.protocol.handle_rejected(&refusal, now);
                        table.dispatch(now);
                    }
                }
                let pause = self.backoff.next_pause();
                self.dial_after(pause);
            }
        }
    }

    fn disconnect(&mut self, problem: &str) {
        tracing::warn!(problem, "the stream broke");
        if let Some(stream) = self.stream.take() {
            self.shared.table().protocol.handle_disconnected(stream.epoch);
        }
        drop(self.wire.send_replace(Err(Error::Unavailable(problem.to_owned()))));
        self.start_dialling();
    }
}

/// The next message, if there is a stream.
async fn next_response(stream: &mut Option<Stream>) -> Option<Result<Option<v1::ConnectResponse>, Status>> {
    Some(stream.as_mut()?.responses.message().await)
}

#[cfg(test)]
mod tests {
    use tenure_proto::codec::Codec;
    use tonic::body::Body;
    use tonic::codec::Codec as _;

    use super::*;

    struct Unreachable;

    impl Connector for Unreachable {
        fn connect(&self, _: &Uri) -> BoxFuture<'static, Result<Wire, String>> {
            futures::future::pending().boxed()
        }
    }

    #[tokio::test]
    async fn last_welcomed_stream_is_kept_until_the_next_one_is_welcomed() -> Result<()> {
        let (_connection, mut driver) = new(ClientOptions::default(), Arc::new(Unreachable))?;
        let connect = |driver: &mut Driver| {
            let wire = Wire::new(tower::service_fn(|_| futures::future::pending()));
            let decoder = Codec::<v1::ConnectRequest, v1::ConnectResponse>::default().decoder();
            let responses = Streaming::new_empty(decoder, Body::empty());
            driver.dialled(Ok(Dialled { endpoint: 0, wire, requests: mpsc::channel(1).0, responses }));
        };
        let welcome = |driver: &mut Driver| {
            let kind = Some(v1::connect_response::Kind::Welcome(v1::Welcome::default()));
            driver.received(Ok(Some(v1::ConnectResponse { kind })));
        };
        let before = |driver: &Driver| driver.before.as_ref().map(|stream| stream.epoch);
        connect(&mut driver);
        welcome(&mut driver);
        connect(&mut driver);
        assert_eq!(before(&driver), Some(1));
        driver.received(Ok(None));
        assert_eq!(before(&driver), Some(1), "the second stream broke");
        connect(&mut driver);
        connect(&mut driver);
        assert_eq!(before(&driver), Some(1), "two more were never welcomed");
        welcome(&mut driver);
        assert_eq!(before(&driver), None);
        Ok(())
    }
}
