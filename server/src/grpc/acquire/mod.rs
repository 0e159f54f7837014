//! Implements Acquire: validates the request, requests the claim, [waits](self::wait) until it is granted, and returns the result.

mod wait;

use std::time::Duration;

use tenure_core::{
    Acquire, AskedMode, Attached, Claim, Command, Metadata, Names, Opening, Origin, Outcome, Rejection, Request,
    Revision, ServerId, Text, no_labels,
};
use tenure_proto::v1::{AcquireRequest, AcquireResponse};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::grpc::authorize::{Admitted, Principal};
use crate::grpc::status::{not_attached, rejected};
use crate::grpc::{Api, Via, convert, in_time, session_or_new, validate};
use crate::limits::{self, Share};
use crate::sequencer::{CommandResult, Namespace, PendingGrant};

/// An Acquire whose fields have been validated.
pub(in crate::grpc) struct Acquiring {
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
pub(in crate::grpc) enum AcquireState {
    /// The response is ready. A pending grant is to be acknowledged when the response has been returned.
    Answered(AcquireResponse, Option<PendingGrant>),
    /// The claim is queued.
    Waits(Queued),
}

/// A queued claim.
pub(in crate::grpc) struct Queued {
    claim: Claim,
    /// The TTL of its session.
    ttl: Duration,
    revision: Revision,
    pending: PendingGrant,
}

impl Acquiring {
    pub(in crate::grpc) fn session(&self) -> &Text {
        &self.session
    }

    /// The request that the policy must allow while the caller waits.
    pub(in crate::grpc) fn wanted(&self, namespace: &str) -> AcquireRequest {
        let names = self.names.iter().map(ToString::to_string).collect();
        AcquireRequest { namespace: namespace.to_owned(), names, ..AcquireRequest::default() }
    }

    /// The response, if it is ready.
    pub(in crate::grpc) fn state(&self, decided: CommandResult) -> Result<AcquireState, Status> {
        let CommandResult { outcome, revision, pending } = decided;
        match (outcome, pending) {
            (Outcome::Held { claim, ttl }, pending) => {
                Ok(AcquireState::Answered(self.held(&claim, Some(ttl), revision), pending))
            }
            (Outcome::Busy { blocker, ttl, opened }, pending) => {
                Ok(AcquireState::Answered(busy(&self.session, &blocker, ttl, opened, revision), pending))
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
            session_id: if self.attached { String::new() } else { self.session.to_string() },
            ttl: ttl.map(convert::duration),
            claim: (!self.attached).then(|| Box::new(convert::claim(claim))),
            holder: None,
            revision: revision.0.max(token),
            opened_revision: if self.attached { 0 } else { claim.spec.opened.0 },
        }
    }

    /// The command for the core. `attached` is the known state of the session, if it is attached to the stream that
    /// carried the request.
    ///
    /// # Errors
    /// If the session had to be attached to that stream and no longer is.
    pub(in crate::grpc) fn request(&self, home: ServerId, attached: Option<Attached>) -> Result<Request, Status> {
        if self.attached && attached.is_none() {
            return Err(not_attached(&self.session));
        }
        Ok(self.principal.request(Command::Acquire(Acquire {
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
        })))
    }
}

impl Api {
    /// Executes an Acquire: a plain call, or one that opens its session on a stream. `cancel` ends its wait.
    pub(in crate::grpc) async fn acquire(
        &self,
        admitted: Admitted<AcquireRequest>,
        via: Via,
        cancel: &CancellationToken,
    ) -> Result<AcquireResponse, Status> {
        let (mut request, principal) = admitted.into_parts();
        let name = std::mem::take(&mut request.namespace);
        let mut acquiring = self.acquiring(request, principal, via)?;
        let namespace = self.namespace(&acquiring.principal, &name).await?;
        self.reserve_memory(&mut acquiring, via)?;
        acquiring.received = matches!(via, Via::Call).then(|| namespace.revision());
        // Before the decision, so that no lock is granted to an expired session.
        self.note_presence(&namespace, &acquiring.session, &acquiring.principal, None, via).await?;
        let state = self.decide_acquire(&namespace, &acquiring, via).await?;
        self.conclude(&namespace, &acquiring, state, via, cancel).await
    }

    async fn decide_acquire(
        &self,
        namespace: &Namespace,
        acquiring: &Acquiring,
        via: Via,
    ) -> Result<AcquireState, Status> {
        let attached = via.attached(namespace, &acquiring.session);
        // Before the decision: afterwards a server that is stopping must not report as unavailable what was granted.
        let home = self.node()?.id;
        let request = acquiring.request(home, attached)?;
        let decided = in_time(namespace.decide(request)).await?;
        if let Via::Stream(stream) = via
            && leaves_open(&decided.outcome)
        {
            // Fails if the session has moved since; its new stream or server then continues with it.
            let _ = namespace.attach(&acquiring.session, stream);
        }
        if let Outcome::Held { claim, .. } = &decided.outcome {
            Box::pin(self.ensure_held(namespace, acquiring, claim, home)).await?;
        }
        acquiring.state(decided)
    }

    /// Validates an Acquire request. Its wait starts now.
    pub(in crate::grpc) fn acquiring(
        &self,
        request: AcquireRequest,
        principal: Principal,
        via: Via,
    ) -> Result<Acquiring, Status> {
        let wait = validate::wait(request.wait)?;
        let ttl = validate::ttl(request.ttl, self.0.ttl)?;
        let session = session_or_new(&request.session_id, ttl.is_some())?;
        let owner = validate::label("owner", &request.owner)?;
        let disconnect_grace = validate::disconnect_grace(request.disconnect_grace, ttl)?;
        let metadata = no_labels();
        let opening = ttl.map(|ttl| Opening { ttl, disconnect_grace, owner, metadata, identity: None });
        let attached = matches!(via, Via::Stream(_)) && opening.is_none();
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
            attached,
            received: None,
            principal,
            share: None,
        })
    }

    /// Reserves memory for an Acquire that may wait.
    pub(in crate::grpc) fn reserve_memory(&self, acquiring: &mut Acquiring, via: Via) -> Result<(), Status> {
        let bytes = match via {
            Via::Call => limits::WAIT,
            Via::Stream(_) => limits::WAIT_ON_STREAM,
        };
        if acquiring.queue {
            let limit = "bytes of Acquires that may wait at this server";
            let full = || rejected(Rejection::LimitReached { limit, bound: limits::WAITS });
            acquiring.share = Some(self.node()?.waits.try_take(bytes).ok_or_else(full)?);
        }
        Ok(())
    }
}

/// Whether the session is open after this outcome.
pub(in crate::grpc) fn leaves_open(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Held { .. } | Outcome::Waiting { .. } | Outcome::Busy { ttl: Some(_), .. })
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
        holder: Some(Box::new(convert::claim(blocker))),
        revision: revision.0,
        opened_revision: opened.unwrap_or_default().0,
        ..AcquireResponse::default()
    }
}
