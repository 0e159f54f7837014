//! The clients' stream: commands, answers, keep-alives and events together.

mod direct;
mod notice;
mod task;

use std::pin::Pin;
use std::time::Duration;

use foldhash::HashMap;
use tenure_core::StreamId;
use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::client_service_server::{ClientService, ClientServiceServer};
use tenure_proto::v1::command::Kind as Commanded;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use self::direct::{Direct, Round};
use self::notice::notice_of;
use self::task::{Job, Task, send};
use super::grpc::MAX_MESSAGE;
use super::problem::Problem;
use super::{Api, Via, bounds, convert};
use crate::node::Node;
use crate::sequencer::{Decisions, Namespace, Notice, Outcomes, Refusal, StreamEnd};

/// How many answers wait for the reader before commands are held back.
const ANSWERS: usize = 256;

/// How many notices wait for the reader before the stream is closed.
const NOTICES: usize = 1_024;

/// The most commands in one message.
const COMMANDS: usize = 1_000;

/// The most commands under way on one stream, waiting ones and watches included.
const UNDER_WAY: usize = 10_000;

/// How often is looked whether a command has been under way for too long.
const LOOK: Duration = Duration::from_secs(1);

/// How long a draining server still takes renewals.
const GRACE: Duration = Duration::from_secs(5);

type Responses = mpsc::Sender<Result<v1::StreamResponse, Status>>;

/// The service of the clients' streams.
pub(super) struct Streams(Api);

impl Streams {
    pub(super) fn server(api: Api) -> ClientServiceServer<Self> {
        ClientServiceServer::new(Self(api)).max_decoding_message_size(MAX_MESSAGE)
    }
}

#[tonic::async_trait]
impl ClientService for Streams {
    type StreamStream = Pin<Box<dyn Stream<Item = Result<v1::StreamResponse, Status>> + Send>>;

    async fn stream(
        &self,
        request: Request<Streaming<v1::StreamRequest>>,
    ) -> Result<Response<Self::StreamStream>, Status> {
        let (responses, answers) = mpsc::channel(ANSWERS);
        let connection = Connection::new(self.0.clone(), &*self.0.node()?, responses);
        tokio::spawn(connection.run(request.into_inner()));
        Ok(Response::new(Box::pin(ReceiverStream::new(answers))))
    }
}

/// One client's stream.
struct Connection {
    api: Api,
    id: StreamId,
    node_ended: CancellationToken,
    responses: Responses,
    notices: mpsc::Sender<Notice>,
    told: mpsc::Receiver<Notice>,
    /// The namespaces in which notices are taken.
    namespaces: HashMap<String, Namespace>,
    /// What is under way, by the client's numbers. When the stream ends, nothing is cancelled: the client may come back for it
    /// on another one.
    under_way: HashMap<u64, Doing>,
    done: (mpsc::Sender<u64>, mpsc::Receiver<u64>),
    outcomes: (Outcomes, mpsc::UnboundedReceiver<Decisions>),
    /// How many commands have been handed to sequencers.
    count: u64,
    /// When the last message came.
    received: Instant,
}

/// How a command is under way.
enum Doing {
    /// In a task, which this ends at the client's word.
    Task(CancellationToken),
    /// Handed to the sequencer.
    Direct(Direct),
}

impl Connection {
    fn new(api: Api, node: &Node, responses: Responses) -> Self {
        let (notices, told) = mpsc::channel(NOTICES);
        Self {
            id: node.next_stream(),
            node_ended: node.cancelled().clone(),
            api,
            responses,
            notices,
            told,
            namespaces: HashMap::default(),
            under_way: HashMap::default(),
            done: mpsc::channel(UNDER_WAY),
            outcomes: mpsc::unbounded_channel(),
            count: 0,
            received: Instant::now(),
        }
    }

