//! What a stream carries out itself, without a task for each: acquires in sessions that are attached to it, releases, and
//! what gives up an Acquire. So none of these overtakes another. Those of one message go to the sequencer together, and what
//! comes of those of one batch goes back together.

use opentelemetry::Context;
use tenure_core::{Command, Rejection, Request, Text};
use tenure_proto::v1;
use tenure_proto::v1::answer::Kind as Answered;
use tokio::time::Instant;
use tonic::{Code, Status};

use super::task::{Job, Waiting};
use super::{Connection, Doing, code, twice};
use crate::grpc::acquire::{AcquireState, Acquiring, leaves_open};
use crate::grpc::authorize::{Admitted, Principal};
use crate::grpc::sessions::not_renewed;
use crate::grpc::spans;
use crate::grpc::status::{self, rejected};
use crate::grpc::{CALL, Via, validate};
use crate::sequencer::{Reply, StreamReplies, Tag};

/// Commands of one message, all in one namespace.
#[derive(Default)]
pub(super) struct Round {
    namespace: Option<Text>,
    acquires: Vec<(Tag, Box<Acquiring>, Context)>,
    requests: Vec<(Tag, Request, Context)>,
    /// Those for which there is no room.
    shed: Vec<u64>,
    /// How many there may be.
    most: usize,
}

impl Round {
    /// One that may get this large. It takes memory with the first command.
    pub(super) fn of(most: usize) -> Self {
        Self { most, ..Self::default() }
    }
}

/// A command that has been handed to the sequencer.
pub(super) struct Direct {
    count: u64,
    since: Instant,
    /// The client does not want to wait for it.
    cancelled: bool,
    asked: Asked,
    call: Context,
}

/// What it asks for.
enum Asked {
    Acquire(Box<Acquiring>),
    CancelAcquire,
    Release,
}

impl Direct {
    pub(super) fn cancel(&mut self) {
        self.cancelled = true;
    }

    /// Whether it has been under way for longer than anybody is to wait.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        now > self.since + CALL
    }
}

impl Connection {
    /// Adds an Acquire to the round.
    pub(super) async fn add_acquire(
        &mut self,
        round: &mut Round,
        id: u64,
        asked: Admitted<v1::AcquireRequest>,
        call: &Context,
    ) -> Result<(), Status> {
        let (request, principal) = asked.into_parts();
        let name = validate::namespace(&request.namespace)?;
        self.turn_to(round, &principal, name).await?;
        // Before anything is done for it: who has too much to do says so at little cost.
        if self.namespaces.get(name).is_some_and(|namespace| namespace.is_full()) {
            spans::answered(call, Code::ResourceExhausted);
            round.shed.push(id);
            return Ok(());
        }
        let mut acquiring = Box::new(self.api.acquiring(request, principal, Via::Stream(self.id))?);
        self.api.reserve_memory(&mut acquiring, Via::Stream(self.id))?;
        let tag = self.tag(id);
        round.acquires.push((tag, acquiring, call.clone()));
        Ok(())
    }

    /// Adds a release to the round.
    pub(super) async fn add_release(
        &mut self,
        round: &mut Round,
        id: u64,
        asked: Admitted<v1::ReleaseRequest>,
        call: &Context,
    ) -> Result<(), Status> {
        let (request, principal) = asked.into_parts();
        self.turn_to(round, &principal, validate::namespace(&request.namespace)?).await?;
        let command = Command::Release {
            session: validate::session_id("session_id", &request.session_id)?,
            name: validate::name("name", &request.name)?,
            token: validate::token(request.token)?,
        };
        let tag = self.tag(id);
        self.add(round, tag, principal.request(command), Asked::Release, call.clone());
        Ok(())
    }

