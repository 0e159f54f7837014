//! Implements the session calls: open, renew, close, get and list.

use std::ops::ControlFlow;
use std::time::Duration;

use futures::future::try_join_all;
use tenure_core::{Claim, Command, DeadlockSearch, Opening, Outcome, Rejection, Revision, ServerId, Table, Text};
use tenure_proto::v1;
use tonic::Status;

use super::authorize::{Admitted, Principal};
use super::status::{not_now, rejected};
use super::views::SessionView;
use super::{Api, convert, in_time, page_token, session_or_new, validate};
use crate::sequencer::Namespace;

impl Api {
    pub(super) async fn open_session(
        &self,
        asked: Admitted<v1::OpenSessionRequest>,
    ) -> Result<v1::OpenSessionResponse, Status> {
        self.check_stays()?;
        let (request, principal) = asked.into_parts();
        let ttl = validate::required_ttl(request.ttl, self.0.ttl)?;
        let session = session_or_new(&request.session_id, true)?;
        let owner = validate::label("owner", &request.owner)?;
        let metadata = validate::metadata(request.metadata)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        self.note_presence(&namespace, &session, &principal).await?;
        let (opening, home) = (Opening { ttl, owner, metadata, identity: None }, self.node()?.id);
        let command = principal.request(Command::OpenSession { session, opening, home });
        let session = self.opened(&namespace, in_time(namespace.decide(command)).await?.outcome).await?;
        Ok(v1::OpenSessionResponse { session: Some(session) })
    }

    /// Renews a session at any server: this one verifies that it is the home, or becomes it.
    pub(super) async fn renew(&self, asked: Admitted<v1::RenewRequest>) -> Result<v1::RenewResponse, Status> {
        let (request, principal) = asked.into_parts();
        let session = validate::session_id("session_id", &request.session_id)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let (ttl, tokens) = self.renew_anywhere(&namespace, &session, &principal).await?;
        Ok(v1::RenewResponse { ttl: Some(convert::duration(ttl)), tokens })
    }

    /// Returns the session's TTL, and the tokens of what it holds.
    async fn renew_anywhere(
        &self,
        namespace: &Namespace,
        session: &Text,
        principal: &Principal,
    ) -> Result<(Duration, Vec<u64>), Status> {
        // Renewed first, so that the time of the call counts; the caller gets a reply only if this is still the home.
        let renewed = match namespace.renew_as(session, principal.identity.as_ref()) {
            Err(rejection @ (Rejection::LeaseLost | Rejection::SessionOfAnother(_))) => {
                return Err(rejected(rejection));
            }
            // Any other result counts only if this is still the home: the session may have moved.
            renewed => renewed,
        };
        let home = self.node()?.id;
        let renewed = in_time(async {
            if let Some(tokens) = held_at(namespace, session, home).await?
                && let Some(ttl) = renewed?
            {
                return Ok(Some((ttl, tokens)));
            }
            if self.draining().is_cancelled() {
                return Err(Rejection::Draining);
            }
            let command = Command::MoveSession { session: session.clone(), home };
            namespace.decide(principal.request(command)).await?;
            let renewed = namespace.renew(session)?;
            Ok(renewed.zip(held_at(namespace, session, home).await?))
        });
        renewed.await?.ok_or_else(|| not_now("the session moved during the call: retry"))
    }

    /// Renews a session if its home is here, so that it does not end while a command of its caller is being decided. A
    /// late request does not revive an ended session.
    pub(super) async fn note_presence(
        &self,
        namespace: &Namespace,
        session: &Text,
        principal: &Principal,
    ) -> Result<(), Status> {
        let over = match namespace.renew_as(session, principal.identity.as_ref()) {
            Ok(_) | Err(Rejection::LeaseLost) => return Ok(()),
            Err(rejection @ Rejection::SessionOfAnother(_)) => return Err(rejected(rejection)),
            Err(rejection) => rejection,
        };
        // The session may be alive at another server, which this server has not learned yet.
        let home = self.node()?.id;
        if in_time(held_at(namespace, session, home)).await?.is_some() { Err(rejected(over)) } else { Ok(()) }
    }

    pub(super) async fn close_session(
        &self,
        asked: Admitted<v1::CloseSessionRequest>,
    ) -> Result<v1::CloseSessionResponse, Status> {
        let (request, principal) = asked.into_parts();
        let session = validate::session_id("session_id", &request.session_id)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let request = principal.request(Command::CloseSession { session });
        in_time(namespace.decide(request)).await?;
        Ok(v1::CloseSessionResponse {})
    }

    pub(super) async fn get_session(
        &self,
        asked: Admitted<v1::GetSessionRequest>,
    ) -> Result<v1::GetSessionResponse, Status> {
        let (request, principal) = asked.into_parts();
        let session = validate::session_id("session_id", &request.session_id)?;
        let after = validate::revision("after_claim", request.after_claim, 0)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let (session, revision) = read_session(&namespace, session, after, principal).await?;
        Ok(v1::GetSessionResponse { session: Some(session), revision })
    }

