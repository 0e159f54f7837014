//! Implements Acquire: validates the request, requests the claim, [waits](self::wait) until it is granted, and returns the result.

mod wait;

use std::time::Duration;

use tenure_core::{
    Acquire, AskedMode, Claim, Command, Metadata, Names, Opening, Outcome, Rejection, Request, Revision, ServerId,
    Text, no_labels,
};
use tenure_proto::v1::{AcquireRequest, AcquireResponse};
use tokio::time::Instant;
use tonic::Status;

use crate::grpc::authorize::{Admitted, Principal};
use crate::grpc::status::rejected;
use crate::grpc::{Api, convert, in_time, session_or_new, validate};
use crate::limits::{self, Share};
use crate::sequencer::{CommandResult, Namespace, PendingGrant};

/// An Acquire whose fields have been validated.
struct Acquiring {
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
    principal: Principal,
    /// The share of the memory budget that it takes while it waits.
    share: Option<Share>,
}

/// State of an Acquire after its command was decided.
enum AcquireState {
    /// The response is ready. A pending grant is to be acknowledged when the response has been returned.
    Answered(Box<AcquireResponse>, Option<PendingGrant>),
    /// The claim is queued.
    Waits(Queued),
}

/// A queued claim.
struct Queued {
    claim: Claim,
    /// The TTL of its session.
    ttl: Duration,
    revision: Revision,
    pending: PendingGrant,
}

impl Acquiring {
    /// The response, if it is ready.
    fn state(&self, decided: CommandResult) -> Result<AcquireState, Status> {
        let CommandResult { outcome, revision, pending } = decided;
        match (outcome, pending) {
            (Outcome::Held { claim, ttl }, pending) => {
                Ok(AcquireState::Answered(Box::new(self.held(&claim, Some(ttl), revision)), pending))
            }
            (Outcome::Busy { blocker, ttl, opened }, pending) => {
                Ok(AcquireState::Answered(Box::new(busy(&self.session, &blocker, ttl, opened, revision)), pending))
            }
            (Outcome::Waiting { claim, ttl, .. }, Some(pending)) => {
                Ok(AcquireState::Waits(Queued { claim, ttl, revision, pending }))
            }
            _ => Err(rejected(Rejection::OutcomeUnknown)),
        }
    }

    fn held(&self, claim: &Claim, ttl: Option<Duration>, revision: Revision) -> AcquireResponse {
        let token = claim.token().map_or(0, |token| token.0);
        AcquireResponse {
            acquired: true,
            token,
            session_id: self.session.to_string(),
            ttl: ttl.map(convert::duration),
            claim: Some(convert::claim(claim)),
            holder: None,
            revision: revision.0.max(token),
            opened_revision: claim.spec.opened.0,
        }
    }

    /// The command for the core, of a call that was received at this revision.
    fn request(&self, home: ServerId, received: Revision) -> Request {
        self.principal.request(Command::Acquire(Acquire {
            session: self.session.clone(),
            opening: self.opening.clone(),
            home,
            received,
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

impl Api {
    /// Executes an Acquire.
    pub(in crate::grpc) async fn acquire(&self, admitted: Admitted<AcquireRequest>) -> Result<AcquireResponse, Status> {
        let (mut request, principal) = admitted.into_parts();
        let name = std::mem::take(&mut request.namespace);
        let mut acquiring = self.acquiring(request, principal)?;
        let namespace = self.namespace(&acquiring.principal, &name).await?;
        self.reserve_memory(&mut acquiring)?;
        let received = namespace.revision();
        // Before the decision, so that no lock is granted to an expired session.
        self.note_presence(&namespace, &acquiring.session, &acquiring.principal).await?;
        self.claim(&namespace, &acquiring, received).await
    }

    async fn decide_acquire(
        &self,
        namespace: &Namespace,
        acquiring: &Acquiring,
        received: Revision,
    ) -> Result<AcquireState, Status> {
        // Before the decision: afterwards a server that is stopping must not report as unavailable what was granted.
        let home = self.node()?.id;
        let decided = in_time(namespace.decide(acquiring.request(home, received))).await?;
        if let Outcome::Held { claim, .. } = &decided.outcome {
            Box::pin(self.ensure_held(namespace, acquiring, claim, home)).await?;
        }
        acquiring.state(decided)
    }

    /// Validates an Acquire request. Its wait starts now.
    fn acquiring(&self, request: AcquireRequest, principal: Principal) -> Result<Acquiring, Status> {
        let wait = validate::wait(request.wait)?;
        let ttl = validate::ttl(request.ttl, self.0.ttl)?;
        let session = session_or_new(&request.session_id, ttl.is_some())?;
        let owner = validate::label("owner", &request.owner)?;
        let opening = ttl.map(|ttl| Opening { ttl, owner, metadata: no_labels(), identity: None });
        Ok(Acquiring {
            session,
            opening,
            opened: validate::optional_revision("opened_revision", request.opened_revision)?,
            names: validate::names(&request.names)?,
            mode: validate::mode(request.mode, request.permits, request.limit)?,
            queue: wait != Some(Duration::ZERO),
            priority: validate::priority(request.priority)?,
            metadata: validate::metadata(request.metadata)?,
            min_hold: validate::min_hold(request.min_hold)?,
            // Without a wait, it applies to a claim that is already queued.
            deadline: wait.map(|wait| Instant::now() + wait),
            principal,
            share: None,
        })
    }

    /// Reserves memory for an Acquire that may wait.
    fn reserve_memory(&self, acquiring: &mut Acquiring) -> Result<(), Status> {
        if acquiring.queue {
            let limit = "bytes of Acquires that may wait at this server";
            let full = || rejected(Rejection::LimitReached { limit, bound: limits::WAITS });
            acquiring.share = Some(self.node()?.waits.try_take(limits::WAIT).ok_or_else(full)?);
        }
        Ok(())
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
        session_id: session.to_string(),
        ttl: ttl.map(convert::duration),
        holder: Some(convert::claim(blocker)),
        revision: revision.0,
        opened_revision: opened.unwrap_or_default().0,
        ..AcquireResponse::default()
    }
}
