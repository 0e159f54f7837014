//! Acquire: asking, waiting, and being told.

use std::time::Duration;

use tenure_core::{
    AskedMode, Claim, ClaimState, Command, EndReason, Names, Opening, Outcome, Revision, ServerId, Table, Text,
};
use tenure_proto::v1::{AcquireRequest, AcquireResponse};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::bounds::{self, Wait};
use super::problem::Problem;
use super::sessions::keep;
use super::{Api, Via, convert, fresh_session_id, in_time};
use crate::sequencer::{Attendance, Decided, Namespace, Refusal, WaitEnd};

/// A session that waits in a call of its own is renewed by the call: this often in its TTL, and in the time for which the
/// claim would be kept without the call.
const RENEWALS: u32 = 3;

/// An Acquire that has passed its bounds.
struct Asked {
    session: Text,
    opening: Option<Opening>,
    names: Names,
    mode: AskedMode,
    queue: bool,
    priority: i32,
    metadata: tenure_core::Metadata,
    min_hold: Duration,
}

impl Asked {
    fn command(&self, home: tenure_core::ServerId) -> Command {
        Command::Acquire {
            session: self.session.clone(),
            opening: self.opening.clone(),
            home,
            names: self.names.clone(),
            mode: self.mode,
            queue: self.queue,
            priority: self.priority,
            metadata: self.metadata.clone(),
            min_hold: self.min_hold,
        }
    }
}

/// How the wait for a claim ended.
enum End {
    Told(WaitEnd),
    /// The time is up, or the caller gives up.
    Over,
    /// An earlier call for the same claim has given it up: ask again.
    GivenUp,
    /// This server starts over or stops. The place in the queue is kept for a while.
    NodeEnded,
}

impl Api {
    /// Carries out an Acquire. `cancel` ends its wait.
    pub(super) async fn acquire(
        &self,
        request: AcquireRequest,
        via: Via,
        cancel: &CancellationToken,
    ) -> Result<AcquireResponse, Problem> {
        let wait = bounds::wait(request.wait)?;
        let deadline = match wait {
            Wait::For(wait) => Some(Instant::now() + wait),
            // Of a claim that waits already.
            Wait::Try => Some(Instant::now()),
            Wait::Forever => None,
        };
        let namespace = self.namespace(&request.namespace).await?;
        let asked = self.asked(request, wait)?;
        self.check_presence(&namespace, &asked, via).await?;
        loop {
            let home = self.node()?.id();
            let command = asked.command(home);
            let decided = in_time(async { Ok(namespace.decide(command).await?) }).await?;
            if let Via::Stream(stream) = via
                && decided_session(&decided.outcome)
            {
                // Fails if the session has moved on since: then whoever moved it goes on with it.
                let _ = namespace.attach(&asked.session, stream);
            }
            let Decided { outcome, revision, attendance } = decided;
            match (outcome, attendance) {
                (Outcome::Waiting { claim, ttl, .. }, Some(mut attendance)) => {
                    let caller = Caller { namespace: &namespace, session: &asked.session, home, via };
                    match caller.wait_for(&mut attendance, ttl, deadline, cancel).await {
                        End::Told(WaitEnd::Granted(claim)) => {
                            attendance.satisfied();
                            return Ok(held(&asked.session, &claim, None, revision.0));
                        }
                        End::Told(WaitEnd::Ended(reason)) => {
                            attendance.satisfied();
                            return Err(caller.ended(reason));
                        }
                        End::Over => {
                            if let Some(answer) = caller.end_wait(claim.id, attendance).await? {
                                return Ok(answer);
                            }
                        }
                        End::GivenUp => {}
                        End::NodeEnded => return Err(Refusal::Draining.into()),
                    }
                }
                (Outcome::Held { claim, ttl }, attendance) => {
                    if let Some(attendance) = attendance {
                        attendance.satisfied();
                    }
                    return Ok(held(&asked.session, &claim, Some(ttl), revision.0));
                }
                (Outcome::Busy { blocker, ttl }, _) => return Ok(busy(&asked.session, &blocker, ttl, revision.0)),
                _ => return Err(Problem::Refused(Refusal::OutcomeUnknown)),
            }
        }
    }

