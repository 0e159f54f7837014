//! The clients' stream: commands, answers, keep-alives and events together.

use std::collections::HashMap;
use std::pin::Pin;
use std::time::Duration;

use prost::Message;
use tenure_core::StreamId;
use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::client_service_server::{ClientService, ClientServiceServer};
use tenure_proto::v1::command::Kind as Commanded;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use super::grpc::MAX_MESSAGE;
use super::problem::Problem;
use super::watch::{Watch, messages};
use super::{Api, Via, bounds, convert};
use crate::node::Node;
use crate::sequencer::{Namespace, Notice, Refusal, StreamEnd};

/// How many answers wait for the reader before commands are held back.
const ANSWERS: usize = 256;

/// How many notices wait for the reader before the stream is closed.
const NOTICES: usize = 1_024;

/// The most commands in one message.
const COMMANDS: usize = 1_000;

/// The most commands under way on one stream, waiting ones and watches included.
const UNDER_WAY: usize = 10_000;

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
    /// What is under way, and how to end it at the client's word. When the stream ends, nothing is cancelled: the client may
    /// come back for it on another one.
    under_way: HashMap<u64, CancellationToken>,
    done: (mpsc::Sender<u64>, mpsc::Receiver<u64>),
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
            namespaces: HashMap::new(),
            under_way: HashMap::new(),
            done: mpsc::channel(UNDER_WAY),
        }
    }

    async fn run(mut self, mut requests: Streaming<v1::StreamRequest>) {
        let draining = self.api.draining().clone();
        let responses = self.responses.clone();
        let (status, end) = loop {
            tokio::select! {
                () = responses.closed() => break (None, StreamEnd::Disconnect),
                () = self.node_ended.cancelled() => {
                    break (Some(Status::from(Problem::Refused(Refusal::Draining))), StreamEnd::Closed);
                }
                () = draining.cancelled() => break (Some(self.go_away(&mut requests).await.into()), StreamEnd::Closed),
                Some(done) = self.done.1.recv() => {
                    self.under_way.remove(&done);
                }
                Some(notice) = self.told.recv() => {
                    if !self.send(0, notice_of(notice)).await {
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
        for command in request.commands {
            self.command(command).await?;
        }
        Ok(())
    }

    async fn command(&mut self, command: v1::Command) -> Result<(), Problem> {
        let id = command.id;
        if id == 0 || self.under_way.contains_key(&id) {
            return Err(Problem::field("commands.id", "not 0, and no id twice at once"));
        }
        let Some(kind) = command.kind else {
            return self.refuse(id, &Problem::field("commands.kind", "one of the kinds that this server knows")).await;
        };
        if let Commanded::Cancel(cancel) = &kind {
            if let Some(command) = self.under_way.remove(&cancel.command_id) {
                command.cancel();
            }
            self.send(id, Answered::Cancelled(v1::CancelledCommand {})).await;
            return Ok(());
        }
        if self.under_way.len() >= UNDER_WAY {
            let problem =
                Problem::LimitReached { limit: "commands under way on one stream", bound: UNDER_WAY.to_string() };
            return self.refuse(id, &problem).await;
        }
        if let Err(problem) = self.listen(&kind).await {
            return self.refuse(id, &problem).await;
        }
        if let Commanded::KeepAlive(request) = kind {
            // From memory, so it is answered before anything that came later.
            match self.api.keep_alive(request, Via::Stream(self.id)).await {
                Ok(answer) => self.send(id, Answered::KeepAlive(answer)).await,
                Err(problem) => return self.refuse(id, &problem).await,
            };
            return Ok(());
        }
        let cancel = CancellationToken::new();
        self.under_way.insert(id, cancel.clone());
        let task = Task { api: self.api.clone(), stream: self.id, id, responses: self.responses.clone(), cancel };
        let done = self.done.0.clone();
        tokio::spawn(async move {
            task.run(kind).await;
            // If the stream has ended, nobody counts any more.
            let _ = done.send(id).await;
        });
        Ok(())
    }

    /// Takes notices in the namespace of a command.
    async fn listen(&mut self, kind: &Commanded) -> Result<(), Problem> {
        let name = match kind {
            Commanded::OpenSession(request) => &request.namespace,
            Commanded::AttachSession(request) => &request.namespace,
            Commanded::Acquire(request) => &request.namespace,
            Commanded::JoinGroup(request) => &request.namespace,
            _ => return Ok(()),
        };
        let name = bounds::namespace(name)?;
        if !self.namespaces.contains_key(name) {
            let namespace = self.api.namespace(name).await?;
            namespace.open_stream(self.id, self.notices.clone());
            self.namespaces.insert(name.to_owned(), namespace);
        }
        Ok(())
    }

    async fn send(&self, id: u64, kind: Answered) -> bool {
        send(&self.responses, id, kind).await
    }

    async fn refuse(&self, id: u64, problem: &Problem) -> Result<(), Problem> {
        self.send(id, Answered::Refusal(problem.to_refusal())).await;
        Ok(())
    }
}

/// A command that is under way.
struct Task {
    api: Api,
    stream: StreamId,
    id: u64,
    responses: Responses,
    cancel: CancellationToken,
}

impl Task {
    async fn run(self, kind: Commanded) {
        let (api, via) = (&self.api, Via::Stream(self.stream));
        let answer = match kind {
            Commanded::OpenSession(request) => api.open_session(request, via).await.map(Answered::OpenSession),
            Commanded::AttachSession(request) => api.attach_session(request, via).await.map(Answered::AttachedSession),
            Commanded::CloseSession(request) => api.close_session(request).await.map(Answered::CloseSession),
            Commanded::Acquire(request) => {
                let acquire = api.acquire(request, via, &self.cancel);
                tokio::select! {
                    answer = acquire => answer.map(Answered::Acquire),
                    // Dropped while it waits: the place in the queue is kept for a while.
                    () = self.responses.closed() => return,
                }
            }
            Commanded::Release(request) => api.release(request).await.map(Answered::Release),
            Commanded::CancelAcquire(request) => api.cancel_acquire(request).await.map(Answered::CancelAcquire),
            Commanded::Watch(request) => match api.watch(request, self.stream.0).await {
                Ok(watch) => return self.relay(watch).await,
                Err(problem) => Err(problem),
            },
            Commanded::Transfer(request) => tokio::select! {
                answer = api.transfer(request) => answer.map(Answered::Transfer),
                () = self.responses.closed() => return,
            },
            Commanded::UpdateClaim(request) => api.update_claim(request).await.map(Answered::UpdateClaim),
            Commanded::GetLock(request) => api.get_lock(request).await.map(Answered::GetLock),
            Commanded::GetSession(request) => api.get_session(request).await.map(Answered::GetSession),
            Commanded::JoinGroup(request) => api.join_group(request, via).await.map(Answered::JoinGroup),
            Commanded::LeaveGroup(request) => api.leave_group(request).await.map(Answered::LeaveGroup),
            Commanded::ConfigureGroup(request) => api.configure_group(request).await.map(Answered::ConfigureGroup),
            Commanded::Assign(request) => api.assign_group(request).await.map(Answered::Assign),
            Commanded::GetGroup(request) => api.get_group(request).await.map(Answered::GetGroup),
            // Answered by the connection itself.
            Commanded::KeepAlive(_) | Commanded::Cancel(_) => return,
        };
        let answer = answer.unwrap_or_else(|problem| Answered::Refusal(problem.to_refusal()));
        send(&self.responses, self.id, answer).await;
    }

    async fn relay(&self, mut watch: Watch) {
        let relay = async {
            while let Some(wire) = watch.next().await {
                for message in messages(wire) {
                    let Ok(telling) = v1::WatchResponse::decode(message) else { return };
                    if !send(&self.responses, self.id, Answered::Watch(telling)).await {
                        return;
                    }
                }
            }
        };
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.responses.closed() => {}
            () = relay => {}
        }
    }
}

async fn send(responses: &Responses, id: u64, kind: Answered) -> bool {
    let answer = v1::Answer { id, kind: Some(kind) };
    responses.send(Ok(v1::StreamResponse { answers: vec![answer] })).await.is_ok()
}

fn notice_of(notice: Notice) -> Answered {
    match notice {
        Notice::SessionEnded { session, reason } => Answered::SessionEnded(v1::SessionEnded {
            session_id: session.to_string(),
            reason: convert::end_reason(reason).into(),
        }),
        Notice::HoldEnded { claim, reason, eviction } => Answered::HoldEnded(v1::HoldEnded {
            session_id: claim.spec.session.to_string(),
            names: claim.spec.names.iter().map(ToString::to_string).collect(),
            token: claim.token().map_or(0, |token| token.0),
            reason: convert::end_reason(reason).into(),
            operator: eviction.as_ref().map(|eviction| eviction.operator.to_string()).unwrap_or_default(),
            note: eviction.map(|eviction| eviction.note.to_string()).unwrap_or_default(),
        }),
        Notice::TransferRequested { claim, by } => Answered::TransferRequested(v1::TransferRequested {
            session_id: claim.spec.session.to_string(),
            names: claim.spec.names.iter().map(ToString::to_string).collect(),
            token: claim.token().map_or(0, |token| token.0),
            drain: claim.transfer.map(|transfer| convert::duration(transfer.drain)),
            operator: by.as_ref().map(|by| by.operator.to_string()).unwrap_or_default(),
            note: by.map(|by| by.note.to_string()).unwrap_or_default(),
        }),
        Notice::SessionMoved { session } => {
            Answered::SessionMoved(v1::SessionMoved { session_id: session.to_string() })
        }
    }
}