    /// Adds to the round what gives up an Acquire.
    pub(super) async fn add_cancel(
        &mut self,
        round: &mut Round,
        id: u64,
        asked: Admitted<v1::CancelAcquireRequest>,
        call: &Context,
    ) -> Result<(), Status> {
        let (request, principal) = asked.into_parts();
        let name = validate::namespace(&request.namespace)?;
        self.turn_to(round, &principal, name).await?;
        let (session, names) =
            (validate::session_id("session_id", &request.session_id)?, validate::names(&request.names)?);
        if !round.acquires.is_empty() {
            // It may be about one of these, which would come after it.
            let next = Round { namespace: round.namespace.clone(), ..Round::of(round.most) };
            let before = std::mem::replace(round, next);
            self.submit(before).await?;
        }
        let attached = self.namespaces.get(name).and_then(|namespace| namespace.attached_by(&session, self.id));
        let tag = self.tag(id);
        let request = principal.request(Command::CancelAcquire { session, attached, names });
        self.add(round, tag, request, Asked::CancelAcquire, call.clone());
        Ok(())
    }

    /// Makes sure that the round is for this namespace.
    async fn turn_to(&mut self, round: &mut Round, principal: &Principal, namespace: &str) -> Result<(), Status> {
        if round.namespace.as_deref() == Some(namespace) {
            return Ok(());
        }
        let next = self.listen(principal, namespace).await?.name().clone();
        let before = std::mem::replace(round, Round::of(round.most));
        round.namespace = Some(next);
        round.requests.reserve(round.most);
        self.submit(before).await
    }

    fn tag(&mut self, id: u64) -> Tag {
        self.count += 1;
        Tag { id, count: self.count }
    }

    /// Adds a command that can be handed to the sequencer as it is.
    fn add(&mut self, round: &mut Round, tag: Tag, request: Request, asked: Asked, call: Context) {
        let namespace = round.namespace.as_deref().and_then(|name| self.namespaces.get(name));
        let span = namespace.map(|namespace| namespace.command_span(&call, &request.command)).unwrap_or_default();
        round.requests.push((tag, request, span));
        self.begin(tag, asked, call);
    }

    fn begin(&mut self, tag: Tag, asked: Asked, call: Context) {
        let direct = Direct { count: tag.count, since: self.received, cancelled: false, asked, call };
        self.under_way.insert(tag.id, Doing::Direct(direct));
    }

    /// Hands a round to the sequencer.
    ///
    /// # Errors
    /// If this server goes on no longer.
    pub(super) async fn submit(&mut self, round: Round) -> Result<(), Status> {
        let Round { namespace, acquires, mut requests, shed, .. } = round;
        if !shed.is_empty() {
            // Thousands may be in one message: the refusal is made once.
            let overloaded = status::refusal(&rejected(Rejection::Overloaded));
            let refusals = self.stream_caller.caller().refusals();
            let shed = shed.into_iter().map(|id| {
                refusals.count(overloaded.reason.clone(), None);
                answer(id, Answered::Refusal(overloaded.clone()))
            });
            self.outbox.put(shed.collect());
        }
        let Some(namespace) = namespace.and_then(|name| self.namespaces.get(&*name)).cloned() else { return Ok(()) };
        if !acquires.is_empty() {
            let home = self.api.node()?.id;
            // Nothing is granted to a session whose time is up. Without the lease that is for the sequencer to say.
            let sessions = acquires.iter().map(|(_, acquiring, _)| &**acquiring.session());
            let kept = namespace.keep_alive(sessions.clone(), self.id).unwrap_or_default();
            let attached = namespace.all_attached_by(sessions, self.id);
            let mut refused = Vec::new();
            for (place, ((tag, acquiring, call), attached)) in acquires.into_iter().zip(attached).enumerate() {
                if self.under_way.contains_key(&tag.id) {
                    return Err(twice());
                }
                let request = match kept.get(place) {
                    Some(Err(why)) => Err(not_renewed(acquiring.session(), *why)),
                    _ => acquiring.request(home, attached),
                };
                match request {
                    Ok(request) => {
                        let span = namespace.command_span(&call, &request.command);
                        requests.push((tag, request, span));
                        self.begin(tag, Asked::Acquire(acquiring), call);
                    }
                    Err(status) => {
                        spans::answered(&call, status.code());
                        refused.push(self.refusal(tag.id, &status));
                    }
                }
            }
            if !refused.is_empty() {
                self.outbox.put(refused);
            }
        }
        if requests.is_empty() {
            return Ok(());
        }
        namespace.decide_all(requests, &self.outcomes.0).await.map_err(rejected)
    }

