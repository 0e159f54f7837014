//! Commands that have a task of their own, since they may wait.

use std::sync::Arc;

use prost::Message;
use tenure_core::StreamId;
use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tenure_proto::v1::command::Kind as Commanded;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::auth::Caller;
use crate::grpc::acquire::Acquiring;
use crate::grpc::status::Problem;
use crate::grpc::watch::Watch;
use crate::grpc::{Api, Via, framing};
use crate::sequencer::{Decided, Namespace};

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
    pub(super) decided: Decided,
}

/// Where tasks say what they have to say.
pub(super) type Replies = mpsc::Sender<Reply>;

/// What a task says.
pub(super) struct Reply {
    pub(super) id: u64,
    pub(super) kind: Option<Box<Answered>>,
    /// Whether the command is no longer under way.
    pub(super) is_last: bool,
}

impl Reply {
    fn more(id: u64, kind: Answered) -> Self {
        Self { id, kind: Some(Box::new(kind)), is_last: false }
    }

    /// With the answer, if there is one.
    pub(super) fn last(id: u64, kind: Option<Answered>) -> Self {
        Self { id, kind: kind.map(Box::new), is_last: true }
    }
}

/// A command that is under way.
pub(super) struct Task {
    pub(super) api: Api,
    pub(super) caller: Arc<Caller>,
    pub(super) stream: StreamId,
    pub(super) id: u64,
    pub(super) replies: Replies,
    pub(super) cancel: CancellationToken,
}

impl Task {
    /// Answers what is left to be sent.
    pub(super) async fn run(self, job: Job) -> Option<Answered> {
        match job {
            Job::Command(command) => self.carry_out(command).await,
            Job::Wait(waiting) => self.wait(waiting).await,
        }
    }

    async fn carry_out(self, kind: Commanded) -> Option<Answered> {
        self.answer(kind).await.unwrap_or_else(|problem| Some(Answered::Refusal(problem.to_refusal())))
    }

    async fn answer(&self, kind: Commanded) -> Result<Option<Answered>, Problem> {
        let (api, caller, via) = (&self.api, &self.caller, Via::Stream(self.stream));
        Ok(Some(match kind {
            Commanded::OpenSession(request) => {
                Answered::OpenSession(Box::new(caller.carry_out(request, |asked| api.open_session(asked, via)).await?))
            }
            Commanded::AttachSession(request) => Answered::AttachedSession(Box::new(
                caller.carry_out(request, |asked| api.attach_session(asked, via)).await?,
            )),
            Commanded::CloseSession(request) => {
                Answered::CloseSession(caller.carry_out(request, |asked| api.close_session(asked)).await?)
            }
            Commanded::Acquire(request) => {
                let watched = caller.if_identified(|| request.clone());
                let acquire = caller.carry_out(request, |asked| async move {
                    // It opens its session: what comes in one that is open does not come here.
                    api.check_stays()?;
                    api.acquire(asked, via, &self.cancel).await
                });
                tokio::select! {
                    answer = acquire => Answered::Acquire(answer?),
                    // Dropped while it waits: the place in the queue is kept for a while.
                    () = self.replies.closed() => return Ok(None),
                    problem = caller.dismissed(watched) => return Err(problem),
                }
            }
            Commanded::Watch(request) => {
                let watched = caller.if_identified(|| request.clone());
                let watch = caller.carry_out(request, |asked| api.watch(asked, self.stream.0)).await?;
                tokio::select! {
                    () = self.relay(watch) => return Ok(None),
                    problem = caller.dismissed(watched) => return Err(problem),
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

    /// Goes on with an Acquire that the connection has begun.
    async fn wait(self, waiting: Waiting) -> Option<Answered> {
        let Waiting { namespace, acquiring, decided } = waiting;
        let via = Via::Stream(self.stream);
        let watched = self.caller.if_identified(|| acquiring.wanted(namespace.name()));
        let answer = tokio::select! {
            answer = self.api.conclude(&namespace, &acquiring, decided, via, &self.cancel) => answer,
            // Dropped while it waits: the place in the queue is kept for a while.
            () = self.replies.closed() => return None,
            problem = self.caller.dismissed(watched) => Err(problem),
        };
        Some(answer.map_or_else(
            |problem| {
                problem.count(self.caller.refusals());
                Answered::Refusal(problem.to_refusal())
            },
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