    async fn run(mut self, mut requests: Streaming<v1::StreamRequest>) {
        let draining = self.api.draining().clone();
        let responses = self.responses.clone();
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (status, end) = loop {
            tokio::select! {
                // Outcomes before notices, which may be about them.
                biased;
                () = responses.closed() => break (None, StreamEnd::Disconnect),
                () = self.node_ended.cancelled() => {
                    break (Some(Status::from(Problem::Refused(Refusal::Draining))), StreamEnd::Closed);
                }
                () = draining.cancelled() => break (Some(self.go_away(&mut requests).await.into()), StreamEnd::Closed),
                Some(done) = self.done.1.recv() => {
                    self.under_way.remove(&done);
                }
                Some(decided) = self.outcomes.1.recv() => {
                    if !self.tell(decided).await {
                        break (None, StreamEnd::Disconnect);
                    }
                }
                Some(notice) = self.told.recv() => {
                    if !self.send(0, notice_of(notice)).await {
                        break (None, StreamEnd::Disconnect);
                    }
                }
                now = look.tick() => {
                    if !self.refuse_overdue(now).await {
                        break (None, StreamEnd::Disconnect);
                    }
                }
                request = requests.next() => match request {
                    Some(Ok(request)) => match self.take(request).await {
                        Ok(()) => {}
                        Err(problem) => break (Some(problem.into()), StreamEnd::Closed),
                    },
                    Some(Err(status)) => break (Some(status), StreamEnd::Disconnect),
                    None => break (None, StreamEnd::Disconnect),
                },
            }
            if self.namespaces_closed() {
                let reason = "attach again: the state was loaded anew".to_owned();
                break (Some(Problem::Refused(Refusal::Unavailable(reason)).into()), StreamEnd::Closed);
            }
        };
        if let Some(status) = status {
            // A reader that does not read is not waited for.
            let _ = responses.try_send(Err(status));
        }
        // Whoever leaves a server that has told them to go away does not disconnect, however that is seen here first.
        let is_ours = draining.is_cancelled() || self.node_ended.is_cancelled() || self.namespaces_closed();
        let end = if is_ours { StreamEnd::Closed } else { end };
        for namespace in self.namespaces.values() {
            namespace.close_stream(self.id, end);
        }
    }

    /// Tells the client to go elsewhere, and still takes what it sends for a while.
    async fn go_away(&mut self, requests: &mut Streaming<v1::StreamRequest>) -> Problem {
        let notice = v1::GoingAway { grace: Some(convert::duration(GRACE)) };
        let until = tokio::time::Instant::now() + GRACE;
        let mut open = self.send(0, Answered::GoingAway(notice)).await;
        while open {
            tokio::select! {
                () = tokio::time::sleep_until(until) => break,
                () = self.node_ended.cancelled() => break,
                Some(decided) = self.outcomes.1.recv() => open = self.tell(decided).await,
                Some(notice) = self.told.recv() => open = self.send(0, notice_of(notice)).await,
                request = requests.next() => match request {
                    Some(Ok(request)) => open = self.take(request).await.is_ok(),
                    Some(Err(_)) | None => open = false,
                },
            }
        }
        Problem::Refused(Refusal::Draining)
    }

    /// Whether some namespace has closed this stream: it did not read, or the state was loaded anew.
    fn namespaces_closed(&self) -> bool {
        self.namespaces.values().any(|namespace| !namespace.has_stream(self.id))
    }

    async fn take(&mut self, request: v1::StreamRequest) -> Result<(), Problem> {
        if request.commands.is_empty() || request.commands.len() > COMMANDS {
            let bound = format!("1 to {COMMANDS} commands, not {}", request.commands.len());
            return Err(Problem::field("commands", bound));
        }
        self.received = Instant::now();
        let mut round = Round::of(request.commands.len());
        for command in request.commands {
            self.command(command, &mut round).await?;
        }
        self.submit(round).await
    }

