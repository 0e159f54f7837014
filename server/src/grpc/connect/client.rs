//! The stream of a connected client: turns its requests into commands, and delivers states.

mod commands;

use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use tenure_core::{Absence, Change, Command, Hello, Names, Outcome, Rejection, Revision, ServerId, Text};
use tenure_proto::v1;
use tenure_proto::v1::connect_request::Kind as Request;
use tenure_proto::v1::connect_response::Kind as Response;
use tenure_proto::v1::state::Kind as State;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use self::commands::InProgress;
use super::admit::Introduction;
use super::ending::{Ending, first_ending};
use super::outbox::Outbox;
use super::{Connection, states};
use crate::grpc::authorize::StreamCaller;
use crate::grpc::framing::Requests;
use crate::grpc::status::{self, invalid, not_now, rejected};
use crate::grpc::{Api, convert, in_time};
use crate::sequencer::{
    Closed, ItemState, Mailbox, Namespace, Replies, ReplySender, StreamEnd, states_after, waits_after,
};

/// The maximum number of numbers that are remembered to be withdrawn, or to be paused as soon as they are open.
const REMEMBERED: usize = 100_000;

/// The maximum number of states in one message.
const STATES: usize = 1_000;

/// How often it is checked whether a command is overdue, and what could not be withdrawn is withdrawn again.
const CHECK: Duration = Duration::from_secs(1);

/// How long a draining server still takes renewals.
const GRACE: Duration = Duration::from_secs(5);

/// The stream of a connected client.
pub(super) struct Client {
    api: Api,
    namespace: Namespace,
    id: Text,
    epoch: u64,
    /// The revision at which everything in the Hello was reconciled.
    connected: Revision,
    server: ServerId,
    mailbox: Mailbox,
    stream_caller: StreamCaller,
    outbox: Outbox,
    /// The commands in progress, in order.
    in_progress: VecDeque<InProgress>,
    count: u64,
    outcomes: (ReplySender, UnboundedReceiver<Replies>),
    /// What has yet to be withdrawn, since it was reported as failed or could not be withdrawn.
    withdrawals: BTreeSet<u64>,
    /// The sessions that are to be paused as soon as they are open.
    pausing: BTreeSet<u64>,
    recheck: Recheck,
    /// Which side ends the stream.
    end: StreamEnd,
    ending: Pin<Box<dyn futures::Stream<Item = Ending> + Send>>,
    server_ended: CancellationToken,
}

/// Waiting claims by number, and the number to continue after.
type Waits = (Vec<(u64, Names)>, Option<u64>);

/// The check whether the current policy allows what the client waits for. It takes reads, for which nothing else waits.
enum Recheck {
    None,
    Reading(Pin<Box<dyn Future<Output = Result<Waits, Status>> + Send>>),
    /// A read has failed: to be tried again.
    Failed,
}

impl Client {
    /// Connects the client, and returns its stream.
    pub(super) async fn connect(connection: Connection, introduction: Introduction) -> Result<Self, Status> {
        let Connection { api, server, server_ended, stream_caller, outbox } = connection;
        let Introduction { principal, namespace, client: id, epoch, known, declared, paused, rejected: refused } =
            introduction;
        let namespace = api.namespace(&principal, &namespace).await?;
        let mailbox = Mailbox::default();
        let ending = first_ending(server_ended.clone(), api.draining().clone(), stream_caller.caller().clone());
        namespace.register_client(&id, epoch, &mailbox);
        // From here on it is disconnected when it is dropped.
        let mut client = Self {
            api,
            namespace,
            id: id.clone(),
            epoch,
            connected: Revision(0),
            server,
            mailbox,
            stream_caller,
            outbox,
            in_progress: VecDeque::new(),
            count: 0,
            outcomes: unbounded(),
            withdrawals: BTreeSet::new(),
            pausing: BTreeSet::new(),
            recheck: Recheck::None,
            end: StreamEnd::Disconnect,
            ending: Box::pin(ending),
            server_ended,
        };
        let received = client.namespace.revision();
        let hello = Hello { client: id, epoch, home: server, received, identity: None, known, declared };
        let welcomed = client.welcome(principal.request(Command::Connect(hello)), refused, paused).await;
        // If it fails, that is not the client's doing.
        welcomed.inspect_err(|_| client.end = StreamEnd::Closed)?;
        Ok(client)
    }

