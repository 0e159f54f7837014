//! Implements Acquire: requests a claim, waits until it is granted, and returns the result.

use std::time::Duration;

use opentelemetry::KeyValue;
use tenure_core::{
    AskedMode, Attached, Claim, ClaimState, Command, EndReason, Metadata, Names, Opening, Origin, Outcome, Request,
    Revision, ServerId, Table, Text, no_labels,
};
use tenure_proto::v1::{AcquireRequest, AcquireResponse};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::authorize::{Admitted, Principal};
use super::sessions::{acknowledge, keep};
use super::status::Problem;
use super::validate::{self, Wait};
use super::{Api, Via, convert, fresh_session_id, in_time};
use crate::limits::{self, Share};
use crate::sequencer::{Attendance, Decided, Namespace, Refusal, WaitEnd};
use crate::telemetry::traces::Traced;

/// How many times per TTL a waiting call renews its session.
const RENEWALS: u32 = 3;

/// An Acquire whose fields have been validated.
pub(super) struct Acquiring {
    session: Text,
    opening: Option<Opening>,
    /// The revision that opened the session that the caller means, if given.
    opened: Option<Revision>,
    names: Names,
    mode: AskedMode,
    queue: bool,
    priority: i32,
    metadata: Metadata,
    min_hold: Duration,
    /// Deadline of the wait. `None`: waits forever.
    deadline: Option<Instant>,
    /// Whether the request came over the stream that its session is attached to. The response then omits data that the
    /// caller knows.
    attached: bool,
    /// The namespace's revision when the request was received, if it is a plain call.
    received: Option<Revision>,
    principal: Principal,
    /// The share of the memory budget that it takes while it waits.
    share: Option<Share>,
}

/// State of an Acquire after its command was decided.
pub(super) enum AcquireState {
    /// The response is ready. If a claim was granted, the attendance is to be satisfied when the response has been
    /// handed over.
    Answered(AcquireResponse, Option<Attendance>),
    /// The claim is queued.
    Waits(Decided),
}

impl Acquiring {
    pub(super) fn session(&self) -> &Text {
        &self.session
    }

    /// The request that the policy must allow while the caller waits.
    pub(super) fn wanted(&self, namespace: &str) -> AcquireRequest {
        let names = self.names.iter().map(ToString::to_string).collect();
        AcquireRequest { namespace: namespace.to_owned(), names, ..AcquireRequest::default() }
    }

    /// The response, if it is ready.
    pub(super) fn standing(&self, decided: Decided) -> Result<AcquireState, Problem> {
        let Decided { outcome, revision, attendance } = decided;
        match outcome {
            Outcome::Held { claim, ttl } => {
                Ok(AcquireState::Answered(self.held(&claim, Some(ttl), revision.0), attendance))
            }
            Outcome::Busy { blocker, ttl, opened } => {
                Ok(AcquireState::Answered(busy(&self.session, &blocker, ttl, opened, revision), attendance))
            }
            Outcome::Waiting { .. } => Ok(AcquireState::Waits(Decided { outcome, revision, attendance })),
            _ => Err(Problem::Refused(Refusal::OutcomeUnknown)),
        }
    }

    fn held(&self, claim: &Claim, ttl: Option<Duration>, revision: u64) -> AcquireResponse {
        let token = claim.token().map_or(0, |token| token.0);
        AcquireResponse {
            acquired: true,
            token,
            session_id: if self.attached { String::new() } else { self.session.to_string() },
            ttl: ttl.map(convert::duration),
            claim: (!self.attached).then(|| Box::new(convert::claim(claim))),
            holder: None,
            revision: revision.max(token),
            opened_revision: if self.attached { 0 } else { claim.spec.opened.0 },
        }
    }

    /// The command for the core. `attached` is the known state of the session, if it is attached to the stream that
    /// carried the request.
    ///
    /// # Errors
    /// If the session had to be attached to that stream and no longer is.
    pub(super) fn request(&self, home: ServerId, attached: Option<Attached>) -> Result<Request, Problem> {
        if self.attached && attached.is_none() {
            return Err(Problem::NotAttached { session: self.session.clone() });
        }
        Ok(self.principal.request(Command::Acquire {
            session: self.session.clone(),
            opening: self.opening.clone(),
            home,
            origin: match self.received {
                Some(received) => Origin::Call { received },
                None => Origin::Stream { attached: attached.filter(|_| self.attached) },
            },
            opened: self.opened,
            names: self.names.clone(),
            mode: self.mode,
            queue: self.queue,
            priority: self.priority,
            metadata: self.metadata.clone(),
            min_hold: self.min_hold,
        }))
    }
}

