//! Waits for the claim of an Acquire: until it is granted or ended, or the deadline passes.

use std::time::Duration;

use opentelemetry::trace::TraceContextExt;
use opentelemetry::{Context, KeyValue};
use tenure_core::{Claim, ClaimState, Command, EndReason, Outcome, Rejection, Revision, ServerId, Table};
use tenure_proto::v1::{AcquireResponse, ErrorReason};
use tokio::time::{Instant, sleep_until};
use tonic::Status;

use super::{AcquireState, Acquiring, Queued, busy};
use crate::grpc::sessions::acknowledge;
use crate::grpc::status::{fact, has_reason, rejected, status};
use crate::grpc::{Api, in_time};
use crate::sequencer::{Namespace, PendingGrant, WaitEnd};

/// How many times per TTL a waiting call renews its session.
const RENEWALS: u32 = 3;

/// Why the wait for a claim ended.
enum End {
    Notified(WaitEnd),
    /// The deadline passed.
    TimedOut,
    /// An earlier call for the same claim cancelled it: request it again.
    Cancelled,
    /// The node of this server restarts or stops. The queue position is kept for a while.
    NodeEnded,
}

impl Api {
    /// Requests the claim of a call that was received at this revision, and returns the response: waits if the claim is
    /// queued, and requests it again if necessary.
    pub(super) async fn claim(
        &self,
        namespace: &Namespace,
        acquiring: &Acquiring,
        received: Revision,
    ) -> Result<AcquireResponse, Status> {
        let mut state = self.decide_acquire(namespace, acquiring, received).await?;
        let concluded = async {
            loop {
                let queued = match state {
                    AcquireState::Answered(answer, pending) => {
                        pending.into_iter().for_each(PendingGrant::acknowledge);
                        return Ok::<_, Status>(*answer);
                    }
                    AcquireState::Waits(queued) => queued,
                };
                let caller = Caller { namespace, acquiring, home: self.node()?.id };
                if let Some(answer) = self.wait(&caller, queued).await? {
                    return Ok(answer);
                }
                state = Box::pin(self.decide_acquire(namespace, acquiring, received)).await?;
            }
        };
        concluded.await.map_err(maybe_changed)
    }

    /// Waits for the queued claim. `None`: request it again. Everything but the wait is boxed, so that it takes memory
    /// only while it runs: very many calls may wait.
    async fn wait(&self, caller: &Caller<'_>, queued: Queued) -> Result<Option<AcquireResponse>, Status> {
        let Queued { claim, ttl, revision, mut pending } = queued;
        Context::map_current(|call| call.span().add_event("waiting", Vec::new()));
        match caller.wait_for(&mut pending, ttl).await {
            End::Notified(WaitEnd::Granted(claim)) => {
                Box::pin(self.ensure_held(caller.namespace, caller.acquiring, &claim, caller.home)).await?;
                pending.acknowledge();
                let token = claim.token().unwrap_or_default().0.cast_signed();
                Context::map_current(|call| {
                    if call.has_active_span() {
                        call.span().add_event("granted", vec![KeyValue::new("tenure.fencing_token", token)]);
                    }
                });
                Ok(Some(caller.acquiring.held(&claim, None, revision)))
            }
            End::Notified(WaitEnd::Ended(reason)) => Err(caller.acquiring.ended(reason)),
            End::TimedOut => Box::pin(self.end_wait(caller, &claim, ttl, pending)).await,
            End::Cancelled => Ok(None),
            End::NodeEnded => Err(rejected(Rejection::Draining)),
        }
    }

    /// Acknowledges the grant that is about to be returned, so that another server, whose call for the same claim was
    /// not answered, does not cancel it.
    pub(super) async fn ensure_held(
        &self,
        namespace: &Namespace,
        acquiring: &Acquiring,
        claim: &Claim,
        home: ServerId,
    ) -> Result<(), Status> {
        if claim.spec.waiting_server.is_none_or(|at| at == home) {
            return Ok(());
        }
        let is_held = in_time(acknowledge(namespace, claim)).await.map_err(maybe_changed)?;
        if is_held { Ok(()) } else { Err(acquiring.ended(EndReason::Disconnected)) }
    }