    /// Connects the client, and reports all that it has.
    async fn welcome(
        &mut self,
        connect: tenure_core::Request,
        refused: Vec<v1::State>,
        paused: Vec<u64>,
    ) -> Result<(), Status> {
        let decided = in_time(self.namespace.decide(connect)).await?;
        let Outcome::Reconciled { absent, lost } = decided.outcome else {
            return Err(rejected(Rejection::OutcomeUnknown));
        };
        self.connected = decided.revision;
        let (server, revision, lost_revision) = (self.server.0, self.connected.0, lost.0);
        self.send(Response::Welcome(v1::Welcome { server, revision, lost_revision }));
        self.report(refused);
        self.report_absent(absent);
        for number in paused {
            // Those that have ended need no pause.
            let _ = self.namespace.pause(&self.id, number);
        }
        self.report_all().await?;
        if self.stream_caller.caller().is_identified() {
            // The policy may have changed since it declared what it waits for.
            self.recheck_after(0);
        }
        Ok(())
    }

    pub(super) async fn run(&mut self, requests: &mut Requests<v1::ConnectRequest>) -> Result<(), Status> {
        let mut check = tokio::time::interval(CHECK);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut leaves: Option<Instant> = None;
        loop {
            tokio::select! {
                biased;
                Some(ending) = self.ending.next() => {
                    self.end = StreamEnd::Closed;
                    match ending {
                        Ending::Draining if leaves.is_none() => {
                            leaves = Some(Instant::now() + GRACE);
                            self.send(Response::GoingAway(v1::GoingAway { grace: Some(convert::duration(GRACE)) }));
                        }
                        Ending::Draining | Ending::Node => return Err(rejected(Rejection::Draining)),
                        Ending::Unidentified(why) => return Err(why.into()),
                    }
                }
                () = reached(leaves) => return Err(rejected(Rejection::Draining)),
                () = self.server_ended.cancelled(), if leaves.is_some() => return Err(rejected(Rejection::Draining)),
                Some(replies) = self.outcomes.1.next() => self.conclude(replies)?,
                () = self.mailbox.changed() => self.deliver()?,
                () = self.stream_caller.policy_changed() => self.recheck_after(0),
                waits = self.recheck.next() => self.withdraw_forbidden(waits).await?,
                now = check.tick(), if self.has_to_check() => {
                    self.fail_overdue(now);
                    self.withdraw_again().await?;
                    if matches!(self.recheck, Recheck::Failed) {
                        self.recheck_after(0);
                    }
                }
                request = requests.next() => match request {
                    Some(request) => self.handle(request?).await?,
                    None => return self.finish().await,
                },
            }
            self.outbox.has_room().await;
        }
    }

    /// The client sends no more: what has become of its last changes is reported, and the stream ends.
    async fn finish(&mut self) -> Result<(), Status> {
        let mut check = tokio::time::interval(CHECK);
        while !self.in_progress.is_empty() {
            tokio::select! {
                Some(replies) = self.outcomes.1.next() => self.conclude(replies)?,
                now = check.tick() => self.fail_overdue(now),
            }
        }
        self.report(
            self.mailbox.take(usize::MAX).into_iter().map(|(number, _, state)| states::state(number, state)).collect(),
        );
        Ok(())
    }

    async fn handle(&mut self, request: v1::ConnectRequest) -> Result<(), Status> {
        match request.kind {
            Some(Request::KeepAlive(keep_alive)) => {
                let renewed = self.namespace.renew_client(&self.id, self.epoch);
                if !renewed.map_err(|rejection| self.fail(rejection))? {
                    return Err(self.closed());
                }
                self.send(Response::KeptAlive(v1::KeptAlive { number: keep_alive.number }));
                Ok(())
            }
            Some(Request::Changes(changes)) => self.change(changes).await,
            Some(Request::Hello(_)) => Err(self.misused("hello", "only as the first message")),
            None => Err(self.misused("kind", "one of the kinds that this server supports")),
        }
    }

    /// Delivers what the mailbox has.
    fn deliver(&mut self) -> Result<(), Status> {
        let taken = self.mailbox.take(STATES);
        if taken.is_empty() && self.mailbox.closed().is_some() {
            return Err(self.closed());
        }
        for (number, _, state) in &taken {
            commands::note_made(&mut self.in_progress, *number);
            if self.pausing.remove(number) && matches!(state, ItemState::Open { .. }) {
                // If its time is up already, it needs no pause.
                let _ = self.namespace.pause(&self.id, *number);
            }
        }
        self.report(taken.into_iter().map(|(number, _, state)| states::state(number, state)).collect());
        Ok(())
    }

