//! Commands that have a task of their own, since they may wait.

use std::sync::Arc;

use opentelemetry::Context;
use opentelemetry::trace::FutureExt;
use prost::Message;
use tenure_core::StreamId;
use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind as Commanded;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use super::code;
use crate::auth::Caller;
use crate::grpc::acquire::{AcquireState, Acquiring};
use crate::grpc::status;
use crate::grpc::watch::Watch;
use crate::grpc::{Api, Via, framing, spans};
use crate::limits::{LARGE_ANSWER, STREAM_ANSWERS};
use crate::sequencer::Namespace;
use crate::transport::{Account, Unsent};

/// What a task has to do.
pub(super) enum Job {
    /// All of a command.
    Command(Commanded),
    /// To wait for an Acquire that has been decided.
    Wait(Waiting),
}

/// An Acquire that waits.
pub(super) struct Waiting {
    pub(super) namespace: Arc<Namespace>,
    pub(super) acquiring: Box<Acquiring>,
    pub(super) state: AcquireState,
}

/// Where tasks say what they have to say.
pub(super) type Replies = mpsc::Sender<Reply>;

/// What a task says.
pub(super) struct Reply {
    pub(super) id: u64,
    pub(super) kind: Option<Box<Answered>>,
    /// Whether the command is no longer under way.
    pub(super) is_last: bool,
    /// Held until the answer is on its way.
    pub(super) turn: Option<Turn>,
}

/// An answer that may be large is made when it has its turn, and counts as unsent from then on.
pub(super) struct Turn {
    _permit: OwnedSemaphorePermit,
    _unsent: Option<Unsent>,
}

impl Reply {
    fn more(id: u64, kind: Answered) -> Self {
        Self { id, kind: Some(Box::new(kind)), is_last: false, turn: None }
    }

    /// With the answer, if there is one.
    fn last(id: u64, kind: Option<Answered>, turn: Option<Turn>) -> Self {
        Self { id, kind: kind.map(Box::new), is_last: true, turn }
    }
}

/// The answers of one stream that may be large: so much of them is made at a time that a client takes little that asks for very many, or
/// reads none.
#[derive(Clone)]
pub(super) struct LargeAnswers {
    turns: Arc<Semaphore>,
    account: Option<Arc<Account>>,
}

impl LargeAnswers {
    pub(super) fn new(account: Option<Arc<Account>>) -> Self {
        Self { turns: Arc::new(Semaphore::new(STREAM_ANSWERS)), account }
    }

    fn unsent(&self, answer: Option<&Answered>) -> Option<Unsent> {
        let bytes = answer.map_or(0, Answered::encoded_len);
        self.account.as_ref().map(|account| account.unsent(bytes))
    }
}

/// Whether it is answered with something that may be large, whatever it finds.
fn is_large_read(kind: &Commanded) -> bool {
    use Commanded::{GetGroup, GetLock, GetSession, JoinGroup};
    matches!(kind, GetLock(_) | GetSession(_) | GetGroup(_) | JoinGroup(_))
}

/// A command that is under way.
pub(super) struct Task {
    pub(super) api: Api,
    pub(super) caller: Arc<Caller>,
    pub(super) stream: StreamId,
    pub(super) id: u64,
    pub(super) replies: Replies,
    pub(super) cancel: CancellationToken,
    pub(super) large_answers: LargeAnswers,
}

impl Task {
    /// Carries it out, and answers.
    pub(super) async fn run(self, job: Job, call: Context) {
        // Each kind of work takes its own memory, and none before its turn: there may be very many that wait.
        let work = async {
            match job {
                Job::Command(command) => {
                    let mut turn = None;
                    if is_large_read(&command) {
                        turn = self.turn(LARGE_ANSWER).await;
                        if turn.is_none() {
                            return (None, None);
                        }
                    }
                    let answer = Box::pin(self.answer(command, &mut turn)).await;
                    (answer.unwrap_or_else(|status| Some(Answered::Refusal(status::refusal(&status)))), turn)
                }
                Job::Wait(waiting) => (Box::pin(self.wait(waiting)).await, None),
            }
        };
        let (answer, permit) = work.with_context(call.clone()).await;
        spans::answered(&call, answer.as_ref().map_or(Code::Cancelled, code));
        drop(call);
        let turn = permit.map(|permit| Turn { _permit: permit, _unsent: self.large_answers.unsent(answer.as_ref()) });
        // Fails if the stream has ended; the reply is dropped then.
        let _ = self.replies.send(Reply::last(self.id, answer, turn)).await;
    }