/// Why the wait for a claim ended.
enum End {
    Told(WaitEnd),
    /// The deadline passed, or the caller cancelled.
    Over,
    /// An earlier call for the same claim cancelled it: request it again.
    GivenUp,
    /// The node of this server restarts or stops. The queue position is kept for a while.
    NodeEnded,
}

impl Api {
    /// Executes an Acquire. `cancel` ends its wait.
    pub(super) async fn acquire(
        &self,
        asked: Admitted<AcquireRequest>,
        via: Via,
        cancel: &CancellationToken,
    ) -> Result<AcquireResponse, Problem> {
        let (mut request, principal) = asked.into_parts();
        let name = std::mem::take(&mut request.namespace);
        let mut acquiring = self.acquiring(request, principal, via)?;
        let namespace = self.namespace(&acquiring.principal, &name).await?;
        self.make_room(&mut acquiring, via)?;
        acquiring.received = matches!(via, Via::Call).then(|| namespace.revision());
        self.check_presence(&namespace, &acquiring, via).await?;
        let decided = self.decide_acquire(&namespace, &acquiring, via).await?;
        self.conclude(&namespace, &acquiring, decided, via, cancel).await
    }

    async fn decide_acquire(&self, namespace: &Namespace, acquiring: &Acquiring, via: Via) -> Result<Decided, Problem> {
        let attached = via.attached(namespace, &acquiring.session);
        let request = acquiring.request(self.node()?.id(), attached)?;
        let decided = in_time(async { Ok(namespace.decide(request).await?) }).await?;
        if let Via::Stream(stream) = via
            && decided_session(&decided.outcome)
        {
            // Fails if the session has moved since; its new stream or server then continues with it.
            let _ = namespace.attach(&acquiring.session, stream);
        }
        Ok(decided)
    }

    /// Continues an Acquire that was decided: waits if the claim is queued, and requests it again if necessary.
    pub(super) async fn conclude(
        &self,
        namespace: &Namespace,
        acquiring: &Acquiring,
        decided: Decided,
        via: Via,
        cancel: &CancellationToken,
    ) -> Result<AcquireResponse, Problem> {
        let queued = matches!(decided.outcome, Outcome::Waiting { .. });
        let concluded = self.wait_out(namespace, acquiring, decided, via, cancel).await;
        concluded.map_err(|problem| match problem {
            // `Unavailable` means that nothing was changed, but the claim is queued or may be held by now.
            Problem::Refused(Refusal::Unavailable(_)) if queued => Problem::Refused(Refusal::OutcomeUnknown),
            problem => problem,
        })
    }

    async fn wait_out(
        &self,
        namespace: &Namespace,
        acquiring: &Acquiring,
        mut decided: Decided,
        via: Via,
        cancel: &CancellationToken,
    ) -> Result<AcquireResponse, Problem> {
        // Everything but the wait is boxed, so that it takes memory only while it runs: very many calls may wait.
        loop {
            if let Outcome::Held { claim, .. } = &decided.outcome {
                Box::pin(self.ensure_held(namespace, acquiring, claim)).await?;
            }
            let (claim, ttl, revision, mut attendance) = match acquiring.standing(decided)? {
                AcquireState::Answered(answer, attendance) => {
                    attendance.into_iter().for_each(Attendance::satisfied);
                    return Ok(answer);
                }
                AcquireState::Waits(Decided {
                    outcome: Outcome::Waiting { claim, ttl, .. },
                    revision,
                    attendance: Some(attendance),
                }) => (claim, ttl, revision, attendance),
                AcquireState::Waits(_) => return Err(Problem::Refused(Refusal::OutcomeUnknown)),
            };
            let caller = Caller { namespace, acquiring, home: self.node()?.id(), via };
            Traced::current().event("waiting", Vec::new);
            match caller.wait_for(&mut attendance, ttl, acquiring.deadline, cancel).await {
                End::Told(WaitEnd::Granted(claim)) => {
                    Box::pin(self.ensure_held(namespace, acquiring, &claim)).await?;
                    attendance.satisfied();
                    let token = claim.token().unwrap_or_default().0.cast_signed();
                    Traced::current().event("granted", || vec![KeyValue::new("tenure.fencing_token", token)]);
                    return Ok(acquiring.held(&claim, None, revision.0));
                }
                End::Told(WaitEnd::Ended(reason)) => {
                    attendance.satisfied();
                    return Err(caller.ended(reason));
                }
                End::Over => {
                    if let Some(answer) = Box::pin(self.end_wait(&caller, &claim, ttl, attendance)).await? {
                        return Ok(answer);
                    }
                }
                End::GivenUp => {}
                End::NodeEnded => return Err(Refusal::Draining.into()),
            }
            decided = Box::pin(self.decide_acquire(namespace, acquiring, via)).await?;
        }
    }

