//! The clients' stream: commands, answers, keep-alives and events together.

mod call;
mod direct;
mod ending;
mod notice;
mod outbox;
mod task;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use opentelemetry::Context;
use tenure_core::{Rejection, StreamId};
use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind as Commanded;
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

pub(super) use self::call::StreamCalls;
use self::direct::{Direct, Round};
pub(super) use self::ending::{Ending, first_ending};
use self::notice::notice_of;
pub(super) use self::outbox::Outbox;
use self::task::{Job, LargeAnswers, Replies, Reply, Task};
use super::authorize::{Principal, StreamCaller};
use super::framing::{COMMANDS, Requests};
use super::sessions::keep_all;
use super::status::{self, invalid, not_now, rejected};
use super::{Api, convert, validate};
use crate::auth::Caller;
use crate::grpc::spans;
use crate::node::Node;
use crate::sequencer::{Namespace, Notice, NoticeSender, StreamEnd, StreamReplies, StreamReplySender};
use crate::transport::Account;

/// How many replies of tasks wait for the reader before the tasks are held back.
const REPLIES: usize = 256;

/// How many messages of watches wait for the reader before the watches are held back: each may be as large as
/// [`WATCH_MESSAGE`](crate::limits::WATCH_MESSAGE).
const WATCHED: usize = 16;

/// How many notices wait for the reader before the stream is closed.
const NOTICES: usize = 1_024;

/// The most commands under way on one stream, waiting ones and watches included.
const UNDER_WAY: usize = 10_000;

/// After so many commands of one message others have their turn: renewals do not wait for all that is asked for at once.
const TURN: usize = 64;

/// How often is looked whether a command has been under way for too long.
const LOOK: Duration = Duration::from_secs(1);

/// How long a draining server still takes renewals.
const GRACE: Duration = Duration::from_secs(5);

/// One client's stream. There may be very many that are quiet, so it takes little when nothing is under way.
struct Connection {
    api: Api,
    id: StreamId,
    node_ended: CancellationToken,
    stream_caller: StreamCaller,
    outbox: Outbox,
    notices: NoticeSender,
    told: mpsc::Receiver<Box<Notice>>,
    /// The namespaces in which notices are taken.
    namespaces: BTreeMap<String, Arc<Namespace>>,
    /// What is under way, by the client's numbers. When the stream ends, nothing is cancelled: the client may come back for it
    /// on another one.
    under_way: HashMap<u64, Doing>,
    replies: (Replies, mpsc::Receiver<Reply>),
    /// What watches say, once there are any. There may be no end of that, so it waits for all else.
    watched: Option<(Replies, mpsc::Receiver<Reply>)>,
    large_answers: LargeAnswers,
    outcomes: (StreamReplySender, UnboundedReceiver<StreamReplies>),
    /// How many commands have been handed to sequencers.
    count: u64,
    /// When the last message came.
    received: Instant,
    /// Whose doing its end is, once it ends; until then the client's, who may go away at any time.
    end: StreamEnd,
}

/// How a command is under way.
enum Doing {
    /// In a task, which this ends at the client's word.
    Task(CancellationToken),
    /// Handed to the sequencer.
    Direct(Direct),
}

impl Connection {
    fn new(api: Api, node: &Node, outbox: Outbox, caller: Arc<Caller>, account: Option<Arc<Account>>) -> Self {
        let (notices, told) = NoticeSender::new(NOTICES);
        Self {
            id: node.next_stream(),
            node_ended: node.cancel.clone(),
            stream_caller: StreamCaller::new(caller),
            api,
            outbox,
            notices,
            told,
            namespaces: BTreeMap::new(),
            under_way: HashMap::default(),
            replies: mpsc::channel(REPLIES),
            watched: None,
            large_answers: LargeAnswers::new(account),
            outcomes: unbounded(),
            count: 0,
            received: Instant::now(),
            end: StreamEnd::Disconnect,
        }
    }