    /// Answers a command; with its `turn` if the answer may be large.
    async fn answer(
        &self,
        kind: Commanded,
        turn: &mut Option<OwnedSemaphorePermit>,
    ) -> Result<Option<Answered>, Status> {
        let (api, caller, via) = (&self.api, &self.caller, Via::Stream(self.stream));
        Ok(Some(match kind {
            Commanded::OpenSession(request) => {
                let opened = caller.carry_out(request, |asked| api.open_session(asked, via)).await?;
                *turn = self.turn(opened.bytes()).await;
                let (session, _) = if turn.is_some() { opened.read(api).await? } else { return Ok(None) };
                Answered::OpenSession(Box::new(v1::OpenSessionResponse { session: Some(session) }))
            }
            Commanded::AttachSession(request) => {
                let opened = caller.carry_out(request, |asked| api.attach_session(asked, via)).await?;
                *turn = self.turn(opened.bytes()).await;
                let (session, revision) = if turn.is_some() { opened.read(api).await? } else { return Ok(None) };
                Answered::AttachedSession(Box::new(v1::AttachedSession { session: Some(session), revision }))
            }
            Commanded::CloseSession(request) => {
                Answered::CloseSession(caller.carry_out(request, |asked| api.close_session(asked)).await?)
            }
            Commanded::Acquire(request) => {
                let watched = caller.is_identified().then(|| request.clone());
                let acquire = caller.carry_out(request, |asked| async move {
                    // It opens its session: what comes in one that is open does not come here.
                    api.check_stays()?;
                    api.acquire(asked, via, &self.cancel).await
                });
                tokio::select! {
                    answer = acquire => Answered::Acquire(answer?),
                    // Dropped while it waits: the place in the queue is kept for a while.
                    () = self.replies.closed() => return Ok(None),
                    status = caller.dismissed(watched) => return Err(status),
                }
            }
            Commanded::Watch(request) => {
                let watched = caller.is_identified().then(|| request.clone());
                let watch = caller.carry_out(request, |asked| api.watch(asked, self.stream.0)).await?;
                tokio::select! {
                    () = self.relay(watch) => return Ok(None),
                    status = caller.dismissed(watched) => return Err(status),
                }
            }
            Commanded::Transfer(request) => tokio::select! {
                answer = caller.carry_out(request, |asked| api.transfer(asked)) => Answered::Transfer(Box::new(answer?)),
                () = self.replies.closed() => return Ok(None),
            },
            Commanded::UpdateClaim(request) => {
                Answered::UpdateClaim(Box::new(caller.carry_out(request, |asked| api.update_claim(asked)).await?))
            }
            Commanded::GetLock(request) => {
                Answered::GetLock(Box::new(caller.carry_out(request, |asked| api.get_lock(asked)).await?))
            }
            Commanded::GetSession(request) => {
                Answered::GetSession(Box::new(caller.carry_out(request, |asked| api.get_session(asked)).await?))
            }
            Commanded::JoinGroup(request) => {
                Answered::JoinGroup(Box::new(caller.carry_out(request, |asked| api.join_group(asked, via)).await?))
            }
            Commanded::LeaveGroup(request) => {
                Answered::LeaveGroup(caller.carry_out(request, |asked| api.leave_group(asked)).await?)
            }
            Commanded::ConfigureGroup(request) => {
                Answered::ConfigureGroup(Box::new(caller.carry_out(request, |asked| api.configure_group(asked)).await?))
            }
            Commanded::Assign(request) => {
                Answered::Assign(Box::new(caller.carry_out(request, |asked| api.assign_group(asked)).await?))
            }
            Commanded::GetGroup(request) => {
                Answered::GetGroup(Box::new(caller.carry_out(request, |asked| api.get_group(asked)).await?))
            }
            Commanded::Release(request) => {
                Answered::Release(caller.carry_out(request, |asked| api.release(asked)).await?)
            }
            Commanded::CancelAcquire(request) => {
                Answered::CancelAcquire(caller.carry_out(request, |asked| api.cancel_acquire(asked)).await?)
            }
            // Carried out by the connection itself.
            Commanded::KeepAlive(_) | Commanded::Cancel(_) => return Ok(None),
        }))
    }

    /// Waits for its turn to make an answer that may be large. `None`: the stream has ended.
    async fn turn(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes.min(STREAM_ANSWERS)).unwrap_or(u32::MAX);
        tokio::select! {
            biased;
            () = self.replies.closed() => None,
            permit = self.large_answers.turns.clone().acquire_many_owned(bytes) => permit.ok(),
        }
    }

    /// Goes on with an Acquire that the connection has begun.
    async fn wait(&self, waiting: Waiting) -> Option<Answered> {
        let Waiting { namespace, acquiring, state } = waiting;
        let via = Via::Stream(self.stream);
        let watched = self.caller.is_identified().then(|| acquiring.wanted(namespace.name()));
        let answer = tokio::select! {
            answer = self.api.conclude(&namespace, &acquiring, state, via, &self.cancel) => answer,
            // Dropped while it waits: the place in the queue is kept for a while.
            () = self.replies.closed() => return None,
            status = self.caller.dismissed(watched) => Err(status),
        };
        Some(answer.map_or_else(
            |status| Answered::Refusal(status::counted(&status, self.caller.refusals())),
            Answered::Acquire,
        ))
    }

    async fn relay(&self, mut watch: Watch) {
        let relay = async {
            while let Some(encoded) = watch.next().await {
                for message in framing::messages(encoded) {
                    let Ok(telling) = v1::WatchResponse::decode(message) else { return };
                    if self.replies.send(Reply::more(self.id, Answered::Watch(telling))).await.is_err() {
                        return;
                    }
                }
            }
        };
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.replies.closed() => {}
            () = relay => {}
        }
    }
}