    /// Reports the state of everything that the client has. What the mailbox has received before is obsolete then,
    /// except for what has ended.
    async fn report_all(&mut self) -> Result<(), Status> {
        let mut reported: Vec<(u64, Revision)> = Vec::new();
        let mut last = 0;
        loop {
            let client = self.id.clone();
            let read = self.namespace.read(move |table| (states_after(table, &client, last, STATES), table.revision()));
            let (found, revision) = in_time(read).await?;
            let Some((number, _)) = found.last() else { break };
            last = *number;
            reported.push((last, revision));
            self.report(found.into_iter().map(|(number, state)| states::state(number, state)).collect());
            self.outbox.has_room().await;
        }
        let is_news = |number: u64, revision: Revision, state: &ItemState| {
            let at = reported.partition_point(|(last, _)| *last < number);
            let seen = reported.get(at).map(|(_, seen)| *seen);
            matches!(state, ItemState::Ended { .. }) || seen.is_none_or(|seen| revision > seen)
        };
        let news = self.mailbox.take(usize::MAX).into_iter();
        let news: Vec<_> = news.filter(|(number, revision, state)| is_news(*number, *revision, state)).collect();
        for part in news.chunks(STATES) {
            self.report(part.iter().map(|(number, _, state)| states::state(*number, state.clone())).collect());
        }
        Ok(())
    }

    /// Checks the waits with a number greater than this by the current policy.
    fn recheck_after(&mut self, number: u64) {
        let (namespace, client) = (self.namespace.clone(), self.id.clone());
        let read =
            async move { in_time(namespace.read(move |table| waits_after(table, &client, number, STATES))).await };
        self.recheck = Recheck::Reading(Box::pin(read));
    }

    /// Withdraws those of these waits that the current policy does not allow. Holds are kept.
    async fn withdraw_forbidden(&mut self, waits: Result<Waits, Status>) -> Result<(), Status> {
        let Ok((waits, reached)) = waits else {
            self.recheck = Recheck::Failed;
            return Ok(());
        };
        let mut forbidden = Vec::new();
        for (number, names) in waits {
            let names = names.iter().map(ToString::to_string).collect();
            let namespace = self.namespace.name().to_string();
            let request = v1::AcquireRequest { namespace, names, ..v1::AcquireRequest::default() };
            if let Err(status) = self.stream_caller.check(&request) {
                let refusal = Box::new(self.refusal(&status));
                forbidden.push(v1::State { number, kind: Some(State::Rejected(refusal)) });
            }
        }
        self.decide(forbidden.iter().map(|state| Change::Withdraw(state.number)).collect()).await?;
        self.report(forbidden);
        self.recheck = Recheck::None;
        reached.into_iter().for_each(|reached| self.recheck_after(reached));
        Ok(())
    }

    /// Whether there is anything to check from time to time.
    fn has_to_check(&self) -> bool {
        !self.in_progress.is_empty() || !self.withdrawals.is_empty() || matches!(self.recheck, Recheck::Failed)
    }

    fn report_absent(&self, absent: Vec<(u64, Absence)>) {
        let state = |(number, absence)| match absence {
            Absence::Ended(reason) => states::state(number, ItemState::Ended { reason, eviction: None }),
            Absence::Busy { blocker } => states::busy(number, &blocker),
            Absence::Rejected(rejection) => {
                self.stream_caller.caller().note_rejection(&rejection);
                let refusal = Box::new(self.refusal(&rejected(rejection)));
                v1::State { number, kind: Some(State::Rejected(refusal)) }
            }
        };
        self.report(absent.into_iter().map(state).collect());
    }

    fn report(&self, mut states: Vec<v1::State>) {
        while !states.is_empty() {
            let rest = states.split_off(states.len().min(STATES));
            self.send(Response::States(v1::States { states }));
            states = rest;
        }
    }

    fn send(&self, kind: Response) {
        self.outbox.put(&v1::ConnectResponse { kind: Some(kind) });
    }

    fn refusal(&self, status: &Status) -> v1::Refusal {
        status::counted(status, self.stream_caller.caller().refusals())
    }

    /// Why the mailbox was closed.
    fn closed(&mut self) -> Status {
        self.end = StreamEnd::Closed;
        match self.mailbox.closed() {
            Some(Closed::Superseded) => rejected(Rejection::ClientSuperseded(self.id.clone())),
            Some(Closed::Reloaded) | None => not_now("the state was reloaded: connect again"),
        }
    }

    /// The stream ends, and not by the client.
    fn fail(&mut self, rejection: Rejection) -> Status {
        self.end = StreamEnd::Closed;
        rejected(rejection)
    }

    fn misused(&mut self, field: &str, bound: &str) -> Status {
        self.end = StreamEnd::Closed;
        invalid(field, bound)
    }
}

impl Recheck {
    /// The waits that were read, if they are being read.
    async fn next(&mut self) -> Result<Waits, Status> {
        match self {
            Self::Reading(read) => read.await,
            Self::None | Self::Failed => std::future::pending().await,
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A client that leaves a server which is going away does not disconnect.
        let is_leaving = self.api.draining().is_cancelled();
        let end = if is_leaving { StreamEnd::Closed } else { self.end };
        self.namespace.disconnect_client(&self.id, self.epoch, &self.mailbox, end);
    }
}

/// Waits until this moment, if there is one.
async fn reached(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