    /// Ends a wait that timed out, unless the grant came first. `None`: request the claim again.
    async fn end_wait(
        &self,
        caller: &Caller<'_>,
        claim: &Claim,
        ttl: Duration,
        mut pending: PendingGrant,
    ) -> Result<Option<AcquireResponse>, Status> {
        let id = claim.id;
        let (outcome, revision) = if pending.cancel() {
            let command = Command::EndWait { claim: id, home: caller.home };
            let decided = in_time(caller.namespace.decide(command)).await?;
            (decided.outcome, decided.revision)
        } else {
            // A later caller still waits for the claim.
            let read = caller.namespace.read(move |table| (outcome_of(table, id), table.revision()));
            in_time(read).await?
        };
        let answer = match outcome {
            Outcome::Held { claim, .. } => {
                self.ensure_held(caller.namespace, caller.acquiring, &claim, caller.home).await?;
                caller.acquiring.held(&claim, None, revision)
            }
            Outcome::Busy { blocker, ttl, opened } => busy(&caller.acquiring.session, &blocker, ttl, opened, revision),
            Outcome::Waiting { blocker, ttl, .. } => {
                // A later call still waits, unless it ended first: the registration is dropped without acknowledgement to
                // cover that case.
                let session = &caller.acquiring.session;
                return Ok(Some(busy(session, &blocker, Some(ttl), Some(claim.spec.opened), revision)));
            }
            _ => match in_time(async { Ok(pending.wait().await) }).await? {
                // Ended by this `EndWait`, which was committed elsewhere and decided here a second time.
                Some(WaitEnd::Ended(EndReason::Released)) => {
                    let blocker = caller.holder().await?.unwrap_or_else(|| claim.clone());
                    busy(&caller.acquiring.session, &blocker, Some(ttl), Some(claim.spec.opened), revision)
                }
                Some(WaitEnd::Ended(reason)) => return Err(caller.acquiring.ended(reason)),
                Some(WaitEnd::Granted(_)) => return Err(caller.acquiring.ended(EndReason::Released)),
                None => return Ok(None),
            },
        };
        pending.acknowledge();
        Ok(Some(answer))
    }
}

/// A caller that waits for a claim.
struct Caller<'a> {
    namespace: &'a Namespace,
    acquiring: &'a Acquiring,
    home: ServerId,
}

impl Caller<'_> {
    /// Waits for the claim, and renews its session meanwhile.
    async fn wait_for(&self, pending: &mut PendingGrant, ttl: Duration) -> End {
        let (pause, deadline) = (ttl / RENEWALS, self.acquiring.deadline);
        let mut renew_at = Instant::now() + pause;
        loop {
            tokio::select! {
                biased;
                end = pending.wait() => return end.map_or(End::Cancelled, End::Notified),
                () = self.namespace.ended() => return End::NodeEnded,
                () = sleep_until(deadline.unwrap_or(renew_at)), if deadline.is_some() => return End::TimedOut,
                () = sleep_until(renew_at) => {
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
            let moving = Command::MoveSession { session, home: self.home };
            let (namespace, request) = (self.namespace.clone(), self.acquiring.principal.request(moving));
            // A failure is ignored: the end of the claim shows the reason.
            tokio::spawn(async move { namespace.decide(request).await.map(drop) });
        }
    }

    /// The holder of the first requested name that is held.
    async fn holder(&self) -> Result<Option<Claim>, Status> {
        let names = self.acquiring.names.clone();
        let read = self.namespace.read(move |table| {
            let first = names.iter().find_map(|name| table.lock(name)?.holders().first().copied())?;
            table.claim(first).cloned()
        });
        in_time(read).await
    }
}

impl Acquiring {
    fn ended(&self, reason: EndReason) -> Status {
        let (session, reason) = (&self.session, reason.as_str());
        let message = format!("the claim of session \"{session}\" ended while it was waiting: {reason}");
        status(ErrorReason::ClaimEnded, message, vec![fact("session_id", session), fact("end_reason", reason)])
    }
}

/// The status of a failure once the claim is queued, and may be held by now: "unavailable" would mean that nothing was
/// changed.
fn maybe_changed(status: Status) -> Status {
    if has_reason(&status, ErrorReason::StoreUnavailable) { rejected(Rejection::OutcomeUnknown) } else { status }
}

/// The current state of a claim, as the outcome of an Acquire.
fn outcome_of(table: &Table, claim: Revision) -> Outcome {
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
