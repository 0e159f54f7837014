//! Implements the session calls: open, attach, renew, close, get and list.

use std::ops::ControlFlow;
use std::time::Duration;

use futures::future::{join_all, try_join_all};
use tenure_core::{
    CLAIM_BYTES, Claim, Command, DeadlockSearch, Opening, Outcome, Rejection, RenewError, Request, Revision, ServerId,
    SessionSpec, StreamId, Table, Text,
};
use tenure_proto::v1;
use tonic::Status;

use super::authorize::{Admitted, Principal};
use super::status::{not_attached, not_now, refusal, rejected};
use super::views::SessionView;
use super::{Api, Via, convert, in_time, page_token, session_or_new, validate};
use crate::limits;
use crate::sequencer::Namespace;

impl Api {
    pub(super) async fn open_session(
        &self,
        asked: Admitted<v1::OpenSessionRequest>,
        via: Via,
    ) -> Result<Opened, Status> {
        self.check_stays()?;
        let (request, principal) = asked.into_parts();
        let ttl = validate::required_ttl(request.ttl, self.0.ttl)?;
        let disconnect_grace = validate::disconnect_grace(request.disconnect_grace, Some(ttl))?;
        let session = session_or_new(&request.session_id, true)?;
        let owner = validate::label("owner", &request.owner)?;
        let metadata = validate::metadata(request.metadata)?;
        let attachment = validate::attachment(request.attachment)?;
        let client = validate::client_id(&request.client_id)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        self.note_presence(&namespace, &session, &principal, client.as_ref(), via).await?;
        let command = Command::OpenSession {
            session: session.clone(),
            opening: Opening { ttl, disconnect_grace, owner, metadata, identity: None },
            home: self.node()?.id,
            attachment,
            client,
        };
        decide_open(namespace, session, principal.request(command), via).await
    }

    pub(super) async fn attach_session(&self, asked: Admitted<v1::AttachSession>, via: Via) -> Result<Opened, Status> {
        self.check_stays()?;
        let (request, principal) = asked.into_parts();
        let session = validate::session_id("session_id", &request.session_id)?;
        let attachment = validate::attachment(request.attachment)?;
        let client = validate::client_id(&request.client_id)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        self.note_presence(&namespace, &session, &principal, client.as_ref(), via).await?;
        let command = Command::AttachSession { session: session.clone(), home: self.node()?.id, attachment, client };
        decide_open(namespace, session, principal.request(command), via).await
    }

    /// Renews a session at any server: this one verifies that it is the home, or becomes it.
    pub(super) async fn renew(&self, asked: Admitted<v1::RenewRequest>) -> Result<v1::RenewResponse, Status> {
        let (request, principal) = asked.into_parts();
        let session = validate::session_id("session_id", &request.session_id)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let ttl = self.renew_anywhere(&namespace, &session, &principal).await?;
        Ok(v1::RenewResponse { ttl: Some(convert::duration(ttl)) })
    }

