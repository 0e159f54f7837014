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

use crate::sequencer::{Decided, Namespace};
use crate::service::acquire::Acquiring;
use crate::service::watch::Watch;
use crate::service::{Api, Via, wire};

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
        let (api, via) = (&self.api, Via::Stream(self.stream));
        let answer = match kind {
            Commanded::OpenSession(request) => {
                api.open_session(request, via).await.map(Box::new).map(Answered::OpenSession)
            }
            Commanded::AttachSession(request) => {
                api.attach_session(request, via).await.map(Box::new).map(Answered::AttachedSession)
            }
            Commanded::CloseSession(request) => api.close_session(request).await.map(Answered::CloseSession),
            Commanded::Acquire(request) => {
                let acquire = api.acquire(request, via, &self.cancel);
                tokio::select! {
                    answer = acquire => answer.map(Answered::Acquire),
                    // Dropped while it waits: the place in the queue is kept for a while.
                    () = self.replies.closed() => return None,
                }
            }
            Commanded::Watch(request) => match api.watch(request, self.stream.0).await {
                Ok(watch) => {
                    self.relay(watch).await;
                    return None;
                }
                Err(problem) => Err(problem),
            },
            Commanded::Transfer(request) => tokio::select! {
                answer = api.transfer(request) => answer.map(Box::new).map(Answered::Transfer),
                () = self.replies.closed() => return None,
            },
            Commanded::UpdateClaim(request) => api.update_claim(request).await.map(Box::new).map(Answered::UpdateClaim),
            Commanded::GetLock(request) => api.get_lock(request).await.map(Box::new).map(Answered::GetLock),
            Commanded::GetSession(request) => api.get_session(request).await.map(Box::new).map(Answered::GetSession),
            Commanded::JoinGroup(request) => api.join_group(request, via).await.map(Box::new).map(Answered::JoinGroup),
            Commanded::LeaveGroup(request) => api.leave_group(request).await.map(Answered::LeaveGroup),
            Commanded::ConfigureGroup(request) => {
                api.configure_group(request).await.map(Box::new).map(Answered::ConfigureGroup)
            }
            Commanded::Assign(request) => api.assign_group(request).await.map(Box::new).map(Answered::Assign),
            Commanded::GetGroup(request) => api.get_group(request).await.map(Box::new).map(Answered::GetGroup),
            // Carried out by the connection itself.
            Commanded::KeepAlive(_) | Commanded::Cancel(_) | Commanded::Release(_) | Commanded::CancelAcquire(_) => {
                return None;
            }
        };
        Some(answer.unwrap_or_else(|problem| Answered::Refusal(problem.to_refusal())))
    }

    /// Goes on with an Acquire that the connection has begun.
    async fn wait(self, waiting: Waiting) -> Option<Answered> {
        let Waiting { namespace, acquiring, decided } = waiting;
        let answer = tokio::select! {
            answer = self.api.conclude(&namespace, &acquiring, decided, Via::Stream(self.stream), &self.cancel) => answer,
            // Dropped while it waits: the place in the queue is kept for a while.
            () = self.replies.closed() => return None,
        };
        Some(answer.map_or_else(|problem| Answered::Refusal(problem.to_refusal()), Answered::Acquire))
    }

    async fn relay(&self, mut watch: Watch) {
        let relay = async {
            while let Some(encoded) = watch.next().await {
                for message in wire::messages(encoded) {
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