    /// Acknowledges the grant that is about to be returned, so that another server, whose call for the same claim was
    /// not answered, does not cancel it.
    async fn ensure_held(&self, namespace: &Namespace, acquiring: &Acquiring, claim: &Claim) -> Result<(), Problem> {
        let me = self.node()?.id();
        if acquiring.received.is_none() || claim.spec.awaited_at.is_none_or(|at| at == me) {
            return Ok(());
        }
        match in_time(acknowledge(namespace, claim)).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(Problem::ClaimEnded { session: acquiring.session.clone(), reason: EndReason::Disconnected })
            }
            // The claim is still held.
            Err(Problem::Refused(Refusal::Unavailable(_))) => Err(Problem::Refused(Refusal::OutcomeUnknown)),
            Err(problem) => Err(problem),
        }
    }

    /// Validates an Acquire request. Its wait starts now.
    pub(super) fn acquiring(
        &self,
        request: AcquireRequest,
        principal: Principal,
        via: Via,
    ) -> Result<Acquiring, Problem> {
        let wait = validate::wait(request.wait)?;
        let ttl = validate::ttl(request.ttl, self.ttl())?;
        let session = if request.session_id.is_empty() {
            if ttl.is_none() {
                return Err(Problem::field("session_id", "required without a ttl, which would open a fresh session"));
            }
            fresh_session_id()
        } else {
            validate::session_id("session_id", &request.session_id)?
        };
        let owner = validate::label("owner", &request.owner)?;
        let disconnect_grace = validate::disconnect_grace(request.disconnect_grace, ttl)?;
        let metadata = no_labels();
        let opening = ttl.map(|ttl| Opening { ttl, disconnect_grace, owner, metadata, identity: None });
        let attached = matches!(via, Via::Stream(_)) && opening.is_none();
        Ok(Acquiring {
            session,
            opening,
            opened: validate::opened_revision(request.opened_revision)?,
            names: validate::names(&request.names)?,
            mode: validate::mode(request.mode, request.permits, request.limit)?,
            queue: wait != Wait::Try,
            priority: validate::priority(request.priority)?,
            metadata: validate::metadata(request.metadata)?,
            min_hold: validate::min_hold(request.min_hold)?,
            deadline: match wait {
                Wait::For(wait) => Some(Instant::now() + wait),
                // Applies to a claim that is already queued.
                Wait::Try => Some(Instant::now()),
                Wait::Forever => None,
            },
            attached,
            received: None,
            principal,
            share: None,
        })
    }

    /// Reserves memory for an Acquire that may wait.
    pub(super) fn make_room(&self, acquiring: &mut Acquiring, via: Via) -> Result<(), Problem> {
        let bytes = match via {
            Via::Call => limits::WAIT,
            Via::Stream(_) => limits::WAIT_ON_STREAM,
        };
        if acquiring.queue {
            let full = || Problem::LimitReached {
                limit: "bytes of Acquires that may wait at this server",
                bound: limits::WAITS.to_string(),
            };
            acquiring.share = Some(self.node()?.waits().try_take(bytes).ok_or_else(full)?);
        }
        Ok(())
    }

    /// Renews the session if its home is here, so that no lock is granted to an expired session. On a stream, the
    /// session must be attached to that stream unless this request opens it.
    async fn check_presence(&self, namespace: &Namespace, acquiring: &Acquiring, via: Via) -> Result<(), Problem> {
        match via {
            Via::Stream(stream) if acquiring.opening.is_none() => match keep(namespace, &acquiring.session, stream) {
                Ok(_) | Err(Problem::Refused(Refusal::LeaseLost)) => Ok(()),
                Err(problem) => Err(problem),
            },
            _ => self.note_presence(namespace, &acquiring.session, &acquiring.principal, None, via).await,
        }
    }
}

/// Whether the session is open after this outcome.
pub(super) fn decided_session(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Held { .. } | Outcome::Waiting { .. } | Outcome::Busy { ttl: Some(_), .. })
}

/// A caller that waits for a claim.
struct Caller<'a> {
    namespace: &'a Namespace,
    acquiring: &'a Acquiring,
    home: ServerId,
    via: Via,
}

