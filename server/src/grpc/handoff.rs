//! Implements planned handoffs, and changes to claims and locks by holders and operators.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::{
    Claim, ClaimState, Command, DeadlockSearch, Event, Handoff, Outcome, Recorded, Rejection, Revision, Table, Text,
};
use tenure_proto::v1;
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use super::authorize::Admitted;
use super::status::{fact, rejected, status};
use super::views::LockView;
use super::{Api, convert, in_time, validate};
use crate::sequencer::{Namespace, View};

/// How long to wait for a handoff after its drain: the holder's home starts counting a little later.
const PATIENCE: Duration = Duration::from_secs(2);

/// The result of a handoff: the claim that it was handed over to, and when. `None`: the holder did not stop in time.
type Handed = Option<(Claim, Revision)>;

impl Api {
    pub(super) async fn transfer(&self, asked: Admitted<v1::TransferRequest>) -> Result<v1::TransferResponse, Status> {
        let (request, principal) = asked.into_parts();
        let name = validate::name("name", &request.name)?;
        let to = (!request.to_session_id.is_empty())
            .then(|| validate::session_id("to_session_id", &request.to_session_id))
            .transpose()?;
        let drain = validate::drain("drain", request.drain)?;
        let by_holder = !request.session_id.is_empty();
        let token = if request.token == 0 && !by_holder { None } else { Some(validate::token(request.token)?) };
        let by = if by_holder {
            Handoff::ByHolder { session: validate::session_id("session_id", &request.session_id)? }
        } else {
            Handoff::ByOperator { by: validate::eviction(&request.operator, &request.note)?, drain }
        };
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let command = Command::Transfer { name: name.clone(), token, to, by };
        let decided = in_time(namespace.decide(principal.request(command))).await?;
        match decided.outcome {
            Outcome::Transferred { from, to } => Ok(response(&from, &to, decided.revision)),
            Outcome::Transferring { claim } => {
                let drain = claim.transfer.as_ref().map_or(drain, |transfer| transfer.drain);
                match handed(&namespace, &claim, Instant::now() + drain + PATIENCE).await? {
                    Some((to, revision)) => Ok(response(&claim, &to, revision)),
                    None => {
                        let token = claim.token().unwrap_or_default();
                        let message = format!("the holder of \"{name}\" with token {token} did not hand over in time");
                        let facts = vec![fact("name", name), fact("token", token)];
                        Err(status(v1::ErrorReason::TransferNotConfirmed, message, facts))
                    }
                }
            }
            _ => Err(rejected(Rejection::OutcomeUnknown)),
        }
    }

    pub(super) async fn update_claim(
        &self,
        asked: Admitted<v1::UpdateClaimRequest>,
    ) -> Result<v1::UpdateClaimResponse, Status> {
        let (request, principal) = asked.into_parts();
        let name = validate::name("name", &request.name)?;
        let session = validate::session_id("session_id", &request.session_id)?;
        let token = validate::token(request.token)?;
        let metadata = validate::metadata(request.metadata)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let command = Command::UpdateClaim { session, name, token, metadata };
        let decided = in_time(namespace.decide(principal.request(command))).await?;
        let claim = match decided.outcome {
            Outcome::Updated(claim) => Some(convert::claim(&claim)),
            _ => None,
        };
        Ok(v1::UpdateClaimResponse { claim, revision: decided.revision.0 })
    }

    pub(super) async fn configure_lock(
        &self,
        asked: Admitted<v1::ConfigureLockRequest>,
    ) -> Result<v1::ConfigureLockResponse, Status> {
        let (request, principal) = asked.into_parts();
        let name = validate::name("name", &request.name)?;
        let settings = validate::settings(request.settings)?;
        let by = validate::eviction(&request.operator, &request.note)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let command = Command::ConfigureLock { name: name.clone(), settings, by };
        let read = move |view: &View<'_>| {
            (LockView::named(&name, view, &mut DeadlockSearch::default()), view.table.revision().0)
        };
        let configured = in_time(async {
            namespace.decide(principal.request(command)).await?;
            // Any failure to read does not undo the change.
            namespace.view(read).await.map_err(|_| Rejection::OutcomeUnknown)
        });
        let (lock, revision) = configured.await?;
        Ok(v1::ConfigureLockResponse { lock: Some(lock.into()), revision })
    }
}

fn response(from: &Claim, to: &Claim, revision: Revision) -> v1::TransferResponse {
    let token = to.token().unwrap_or_default();
    v1::TransferResponse {
        token: token.0,
        claim: Some(convert::claim(to)),
        previous: Some(convert::claim(&Claim { transfer: None, ..from.clone() })),
        revision: revision.0.max(token.0),
    }
}

/// Waits until the hold has been handed over, or will not be. Reads the events from the log, so that none is missed.
/// Any failure leaves the outcome unknown: the holder has been asked to hand over.
async fn handed(namespace: &Namespace, holder: &Claim, deadline: Instant) -> Result<Handed, Status> {
    let mut head = namespace.hub().head();
    let started = holder.transfer.as_ref().map(|transfer| transfer.started).unwrap_or_default();
    let mut cursor = started;
    loop {
        head.mark_unchanged();
        let Some(since) = namespace.hub().after(cursor, &BTreeSet::new(), usize::MAX) else {
            return ended_unseen(namespace, holder).await;
        };
        for batch in since.batches {
            cursor = batch.revision();
            let mut later = batch.events.iter().filter(|recorded| recorded.revision > started);
            if let Some(handed) = later.find_map(|recorded| outcome(recorded, holder)) {
                return Ok(handed);
            }
        }
        tokio::select! {
            changed = timeout_at(deadline, head.changed()) => match changed {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(rejected(Rejection::OutcomeUnknown)),
                Err(_) => return Ok(None),
            },
            () = namespace.ended() => return Err(rejected(Rejection::OutcomeUnknown)),
        }
    }
}

/// The result of a handoff, if this event decides it.
fn outcome(recorded: &Recorded, holder: &Claim) -> Option<Handed> {
    match &recorded.event {
        Event::ClaimTransferred { from, claim, spec, .. } if *from == holder.id => {
            let to = Claim::new(*claim, spec.clone(), ClaimState::Held { token: recorded.revision });
            Some(Some((to, recorded.revision)))
        }
        Event::TransferCancelled { claim, .. }
        | Event::ClaimEnded { claim, .. }
        | Event::ClaimLingering { claim, .. }
            if *claim == holder.id =>
        {
            Some(None)
        }
        _ => None,
    }
}

/// The log in memory starts after the cursor: only the current state is left, which does not show which claim was next.
async fn ended_unseen(namespace: &Namespace, holder: &Claim) -> Result<Handed, Status> {
    let name: Text = holder.spec.names.first().cloned().unwrap_or_else(|| "".into());
    let id = holder.id;
    let read = namespace.read(move |table: &Table| {
        let has_ended = table.claim(id).is_none();
        let lock = table.lock(&name)?;
        let next = table.claim(*lock.holders().first()?)?.clone();
        (has_ended && matches!(next.state, ClaimState::Held { .. })).then(|| (next, table.revision()))
    });
    in_time(async { read.await.map_err(|_| Rejection::OutcomeUnknown) }).await
}