    fn asked(&self, request: AcquireRequest, wait: Wait) -> Result<Asked, Problem> {
        let ttl = bounds::ttl(request.ttl, self.ttl())?;
        let session = if request.session_id.is_empty() {
            if ttl.is_none() {
                return Err(Problem::field("session_id", "required without a ttl, which would open a fresh session"));
            }
            fresh_session_id()
        } else {
            bounds::session_id("session_id", &request.session_id)?
        };
        let owner = bounds::label("owner", &request.owner)?;
        let disconnect_grace = bounds::disconnect_grace(request.disconnect_grace, ttl)?;
        let metadata = tenure_core::Metadata::default();
        let opening = ttl.map(|ttl| Opening { ttl, disconnect_grace, owner, metadata });
        Ok(Asked {
            session,
            opening,
            names: bounds::names(&request.names)?,
            mode: bounds::mode(request.mode, request.permits, request.limit)?,
            queue: wait != Wait::Try,
            priority: bounds::priority(request.priority)?,
            metadata: bounds::metadata(request.metadata)?,
            min_hold: bounds::min_hold(request.min_hold)?,
        })
    }

    /// Renews the session if its home is here, so that nothing is granted to one whose time is up; on a stream, it must be
    /// attached to that stream unless this opens it.
    async fn check_presence(&self, namespace: &Namespace, asked: &Asked, via: Via) -> Result<(), Problem> {
        match via {
            Via::Stream(stream) if asked.opening.is_none() => match keep(namespace, &asked.session, stream) {
                Ok(_) | Err(Problem::Refused(Refusal::LeaseLost)) => Ok(()),
                Err(problem) => Err(problem),
            },
            _ => self.note_presence(namespace, &asked.session, via).await,
        }
    }
}

/// Whether the session is open after this outcome.
fn decided_session(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Held { .. } | Outcome::Waiting { .. } | Outcome::Busy { ttl: Some(_), .. })
}

/// Who waits for a claim.
struct Caller<'a> {
    namespace: &'a Namespace,
    session: &'a Text,
    home: ServerId,
    via: Via,
}

impl Caller<'_> {
    /// Waits for the claim. In a call of its own, that the caller is there renews its session.
    async fn wait_for(
        &self,
        attendance: &mut Attendance,
        ttl: Duration,
        deadline: Option<Instant>,
        cancel: &CancellationToken,
    ) -> End {
        let pause = ttl.min(self.namespace.reattach()) / RENEWALS;
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
                    attendance.confirm();
                    renew_at = Instant::now() + pause;
                }
            }
        }
    }

    /// Renews the session. If somebody has renewed it elsewhere, it comes back to where its caller is.
    fn stay(&self) {
        if let Ok(None) = self.namespace.renew(self.session) {
            let command = Command::AttachSession { session: self.session.clone(), home: self.home };
            let namespace = self.namespace.clone();
            // If that cannot be done, what becomes of the claim tells why.
            tokio::spawn(async move { namespace.decide(command).await.map(drop) });
        }
    }

    /// Ends a wait whose time is up, unless the grant was faster. `None`: ask again.
    async fn end_wait(&self, claim: Revision, mut attendance: Attendance) -> Result<Option<AcquireResponse>, Problem> {
        let (outcome, revision) = if attendance.retire() {
            let command = Command::EndWait { claim, home: self.home };
            let decided = in_time(async { Ok(self.namespace.decide(command).await?) }).await?;
            (decided.outcome, decided.revision)
        } else {
            // Who has come since waits on.
            let read = self.namespace.read(move |table| (standing(table, claim), table.revision()));
            in_time(async { Ok(read.await?) }).await?
        };
        let answer = match outcome {
            Outcome::Held { claim, .. } => held(self.session, &claim, None, revision.0),
            Outcome::Busy { blocker, ttl } => busy(self.session, &blocker, ttl, revision.0),
            Outcome::Waiting { blocker, ttl, .. } => busy(self.session, &blocker, Some(ttl), revision.0),
            _ => match in_time(async { Ok(attendance.wait().await) }).await? {
                Some(WaitEnd::Ended(reason)) => return Err(self.ended(reason)),
                Some(WaitEnd::Granted(_)) => return Err(self.ended(EndReason::Released)),
                None => return Ok(None),
            },
        };
        attendance.satisfied();
        Ok(Some(answer))
    }

    fn ended(&self, reason: EndReason) -> Problem {
        Problem::ClaimEnded { session: self.session.clone(), reason }
    }
}

/// How a claim stands, as the outcome of asking for it.
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

fn held(session: &Text, claim: &Claim, ttl: Option<Duration>, revision: u64) -> AcquireResponse {
    let token = claim.token().map_or(0, |token| token.0);
    AcquireResponse {
        acquired: true,
        token,
        session_id: session.to_string(),
        ttl: ttl.map(convert::duration),
        claim: Some(convert::claim(claim)),
        holder: None,
        revision: revision.max(token),
    }
}

fn busy(session: &Text, blocker: &Claim, ttl: Option<Duration>, revision: u64) -> AcquireResponse {
    AcquireResponse {
        acquired: false,
        token: 0,
        session_id: session.to_string(),
        ttl: ttl.map(convert::duration),
        claim: None,
        holder: Some(convert::claim(blocker)),
        revision,
    }
}