    async fn renew_anywhere(
        &self,
        namespace: &Namespace,
        session: &Text,
        principal: &Principal,
    ) -> Result<Duration, Status> {
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
            if is_home(namespace, session, home).await?
                && let Some(ttl) = renewed?
            {
                return Ok(Some(ttl));
            }
            if self.draining().is_cancelled() {
                return Err(Rejection::Draining);
            }
            let command = Command::AttachSession { session: session.clone(), home, attachment: 0, client: None };
            namespace.decide(principal.request(command)).await?;
            namespace.renew(session)
        });
        renewed.await?.ok_or_else(|| not_now("the session moved during the call: retry"))
    }

    /// Notes that a session's client is alive: renews the session if its home is here, and attaches it to the client's
    /// stream at once, so that it does not end while its command is being decided. A late request does not revive an
    /// ended session.
    pub(super) async fn note_presence(
        &self,
        namespace: &Namespace,
        session: &Text,
        principal: &Principal,
        client: Option<&Text>,
        via: Via,
    ) -> Result<(), Status> {
        if client.is_some_and(|client| namespace.is_of_another_client(session, client)) {
            // The session is not moved: the command will be rejected, unless that session has ended meanwhile.
            return principal.check_owner(namespace, session);
        }
        let over = match via {
            Via::Call => match namespace.renew_as(session, principal.identity.as_ref()) {
                Ok(_) | Err(Rejection::LeaseLost) => return Ok(()),
                Err(rejection @ Rejection::SessionOfAnother(_)) => return Err(rejected(rejection)),
                Err(rejection) => rejection,
            },
            Via::Stream(stream) => {
                principal.check_owner(namespace, session)?;
                match namespace.attach(session, stream) {
                    Err(RenewError::Ended(reason)) => Rejection::SessionEnded { session: session.clone(), reason },
                    // Attached again when the command has been decided.
                    Ok(()) | Err(RenewError::NotHome | RenewError::NotAttached) => return Ok(()),
                }
            }
        };
        // The session may be alive at another server, which this server has not learned yet.
        let home = self.node()?.id;
        if in_time(is_home(namespace, session, home)).await? { Err(rejected(over)) } else { Ok(()) }
    }

    /// Renews sessions at any server.
    pub(super) async fn keep_alive(
        &self,
        asked: Admitted<v1::KeepAliveRequest>,
    ) -> Result<v1::KeepAliveResponse, Status> {
        let (request, principal) = asked.into_parts();
        validate::session_ids(&request.session_ids)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let ids: Vec<Text> = request.session_ids.iter().map(|id| id.as_str().into()).collect();
        let kept = join_all(ids.iter().map(|session| self.renew_anywhere(&namespace, session, &principal))).await;
        Ok(kept_sessions(request.session_ids, kept))
    }

    pub(super) async fn close_session(
        &self,
        asked: Admitted<v1::CloseSessionRequest>,
    ) -> Result<v1::CloseSessionResponse, Status> {
        let (request, principal) = asked.into_parts();
        let session = validate::session_id("session_id", &request.session_id)?;
        let client = validate::client_id(&request.client_id)?;
        let namespace = self.namespace(&principal, &request.namespace).await?;
        let request = principal.request(Command::CloseSession { session, client });
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
}

/// Whether this server is the session's home at the head of the log.
async fn is_home(namespace: &Namespace, session: &Text, home: ServerId) -> Result<bool, Rejection> {
    let id = session.clone();
    namespace.read(move |table: &Table| table.session(&id).is_some_and(|found| found.spec.home == home)).await
}

/// Renews a session if its home is here. A late request does not revive an expired session.
pub(super) fn renew_if_here(namespace: &Namespace, session: &Text) -> Result<(), Status> {
    match namespace.renew(session) {
        Ok(_) | Err(Rejection::LeaseLost) => Ok(()),
        Err(rejection) => Err(rejected(rejection)),
    }
}

/// Decides a command that leaves a session open, and attaches the session to the stream that carried the command.
async fn decide_open(namespace: Namespace, id: Text, request: Request, via: Via) -> Result<Opened, Status> {
    let decided = in_time(namespace.decide(request)).await?;
    attach(&namespace, &id, via)?;
    let Outcome::Open { spec, opened, claims } = decided.outcome else {
        return Err(rejected(Rejection::OutcomeUnknown));
    };
    Ok(Opened { namespace, spec, opened, claims, revision: decided.revision })
}

/// An open session, before its claims are returned to its client.
pub(super) struct Opened {
    namespace: Namespace,
    spec: SessionSpec,
    opened: Revision,
    claims: Option<Vec<Claim>>,
    revision: Revision,
}