    async fn command(&mut self, command: v1::Command, round: &mut Round) -> Result<(), Problem> {
        let id = command.id;
        if id == 0 || self.under_way.contains_key(&id) {
            return Err(twice());
        }
        let Some(kind) = command.kind else {
            return self.refuse(id, &Problem::field("commands.kind", "one of the kinds that this server knows")).await;
        };
        if let Commanded::Cancel(cancel) = &kind {
            // It may be about a command of the same message.
            self.submit(std::mem::take(round)).await?;
            match self.under_way.get_mut(&cancel.command_id) {
                Some(Doing::Task(command)) => command.cancel(),
                Some(Doing::Direct(command)) => command.cancel(),
                None => {}
            }
            self.send(id, Answered::Cancelled(v1::CancelledCommand {})).await;
            return Ok(());
        }
        if self.under_way.len() >= UNDER_WAY {
            let problem =
                Problem::LimitReached { limit: "commands under way on one stream", bound: UNDER_WAY.to_string() };
            return self.refuse(id, &problem).await;
        }
        let added = match kind {
            Commanded::Acquire(request) if request.ttl.is_none() => self.add_acquire(round, id, request).await,
            Commanded::Release(request) => self.add_release(round, id, request).await,
            Commanded::KeepAlive(request) => {
                // From memory, so it is answered before anything that came later.
                match self.api.keep_alive(request, Via::Stream(self.id)).await {
                    Ok(answer) => {
                        self.send(id, Answered::KeepAlive(answer)).await;
                        Ok(())
                    }
                    Err(problem) => Err(problem),
                }
            }
            kind => self.listen_for(&kind).await.map(|()| {
                let cancel = self.begin_task(id);
                self.spawn(id, cancel, Job::Command(kind));
            }),
        };
        match added {
            Ok(()) => Ok(()),
            Err(problem) => self.refuse(id, &problem).await,
        }
    }

    fn begin_task(&mut self, id: u64) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.under_way.insert(id, Doing::Task(cancel.clone()));
        cancel
    }

    fn spawn(&self, id: u64, cancel: CancellationToken, job: Job) {
        let (responses, done) = (self.responses.clone(), self.done.0.clone());
        let task = Task { api: self.api.clone(), stream: self.id, id, responses: responses.clone(), cancel };
        tokio::spawn(async move {
            let answer = task.run(job).await;
            // Before the answer, with which the client may use the number again. If the stream has ended, nobody counts.
            let _ = done.send(id).await;
            if let Some(answer) = answer {
                send(&responses, id, answer).await;
            }
        });
    }

    /// Takes notices in the namespace of a command that attaches a session.
    async fn listen_for(&mut self, kind: &Commanded) -> Result<(), Problem> {
        let namespace = match kind {
            Commanded::OpenSession(request) => &request.namespace,
            Commanded::AttachSession(request) => &request.namespace,
            Commanded::Acquire(request) => &request.namespace,
            Commanded::JoinGroup(request) => &request.namespace,
            _ => return Ok(()),
        };
        self.listen(bounds::namespace(namespace)?).await.map(drop)
    }

    /// Takes notices in a namespace.
    async fn listen(&mut self, name: &str) -> Result<&Namespace, Problem> {
        if !self.namespaces.contains_key(name) {
            let namespace = self.api.namespace(name).await?;
            namespace.open_stream(self.id, self.notices.clone());
            self.namespaces.insert(name.to_owned(), namespace);
        }
        self.namespaces.get(name).ok_or(Problem::Refused(Refusal::Draining))
    }

    async fn send(&self, id: u64, kind: Answered) -> bool {
        send(&self.responses, id, kind).await
    }

    async fn refuse(&self, id: u64, problem: &Problem) -> Result<(), Problem> {
        self.send(id, Answered::Refusal(problem.to_refusal())).await;
        Ok(())
    }
}

/// The refusal of a command whose number is in use.
fn twice() -> Problem {
    Problem::field("commands.id", "not 0, and no id twice at once")
}
