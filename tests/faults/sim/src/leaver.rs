//! A program that leaves a claim in a queue. Two clients without the library declare claims to one lock at one server;
//! the one that waits disconnects, and the other keeps the lock until that server must have ended the wait.

use std::time::Duration;

use futures::channel::mpsc::{UnboundedSender, unbounded};
use rand::RngExt;
use rand::rngs::StdRng;
use tenure_checker::{Entry, LeftSession, Recorder};
use tenure_client::transport::{Connector, Wire};
use tenure_proto::v1;
use tenure_proto::v1::change::Kind as Changed;
use tenure_proto::v1::client_service_client::ClientServiceClient;
use tenure_proto::v1::connect_request::Kind as Sent;
use tenure_proto::v1::connect_response::Kind as Received;
use tenure_proto::v1::state::Kind as State;
use tokio::time::{sleep, timeout};
use tonic::Streaming;

use crate::host::{HostContext, HostId};
use crate::server::REATTACH;
use crate::wire::{Dialler, address};

/// TTL of the sessions: much longer than the reattach time.
const TTL: Duration = Duration::from_secs(8);

/// Timeout of each reply. A server that is slower, or has another fault, may end the wait later.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Pause between two keep-alives.
const PAUSE: Duration = Duration::from_millis(200);

/// The server ends the wait within this time, in which it acknowledges keep-alives.
const ENDED_WITHIN: Duration = REATTACH.saturating_mul(2);

/// The numbers of the session and of the claim.
const SESSION: u64 = 1;
const CLAIM: u64 = 2;

/// Runs once, unless it is too late to start. The lock has the name of the program.
pub async fn run(context: HostContext, servers: Vec<HostId>, until: Duration, recorder: Recorder, mut rng: StdRng) {
    if context.time.now() >= until {
        return;
    }
    let name = format!("leaver-{}-{}", context.host, context.run);
    let Ok(server) = format!("http://{}", address(servers[rng.random_range(0..servers.len())])).parse() else { return };
    let Ok(Ok(wire)) = timeout(TIMEOUT, Dialler::plain(context).connect(&server)).await else { return };
    let (holder, waiter) = (format!("{name}-holding"), format!("{name}-waiting"));
    if leave(&wire, &name, &holder, &waiter).await.is_some() {
        recorder.write(Entry::LeftSession(LeftSession { session: waiter.clone() }));
    }
    for client in [holder, waiter] {
        // Withdraws what the client has, so that the run ends sooner.
        let _ = Stream::connect(&wire, &client, 2).await;
    }
}

/// Leaves a waiting claim, and releases its lock after the time in which the server ends the claim. Each client has one
/// session, with the client's id.
async fn leave(wire: &Wire, lock: &str, holder: &str, waiter: &str) -> Option<()> {
    let mut holding = Stream::connect(wire, holder, 1).await?;
    holding.declare(lock, holder)?;
    holding.next(|state| matches!(state, State::Held(_))).await?;
    {
        let mut waiting = Stream::connect(wire, waiter, 1).await?;
        waiting.declare(lock, waiter)?;
        waiting.next(|state| matches!(state, State::Waiting(_))).await?;
    }
    for number in 1..=ENDED_WITHIN.div_duration_f64(PAUSE) as u64 {
        sleep(PAUSE).await;
        holding.send(Sent::KeepAlive(v1::KeepAlive { number }))?;
        holding.receive(|kind| matches!(kind, Received::KeptAlive(_))).await?;
    }
    holding.change(Changed::Withdraw(SESSION))?;
    holding.next(|state| matches!(state, State::Ended(_))).await
}

/// The stream of one client.
struct Stream {
    requests: UnboundedSender<v1::ConnectRequest>,
    responses: Streaming<v1::ConnectResponse>,
}

impl Stream {
    async fn connect(wire: &Wire, client_id: &str, epoch: u64) -> Option<Self> {
        let (requests, sent) = unbounded();
        let mut client = ClientServiceClient::new(wire.clone());
        let responses = timeout(TIMEOUT, client.connect(sent)).await.ok()?.ok()?.into_inner();
        let mut stream = Self { requests, responses };
        // Client ids have a minimum length.
        let client_id = format!("{client_id:0>16}");
        stream.send(Sent::Hello(v1::Hello { client_id, epoch, ..v1::Hello::default() }))?;
        stream.receive(|kind| matches!(kind, Received::Welcome(_))).await?;
        Some(stream)
    }

    /// Declares a session with a claim to this lock.
    fn declare(&self, lock: &str, session_id: &str) -> Option<()> {
        let open = v1::DeclaredSession {
            session_id: session_id.to_owned(),
            ttl: TTL.try_into().ok(),
            ..v1::DeclaredSession::default()
        };
        let claim = v1::DeclaredClaim {
            number: CLAIM,
            names: vec![lock.to_owned()],
            queue: true,
            ..v1::DeclaredClaim::default()
        };
        self.change(Changed::Declare(v1::Declaration {
            session: SESSION,
            open: Some(open),
            claims: vec![claim],
            ..v1::Declaration::default()
        }))
    }

    fn change(&self, kind: Changed) -> Option<()> {
        let changes = vec![v1::Change { kind: Some(kind), ..v1::Change::default() }];
        self.send(Sent::Changes(v1::Changes { changes }))
    }

    fn send(&self, kind: Sent) -> Option<()> {
        self.requests.unbounded_send(v1::ConnectRequest { kind: Some(kind) }).ok()
    }

    /// Waits until a state is received for which this is true.
    async fn next(&mut self, is_expected: impl Fn(&State) -> bool) -> Option<()> {
        let has_state = |kind: &Received| match kind {
            Received::States(states) => states.states.iter().filter_map(|state| state.kind.as_ref()).any(&is_expected),
            _ => false,
        };
        self.receive(has_state).await
    }

    /// Waits until a message is received for which this is true.
    async fn receive(&mut self, is_expected: impl Fn(&Received) -> bool) -> Option<()> {
        let receiving = async {
            loop {
                let message = self.responses.message().await.ok().flatten()?;
                if message.kind.as_ref().is_some_and(&is_expected) {
                    return Some(());
                }
            }
        };
        timeout(TIMEOUT, receiving).await.ok().flatten()
    }
}