impl Opened {
    /// Upper bound of the size of the response, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let claims = self.claims.as_ref().map(|claims| claims.iter().map(|claim| claim.spec.message_bytes()).sum());
        limits::SESSION + claims.unwrap_or(CLAIM_BYTES)
    }

    /// The session with all claims that it holds and waits for, and the revision of that state.
    pub(super) async fn read(self, api: &Api) -> Result<(v1::Session, u64), Status> {
        let Self { namespace, spec, opened, claims, mut revision } = self;
        // Held until the session is converted into its message.
        let mut permit = None;
        let claims = match claims {
            Some(claims) => claims,
            None => {
                let id = spec.id.clone();
                let claims = in_time(async {
                    permit = api.0.session_permits.acquire().await.ok();
                    let read = namespace.read(move |table| {
                        table.check_opened(&id, Some(opened))?;
                        let claims = table.session(&id).into_iter().flat_map(|session| session.claims.iter());
                        let claims: Vec<Claim> = claims.filter_map(|claim| table.claim(*claim).cloned()).collect();
                        Ok::<_, Rejection>((claims, table.revision()))
                    });
                    read.await?
                });
                let (claims, at) = claims.await?;
                revision = at;
                claims
            }
        };
        // The response shows these grants to the session: a server that failed to return one of them must no longer
        // cancel it.
        let unsure = claims.iter().filter(|claim| claim.token().is_some() && claim.spec.waiting_server.is_some());
        in_time(try_join_all(unsure.map(|claim| acknowledge(&namespace, claim)))).await?;
        let mut session = convert::session(&spec, opened, claims.iter().map(convert::claim).collect());
        session.remaining = namespace.remaining(&spec.id).map(convert::duration);
        drop(permit);
        Ok((session, revision.0))
    }
}

/// Acknowledges a grant that is about to be shown to the session, so that it is not cancelled as one that was not
/// returned. `false`: it has been cancelled, or the hold has ended otherwise.
pub(super) async fn acknowledge(namespace: &Namespace, claim: &Claim) -> Result<bool, Rejection> {
    let decided = namespace.decide(Command::Acknowledge { claim: claim.id }).await?;
    Ok(matches!(decided.outcome, Outcome::Updated(_)))
}

fn attach(namespace: &Namespace, session: &Text, via: Via) -> Result<(), Status> {
    match via {
        Via::Call => Ok(()),
        Via::Stream(stream) => namespace.attach(session, stream).map_err(|why| not_renewed(session, why)),
    }
}

/// Renews sessions on the stream that they are attached to.
pub(super) fn keep_all(namespace: &Namespace, ids: Vec<String>, stream: StreamId) -> v1::KeepAliveResponse {
    match namespace.keep_alive(ids.iter().map(String::as_str), stream) {
        Ok(kept) => {
            let kept = ids.iter().zip(kept).map(|(id, kept)| kept.map_err(|why| not_renewed(id, why))).collect();
            kept_sessions(ids, kept)
        }
        Err(rejection) => {
            let refusal = Some(refusal(&rejected(rejection)));
            let kept = |session_id| v1::KeptSession { session_id, ttl: None, refusal: refusal.clone() };
            v1::KeepAliveResponse { sessions: ids.into_iter().map(kept).collect() }
        }
    }
}

fn kept_sessions(ids: Vec<String>, kept: Vec<Result<Duration, Status>>) -> v1::KeepAliveResponse {
    let sessions = ids.into_iter().zip(kept).map(|(session_id, kept)| match kept {
        Ok(ttl) => v1::KeptSession { session_id, ttl: Some(convert::duration(ttl)), refusal: None },
        Err(status) => v1::KeptSession { session_id, ttl: None, refusal: Some(refusal(&status)) },
    });
    v1::KeepAliveResponse { sessions: sessions.collect() }
}

pub(super) fn not_renewed(session: &str, why: RenewError) -> Status {
    match why {
        RenewError::Ended(reason) => rejected(Rejection::SessionEnded { session: session.into(), reason }),
        RenewError::NotHome | RenewError::NotAttached => not_attached(session),
    }
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