    /// Runs until the stream ends. If the client goes away without a word, this is dropped.
    async fn run(mut self, mut requests: Requests<v1::StreamRequest>) -> Status {
        let (draining, caller) = (self.api.draining().clone(), self.stream_caller.caller().clone());
        let mut ending = first_ending(self.node_ended.clone(), draining, self.notices.closed().clone(), caller);
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                // Replies before notices, which may be about them.
                biased;
                Some(ending) = ending.next() => {
                    self.end = StreamEnd::Closed;
                    return Box::pin(self.leave(ending, &mut requests)).await;
                }
                Some(reply) = self.replies.1.recv() => self.pass_on(reply),
                Some(decided) = self.outcomes.1.next() => self.tell(decided),
                Some(notice) = self.told.recv() => self.send(0, notice_of(*notice)),
                now = look.tick(), if !self.under_way.is_empty() => self.refuse_overdue(now),
                request = requests.next() => match request {
                    Some(Ok(request)) => {
                        // In memory of its own, which nothing takes while the stream is quiet.
                        if let Err(status) = Box::pin(self.take(request)).await {
                            self.end = StreamEnd::Closed;
                            return status;
                        }
                        // So that a client that never pauses is told something, too.
                        if let Some(Ok(reply)) = self.watched.as_mut().map(|(_, left)| left.try_recv()) {
                            self.pass_on(reply);
                        }
                    }
                    Some(Err(status)) => return status,
                    None => break,
                },
                Some(reply) = next_of(&mut self.watched) => self.pass_on(reply),
            }
            self.outbox.has_room().await;
        }
        Box::pin(self.hang_up()).await;
        Status::ok("")
    }

    /// Ends by this server's doing.
    async fn leave(&mut self, ending: Ending, requests: &mut Requests<v1::StreamRequest>) -> Status {
        match ending {
            Ending::Node => rejected(Rejection::Draining),
            Ending::Draining => self.go_away(requests).await,
            Ending::Unidentified(why) => why.into(),
            Ending::Closed => not_now("the state was reloaded: attach again"),
        }
    }

    /// The client sends no more. It hears what has been decided meanwhile; then its sessions are without a stream, and it still
    /// hears what it waits for.
    async fn hang_up(&mut self) {
        let mut look = tokio::time::interval(LOOK);
        while self.under_way.values().any(|doing| matches!(doing, Doing::Direct(_))) {
            tokio::select! {
                Some(decided) = self.outcomes.1.next() => self.tell(decided),
                now = look.tick() => self.refuse_overdue(now),
            }
            self.outbox.has_room().await;
        }
        self.detach();
        let (replies, mut replied) = std::mem::replace(&mut self.replies, mpsc::channel(1));
        drop(replies);
        let mut watched = self.watched.take().map(|(_, left)| ((), left));
        loop {
            tokio::select! {
                biased;
                Some(reply) = replied.recv() => self.pass_on(reply),
                Some(reply) = next_of(&mut watched) => self.pass_on(reply),
                else => break,
            }
            self.outbox.has_room().await;
        }
    }

    /// Tells the client to go elsewhere, and still takes what it sends for a while.
    async fn go_away(&mut self, requests: &mut Requests<v1::StreamRequest>) -> Status {
        let until = tokio::time::Instant::now() + GRACE;
        self.send(0, Answered::GoingAway(v1::GoingAway { grace: Some(convert::duration(GRACE)) }));
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => break,
                () = self.node_ended.cancelled() => break,
                Some(reply) = self.replies.1.recv() => self.pass_on(reply),
                Some(decided) = self.outcomes.1.next() => self.tell(decided),
                Some(notice) = self.told.recv() => self.send(0, notice_of(*notice)),
                Some(reply) = next_of(&mut self.watched) => self.pass_on(reply),
                request = requests.next() => match request {
                    Some(Ok(request)) => if self.take(request).await.is_err() { break },
                    Some(Err(_)) | None => break,
                },
            }
            self.outbox.has_room().await;
        }
        rejected(Rejection::Draining)
    }

    /// Takes no more notices. That the client's side ended counts only if it does not leave a server that has told it to go
    /// away, however that is seen here first.
    fn detach(&mut self) {
        let namespaces = std::mem::take(&mut self.namespaces);
        let is_closed = namespaces.values().any(|namespace| !namespace.has_stream(self.id));
        let is_ours = is_closed || self.api.draining().is_cancelled() || self.node_ended.is_cancelled();
        let end = if is_ours { StreamEnd::Closed } else { self.end };
        for namespace in namespaces.values() {
            namespace.close_stream(self.id, end);
        }
    }

    async fn take(&mut self, request: v1::StreamRequest) -> Result<(), Status> {
        if request.commands.is_empty() || request.commands.len() > COMMANDS {
            let bound = format!("1 to {COMMANDS} commands, not {}", request.commands.len());
            return Err(invalid("commands", bound));
        }
        self.received = Instant::now();
        let mut round = Round::of(request.commands.len());
        for (place, command) in request.commands.into_iter().enumerate() {
            if place % TURN == TURN - 1 {
                yield_now().await;
            }
            self.command(command, &mut round).await?;
        }
        self.submit(round).await
    }

    async fn command(&mut self, command: v1::Command, round: &mut Round) -> Result<(), Status> {
        let id = command.id;
        if id == 0 || self.under_way.contains_key(&id) {
            return Err(twice());
        }
        let Some(kind) = command.kind else {
            self.refuse(id, &invalid("commands.kind", "one of the kinds that this server supports"));
            return Ok(());
        };
        if let Commanded::Cancel(cancel) = &kind {
            // It may be about a command of the same message.
            self.submit(std::mem::take(round)).await?;
            match self.under_way.get_mut(&cancel.command_id) {
                Some(Doing::Task(command)) => command.cancel(),
                Some(Doing::Direct(command)) => command.cancel(),
                None => {}
            }
            self.send(id, Answered::Cancelled(v1::CancelledCommand {}));
            return Ok(());
        }
        if self.under_way.len() >= UNDER_WAY {
            let limit = "commands in progress on one stream";
            self.refuse(id, &rejected(Rejection::LimitReached { limit, bound: UNDER_WAY }));
            return Ok(());
        }
        let call = spans::command(&kind, &command.traceparent);
        let added = match kind {
            Commanded::Acquire(request) if request.ttl.is_none() => match self.stream_caller.admit(request) {
                Ok(asked) => self.add_acquire(round, id, asked, &call).await,
                Err(status) => Err(status),
            },
            Commanded::Release(request) if self.listens(&request.namespace) => {
                match self.stream_caller.admit(request) {
                    Ok(asked) => self.add_release(round, id, asked, &call).await,
                    Err(status) => Err(status),
                }
            }
            Commanded::CancelAcquire(request) if self.listens(&request.namespace) => {
                match self.stream_caller.admit(request) {
                    Ok(asked) => self.add_cancel(round, id, asked, &call).await,
                    Err(status) => Err(status),
                }
            }
            // From memory, so it is answered before anything that came later.
            Commanded::KeepAlive(request) => {
                self.rest();
                self.keep_alive(request).await.map(|answer| self.send(id, Answered::KeepAlive(answer)))
            }
            kind => self.listen_for(&kind).await.map(|()| {
                let cancel = self.begin_task(id);
                self.spawn(id, cancel, Job::Command(kind), call.clone());
            }),
        };
        if let Err(status) = added {
            spans::answered(&call, status.code());
            self.refuse(id, &status);
        }
        Ok(())
    }

    /// Renews sessions that are attached to this stream.
    async fn keep_alive(&mut self, request: v1::KeepAliveRequest) -> Result<v1::KeepAliveResponse, Status> {
        let (request, principal) = self.stream_caller.admit(request)?.into_parts();
        validate::session_ids(&request.session_ids)?;
        let name = validate::namespace(&request.namespace)?;
        match self.namespaces.get(name) {
            Some(namespace) => Ok(keep_all(namespace, request.session_ids, self.id)),
            None => Ok(keep_all(&self.api.namespace(&principal, name).await?, request.session_ids, self.id)),
        }
    }

    /// Gives back what its commands took, once the client only renews.
    fn rest(&mut self) {
        if self.under_way.is_empty() {
            self.under_way.shrink_to_fit();
        }
    }

    fn begin_task(&mut self, id: u64) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.under_way.insert(id, Doing::Task(cancel.clone()));
        cancel
    }

    fn spawn(&mut self, id: u64, cancel: CancellationToken, job: Job, call: Context) {
        let (replies, _) = match job {
            Job::Command(Commanded::Watch(_)) => self.watched.get_or_insert_with(|| mpsc::channel(WATCHED)),
            _ => &mut self.replies,
        };
        let (replies, large_answers) = (replies.clone(), self.large_answers.clone());
        let (api, caller) = (self.api.clone(), self.stream_caller.caller().clone());
        let task = Task { api, caller, stream: self.id, id, replies, cancel, large_answers };
        tokio::spawn(task.run(job, call));
    }

    /// Hands on what a task says.
    fn pass_on(&mut self, reply: Reply) {
        let Reply { id, kind, is_last, turn } = reply;
        if is_last {
            // Before the answer, with which the client may use the number again.
            self.under_way.remove(&id);
        }
        if let Some(kind) = kind {
            self.send(id, *kind);
        }
        drop(turn);
    }

    /// Takes notices in the namespace of a command that attaches a session.
    async fn listen_for(&mut self, kind: &Commanded) -> Result<(), Status> {
        let (asked, namespace) = match kind {
            Commanded::OpenSession(request) => (self.stream_caller.check(request), &request.namespace),
            Commanded::AttachSession(request) => (self.stream_caller.check(request), &request.namespace),
            Commanded::Acquire(request) => (self.stream_caller.check(request), &request.namespace),
            Commanded::JoinGroup(request) => (self.stream_caller.check(request), &request.namespace),
            _ => return Ok(()),
        };
        self.listen(&asked?, validate::namespace(namespace)?).await.map(drop)
    }

    /// Whether it takes notices in a namespace. Elsewhere it holds nothing, so what it gives back there needs no order,
    /// and must not keep the namespace open.
    fn listens(&self, name: &str) -> bool {
        validate::namespace(name).is_ok_and(|name| self.namespaces.contains_key(name))
    }

    /// Takes notices in a namespace.
    async fn listen(&mut self, principal: &Principal, name: &str) -> Result<&Arc<Namespace>, Status> {
        if !self.namespaces.contains_key(name) {
            let namespace = self.api.namespace(principal, name).await?;
            namespace.open_stream(self.id, self.notices.clone());
            self.namespaces.insert(name.to_owned(), Arc::new(namespace));
        }
        self.namespaces.get(name).ok_or_else(|| rejected(Rejection::Draining))
    }

    fn send(&self, id: u64, kind: Answered) {
        self.outbox.put(vec![v1::Answer { id, kind: Some(kind) }]);
    }

    fn refuse(&self, id: u64, status: &Status) {
        self.send(id, Answered::Refusal(status::counted(status, self.stream_caller.caller().refusals())));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.detach();
    }
}

/// The next reply, if there are to be any.
async fn next_of<S>(channel: &mut Option<(S, mpsc::Receiver<Reply>)>) -> Option<Reply> {
    channel.as_mut()?.1.recv().await
}

/// The status of an answer, as a plain call has it.
fn code(answer: &Answered) -> Code {
    match answer {
        Answered::Refusal(refusal) => Code::from_i32(refusal.code),
        _ => Code::Ok,
    }
}

/// The refusal of a command whose number is in use.
fn twice() -> Status {
    invalid("commands.id", "not 0, and no id twice at once")
}