    pub(super) async fn list_sessions(
        &self,
        asked: Admitted<v1::ListSessionsRequest>,
    ) -> Result<v1::ListSessionsResponse, Status> {
        let (request, principal) = asked.into_parts();
        let size = validate::page_size(request.page_size)?;
        let scope = format!("sessions/{}", validate::namespace(&request.namespace)?);
        let after = Revision(page_token::after(&scope, &request.page_token)?.unwrap_or_default());
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let name = namespace.name().clone();
        let read = namespace.view(move |view| {
            let table = view.table;
            let mut search = DeadlockSearch::default();
            let (sessions, last) = page_token::fill(table.sessions_after(after), size, SessionView::bytes, |found| {
                let is_readable = principal.may_see(&name, &found.spec);
                ControlFlow::Continue(is_readable.then(|| SessionView::of(found, view, &mut search)))
            });
            (sessions, last.map(|last| last.opened), table.revision().0)
        });
        let (sessions, next, revision) = in_time(read).await?;
        let mut sessions: Vec<_> = sessions.into_iter().map(v1::Session::from).collect();
        for session in &mut sessions {
            session.remaining = namespace.remaining(&session.id).map(convert::duration);
        }
        Ok(v1::ListSessionsResponse { sessions, next_page_token: page_token::token(&scope, next), revision })
    }

    /// An open session with all claims that it holds and waits for.
    async fn opened(&self, namespace: &Namespace, outcome: Outcome) -> Result<v1::Session, Status> {
        let Outcome::Open { spec, opened, claims } = outcome else { return Err(rejected(Rejection::OutcomeUnknown)) };
        // Held until the session is converted into its message.
        let mut permit = None;
        let claims = match claims {
            Some(claims) => claims,
            None => {
                let id = spec.id.clone();
                let claims = in_time(async {
                    permit = self.0.session_permits.acquire().await.ok();
                    let read = namespace.read(move |table| {
                        table.check_opened(&id, Some(opened))?;
                        let claims = table.session(&id).into_iter().flat_map(|session| table.claims_of(session));
                        Ok::<_, Rejection>(claims.cloned().collect::<Vec<_>>())
                    });
                    read.await?
                });
                claims.await?
            }
        };
        // The response shows these grants to the session: a server that failed to return one of them must no longer
        // cancel it.
        let unsure = claims.iter().filter(|claim| claim.token().is_some() && claim.spec.waiting_server.is_some());
        in_time(try_join_all(unsure.map(|claim| acknowledge(namespace, claim)))).await?;
        let mut session = convert::session(&spec, opened, claims.iter().map(convert::claim).collect());
        session.remaining = namespace.remaining(&spec.id).map(convert::duration);
        drop(permit);
        Ok(session)
    }
}

/// The tokens of what the session holds at the head of the log. `None` if this server is not its home there.
async fn held_at(namespace: &Namespace, session: &Text, home: ServerId) -> Result<Option<Vec<u64>>, Rejection> {
    let id = session.clone();
    let read = namespace.read(move |table: &Table| {
        let session = table.session(&id).filter(|found| found.spec.home == home)?;
        let held = table.claims_of(session).filter(|claim| !claim.lingers()).filter_map(Claim::token);
        let mut tokens: Vec<u64> = held.map(|token| token.0).collect();
        tokens.sort_unstable();
        Some(tokens)
    });
    read.await
}

/// Renews a session if its home is here. A late request does not revive an expired session.
pub(super) fn renew_if_here(namespace: &Namespace, session: &Text) -> Result<(), Status> {
    match namespace.renew(session) {
        Ok(_) | Err(Rejection::LeaseLost) => Ok(()),
        Err(rejection) => Err(rejected(rejection)),
    }
}

/// Acknowledges a grant that is about to be shown to the session, so that it is not cancelled as one that was not
/// returned. `false`: it has been cancelled, or the hold has ended otherwise.
pub(super) async fn acknowledge(namespace: &Namespace, claim: &Claim) -> Result<bool, Rejection> {
    let decided = namespace.decide(Command::Acknowledge { claim: claim.id }).await?;
    Ok(matches!(decided.outcome, Outcome::Updated(_)))
}

async fn read_session(
    namespace: &Namespace,
    id: Text,
    after: Revision,
    principal: Principal,
) -> Result<(v1::Session, u64), Status> {
    let (session, name) = (id.clone(), namespace.name().clone());
    let read = namespace.view(move |view| {
        let table = view.table;
        let found = table.find_session(&session)?;
        if !principal.may_see(&name, &found.spec) {
            return Err(Rejection::SessionOfAnother(session));
        }
        Ok((SessionView::after(after, found, view), table.revision().0))
    });
    let (session, revision) = in_time(async { read.await? }).await?;
    let mut session = v1::Session::from(session);
    session.remaining = namespace.remaining(&id).map(convert::duration);
    Ok((session, revision))
}