    /// Answers what the sequencer has decided.
    pub(super) fn tell(&mut self, decided: StreamReplies) {
        let Some(namespace) = self.namespaces.get(&*decided.namespace).cloned() else { return };
        let told: Vec<(u64, Direct, Reply)> =
            decided.replies.into_iter().filter_map(|(tag, told)| Some((tag.id, self.finished(tag)?, told))).collect();
        let open = told.iter().filter_map(|(_, direct, told)| {
            let is_open = told.as_ref().is_ok_and(|decided| leaves_open(&decided.outcome));
            match &direct.asked {
                Asked::Acquire(acquiring) if is_open => Some(acquiring.session()),
                _ => None,
            }
        });
        namespace.attach_all(open, self.id);
        let mut answers = Vec::with_capacity(told.len());
        let mut granted = Vec::new();
        for (id, direct, told) in told {
            let answer = match (told, direct.asked) {
                (Err(rejection), _) => {
                    self.stream_caller.caller().note_rejection(&rejection);
                    self.refusal(id, &rejected(rejection))
                }
                (Ok(decided), Asked::Release) => {
                    answer(id, Answered::Release(v1::ReleaseResponse { revision: decided.revision.0 }))
                }
                (Ok(decided), Asked::CancelAcquire) => {
                    let revision = decided.revision.0;
                    answer(id, Answered::CancelAcquire(v1::CancelAcquireResponse { revision }))
                }
                (Ok(decided), Asked::Acquire(acquiring)) => match acquiring.state(decided) {
                    Ok(AcquireState::Answered(response, pending)) => {
                        granted.extend(pending);
                        answer(id, Answered::Acquire(response))
                    }
                    Ok(state @ AcquireState::Waits(_)) => {
                        let cancel = self.begin_task(id);
                        if direct.cancelled {
                            cancel.cancel();
                        }
                        let waiting = Waiting { namespace: namespace.clone(), acquiring, state };
                        self.spawn(id, cancel, Job::Wait(waiting), direct.call);
                        continue;
                    }
                    Err(status) => self.refusal(id, &status),
                },
            };
            spans::answered(&direct.call, answer.kind.as_ref().map_or(Code::Ok, code));
            answers.push(answer);
        }
        if !answers.is_empty() {
            self.outbox.put(answers);
        }
        namespace.acknowledge(granted);
    }

    fn refusal(&self, id: u64, status: &Status) -> v1::Answer {
        answer(id, Answered::Refusal(status::counted(status, self.stream_caller.caller().refusals())))
    }

    /// The command that this tag was given to; none if it was answered already, as overdue: what was granted by it is undone.
    fn finished(&mut self, tag: Tag) -> Option<Direct> {
        let is_this = |doing: &Doing| matches!(doing, Doing::Direct(direct) if direct.count == tag.count);
        self.under_way.get(&tag.id).filter(|doing| is_this(doing))?;
        match self.under_way.remove(&tag.id) {
            Some(Doing::Direct(direct)) => Some(direct),
            _ => None,
        }
    }

    /// No command hangs: past its time it is answered with a named error.
    pub(super) fn refuse_overdue(&mut self, now: Instant) {
        let is_overdue = |doing: &Doing| matches!(doing, Doing::Direct(direct) if direct.is_overdue(now));
        let mut overdue: Vec<u64> =
            self.under_way.iter().filter(|(_, doing)| is_overdue(doing)).map(|(id, _)| *id).collect();
        overdue.sort_unstable();
        if overdue.is_empty() {
            return;
        }
        let status = rejected(Rejection::OutcomeUnknown);
        for id in &overdue {
            if let Some(Doing::Direct(direct)) = self.under_way.remove(id) {
                spans::answered(&direct.call, status.code());
            }
        }
        self.outbox.put(overdue.into_iter().map(|id| self.refusal(id, &status)).collect());
    }
}

fn answer(id: u64, kind: Answered) -> v1::Answer {
    v1::Answer { id, kind: Some(kind) }
}