impl Caller<'_> {
    /// Waits for the claim. A plain call renews its session while it waits.
    async fn wait_for(
        &self,
        attendance: &mut Attendance,
        ttl: Duration,
        deadline: Option<Instant>,
        cancel: &CancellationToken,
    ) -> End {
        let pause = ttl / RENEWALS;
        let mut renew_at = Instant::now() + pause;
        loop {
            tokio::select! {
                biased;
                told = attendance.wait() => return told.map_or(End::GivenUp, End::Told),
                () = self.namespace.ended() => return End::NodeEnded,
                () = cancel.cancelled() => return End::Over,
                () = sleep_until(deadline.unwrap_or(renew_at)), if deadline.is_some() => return End::Over,
                () = sleep_until(renew_at), if matches!(self.via, Via::Call) => {
                    self.stay();
                    renew_at = Instant::now() + pause;
                }
            }
        }
    }

    /// Renews the session. If it has been renewed at another server, moves it back here: its client may no longer renew
    /// it.
    fn stay(&self) {
        if let Ok(None) = self.namespace.renew(&self.acquiring.session) {
            let session = self.acquiring.session.clone();
            let attach = Command::AttachSession { session, home: self.home, attachment: 0, client: None };
            let (namespace, request) = (self.namespace.clone(), self.acquiring.principal.request(attach));
            // A failure is ignored: the end of the claim shows the reason.
            tokio::spawn(async move { namespace.decide(request).await.map(drop) });
        }
    }
}

impl Api {
    /// Ends a wait that timed out or was cancelled, unless the grant came first. `None`: request the claim again.
    async fn end_wait(
        &self,
        caller: &Caller<'_>,
        claim: &Claim,
        ttl: Duration,
        mut attendance: Attendance,
    ) -> Result<Option<AcquireResponse>, Problem> {
        let id = claim.id;
        let (outcome, revision) = if attendance.retire() {
            let command = Command::EndWait { claim: id, home: caller.home };
            let decided = in_time(async { Ok(caller.namespace.decide(command).await?) }).await?;
            (decided.outcome, decided.revision)
        } else {
            // A later caller still waits for the claim.
            let read = caller.namespace.read(move |table| (standing(table, id), table.revision()));
            in_time(async { Ok(read.await?) }).await?
        };
        let answer = match outcome {
            Outcome::Held { claim, .. } => {
                self.ensure_held(caller.namespace, caller.acquiring, &claim).await?;
                caller.acquiring.held(&claim, None, revision.0)
            }
            Outcome::Busy { blocker, ttl, opened } => busy(&caller.acquiring.session, &blocker, ttl, opened, revision),
            Outcome::Waiting { blocker, ttl, .. } => {
                // A later call still waits, unless it ended first: the attendance is dropped unsatisfied to cover that
                // case.
                let session = &caller.acquiring.session;
                return Ok(Some(busy(session, &blocker, Some(ttl), Some(claim.spec.opened), revision)));
            }
            _ => match in_time(async { Ok(attendance.wait().await) }).await? {
                // Ended by this `EndWait`, which was committed elsewhere and decided here a second time.
                Some(WaitEnd::Ended(EndReason::Released)) => {
                    let blocker = caller.holder().await?.unwrap_or_else(|| claim.clone());
                    busy(&caller.acquiring.session, &blocker, Some(ttl), Some(claim.spec.opened), revision)
                }
                Some(WaitEnd::Ended(reason)) => return Err(caller.ended(reason)),
                Some(WaitEnd::Granted(_)) => return Err(caller.ended(EndReason::Released)),
                None => return Ok(None),
            },
        };
        attendance.satisfied();
        Ok(Some(answer))
    }
}

impl Caller<'_> {
    /// The holder of the first requested name that is held.
    async fn holder(&self) -> Result<Option<Claim>, Problem> {
        let names = self.acquiring.names.clone();
        let read = self.namespace.read(move |table| {
            let first = names.iter().find_map(|name| table.lock(name)?.holders().first().copied())?;
            table.claim(first).cloned()
        });
        in_time(async { Ok(read.await?) }).await
    }

    fn ended(&self, reason: EndReason) -> Problem {
        Problem::ClaimEnded { session: self.acquiring.session.clone(), reason }
    }
}

/// The current state of a claim, as the outcome of an Acquire.
fn standing(table: &Table, claim: Revision) -> Outcome {
    let found = table.claim(claim).and_then(|claim| Some((claim, table.session(&claim.spec.session)?.spec.ttl)));
    let Some((claim, ttl)) = found else { return Outcome::Done };
    match claim.state {
        ClaimState::Waiting => {
            let ahead = table.waits_for(claim).first().and_then(|ahead| table.claim(*ahead));
            Outcome::Waiting { claim: claim.clone(), blocker: ahead.unwrap_or(claim).clone(), ttl }
        }
        ClaimState::Held { .. } => Outcome::Held { claim: claim.clone(), ttl },
        ClaimState::Lingering { .. } => Outcome::Done,
    }
}

fn busy(
    session: &Text,
    blocker: &Claim,
    ttl: Option<Duration>,
    opened: Option<Revision>,
    revision: Revision,
) -> AcquireResponse {
    AcquireResponse {
        acquired: false,
        token: 0,
        session_id: session.to_string(),
        ttl: ttl.map(convert::duration),
        claim: None,
        holder: Some(Box::new(convert::claim(blocker))),
        revision: revision.0,
        opened_revision: opened.unwrap_or_default().0,
    }
}
