//! Admits what clients declare: each item is validated, authorized, metered and audited like the plain call that makes
//! the same.

use tenure_core::{Change, Declaration, DeclaredClaim, DeclaredMembership, DeclaredSession, Opening, Text};
use tenure_proto::v1;
use tenure_proto::v1::state::Kind as State;
use tonic::{Code, Status};

use crate::grpc::authorize::{Principal, StreamCaller};
use crate::grpc::session_or_new;
use crate::grpc::status::{self, invalid};
use crate::grpc::{Api, TtlBounds, validate};

/// The maximum size of a Hello in all its messages, in bytes.
const HELLO: usize = 16 * 1024 * 1024;

/// The maximum size of the declarations of a Hello, in bytes: they are decided at once.
const DECLARED: usize = 1024 * 1024;

/// The maximum number of claims and of memberships in one declaration.
const CLAIMS: usize = 1_000;
const MEMBERSHIPS: usize = tenure_core::MEMBERSHIPS;

/// The minimum size of a client's id: too long to be used by two programs by chance.
const CLIENT_ID_BYTES: usize = 16;

/// An admitted Hello.
pub(super) struct Introduction {
    pub(super) principal: Principal,
    pub(super) namespace: String,
    pub(super) client: Text,
    pub(super) epoch: u64,
    pub(super) known: Vec<u64>,
    pub(super) declared: Vec<Declaration>,
    pub(super) paused: Vec<u64>,
    /// The states of what was not admitted.
    pub(super) rejected: Vec<v1::State>,
}

/// A Hello with a further part.
pub(super) fn join(whole: Option<v1::Hello>, part: v1::Hello) -> Result<v1::Hello, Status> {
    let Some(mut whole) = whole else { return Ok(part) };
    whole.known.extend(part.known);
    whole.declared.extend(part.declared);
    whole.paused.extend(part.paused);
    whole.more = part.more;
    let bytes = prost::Message::encoded_len(&whole);
    if bytes > HELLO {
        return Err(invalid("hello", format!("at most {HELLO} bytes in all its messages, not {bytes}")));
    }
    Ok(whole)
}

/// Admits a Hello.
pub(super) fn introduction(api: &Api, caller: &mut StreamCaller, hello: v1::Hello) -> Result<Introduction, Status> {
    validate::namespace(&hello.namespace).map_err(|_| invalid("hello.namespace", "1 to 63 of a-z, 0-9 and '-'"))?;
    let client = validate::client_id("hello.client_id", &hello.client_id, CLIENT_ID_BYTES)?;
    let epoch = validate::declared("hello.epoch", hello.epoch)?;
    let bytes: usize = hello.declared.iter().map(prost::Message::encoded_len).sum();
    if bytes > DECLARED {
        return Err(invalid("hello.declared", format!("at most {DECLARED} bytes, not {bytes}")));
    }
    let (mut hello, principal) = caller.admit(hello)?.into_parts();
    let namespace = std::mem::take(&mut hello.namespace);
    let mut admission = Admission::new(api, &namespace);
    for (at, declaration) in hello.declared.into_iter().enumerate() {
        admission.declare(caller, declaration, &format!("hello.declared[{at}]"))?;
    }
    let principal = admission.principal.take().unwrap_or(principal);
    let declared = admission.changes.into_iter().filter_map(|change| match change {
        Change::Declare(declaration) => Some(declaration),
        Change::Withdraw(_) => None,
    });
    let (declared, rejected) = (declared.collect(), admission.rejected);
    let (known, paused) = (hello.known, hello.paused);
    Ok(Introduction { principal, namespace, client, epoch, known, declared, paused, rejected })
}

/// Changes that are admitted one after the other.
pub(super) struct Admission {
    ttl: TtlBounds,
    namespace: String,
    /// The principal of the last admitted item.
    pub(super) principal: Option<Principal>,
    pub(super) changes: Vec<Change>,
    /// The states of what was not admitted ...
    pub(super) rejected: Vec<v1::State>,
    /// ... and the status of the last one.
    pub(super) code: Code,
}

impl Admission {
    pub(super) fn new(api: &Api, namespace: &str) -> Self {
        Self {
            ttl: api.0.ttl,
            namespace: namespace.to_owned(),
            principal: None,
            changes: Vec::new(),
            rejected: Vec::new(),
            code: Code::Ok,
        }
    }

    /// Admits a declaration. What is not admitted is reported as rejected, and the rest is made.
    ///
    /// # Errors
    /// If its numbers are out of bounds, so that no state could be reported.
    pub(super) fn declare(
        &mut self,
        caller: &mut StreamCaller,
        declaration: v1::Declaration,
        field: &str,
    ) -> Result<(), Status> {
        check(&declaration, field)?;
        let session = declaration.session;
        let opening = match declaration.open.clone().map(|open| self.session(caller, open)).transpose() {
            Ok(opening) => opening,
            Err(status) => {
                self.reject_all(&declaration, &status);
                return Ok(());
            }
        };
        let (mut claims, mut memberships) = (Vec::new(), Vec::new());
        for claim in declaration.claims {
            let number = claim.number;
            match self.claim(caller, claim) {
                Ok(claim) => claims.push(claim),
                Err(status) => self.reject(number, &status),
            }
        }
        for membership in declaration.memberships {
            let number = membership.number;
            match self.membership(caller, membership) {
                Ok(membership) => memberships.push(membership),
                Err(status) => self.reject(number, &status),
            }
        }
        if opening.is_some() || !claims.is_empty() || !memberships.is_empty() {
            self.changes.push(Change::Declare(Declaration { session, opening, claims, memberships }));
        }
        Ok(())
    }

    /// Reports all of a declaration as rejected.
    pub(super) fn reject_all(&mut self, declaration: &v1::Declaration, status: &Status) {
        if declaration.open.is_some() {
            self.reject(declaration.session, status);
        }
        declaration.claims.iter().for_each(|claim| self.reject(claim.number, status));
        declaration.memberships.iter().for_each(|membership| self.reject(membership.number, status));
    }

    fn reject(&mut self, number: u64, status: &Status) {
        self.code = status.code();
        let refusal = Box::new(status::refusal(status));
        self.rejected.push(v1::State { number, kind: Some(State::Rejected(refusal)) });
    }

    fn session(&mut self, caller: &mut StreamCaller, open: v1::DeclaredSession) -> Result<DeclaredSession, Status> {
        let v1::DeclaredSession { session_id, ttl, disconnect_grace, owner, metadata } = open;
        let request = v1::OpenSessionRequest { namespace: self.namespace.clone(), session_id, ttl, owner, metadata };
        let (request, principal) = caller.admit(request)?.into_parts();
        let ttl = validate::required_ttl(request.ttl, self.ttl)?;
        let opening = Opening {
            ttl,
            owner: validate::label("owner", &request.owner)?,
            metadata: validate::metadata(request.metadata)?,
            identity: None,
        };
        self.principal = Some(principal);
        let disconnect_grace = validate::disconnect_grace(disconnect_grace, ttl)?;
        Ok(DeclaredSession { id: session_or_new(&request.session_id, true)?, disconnect_grace, opening })
    }

    fn claim(&mut self, caller: &mut StreamCaller, claim: v1::DeclaredClaim) -> Result<DeclaredClaim, Status> {
        let v1::DeclaredClaim { number, names, queue, mode, permits, limit, priority, min_hold, metadata } = claim;
        let request = v1::AcquireRequest {
            namespace: self.namespace.clone(),
            names,
            mode,
            permits,
            limit,
            priority,
            min_hold,
            metadata,
            ..v1::AcquireRequest::default()
        };
        let (request, principal) = caller.admit(request)?.into_parts();
        self.principal = Some(principal);
        Ok(DeclaredClaim {
            number,
            names: validate::names(&request.names)?,
            mode: validate::mode(request.mode, request.permits, request.limit)?,
            queue,
            priority: validate::priority(request.priority)?,
            metadata: validate::metadata(request.metadata)?,
            min_hold: validate::min_hold(request.min_hold)?,
        })
    }

    fn membership(
        &mut self,
        caller: &mut StreamCaller,
        membership: v1::DeclaredMembership,
    ) -> Result<DeclaredMembership, Status> {
        let v1::DeclaredMembership { number, group, metadata } = membership;
        let namespace = self.namespace.clone();
        let request = v1::JoinGroupRequest { namespace, group, metadata, ..v1::JoinGroupRequest::default() };
        let (request, principal) = caller.admit(request)?.into_parts();
        self.principal = Some(principal);
        let (group, metadata) = (validate::name("group", &request.group)?, validate::metadata(request.metadata)?);
        Ok(DeclaredMembership { number, group, metadata })
    }
}

/// Checks the numbers of a declaration, by which its states are reported.
fn check(declaration: &v1::Declaration, field: &str) -> Result<(), Status> {
    let v1::Declaration { session, claims, memberships, .. } = declaration;
    validate::declared(&format!("{field}.session"), *session)?;
    let claims = claims.iter().map(|claim| claim.number);
    check_numbers(&format!("{field}.claims"), claims, CLAIMS)?;
    let memberships = memberships.iter().map(|membership| membership.number);
    check_numbers(&format!("{field}.memberships"), memberships, MEMBERSHIPS)
}

fn check_numbers(field: &str, numbers: impl ExactSizeIterator<Item = u64>, most: usize) -> Result<(), Status> {
    if numbers.len() > most {
        return Err(invalid(field, format!("at most {most}, not {}", numbers.len())));
    }
    for (at, number) in numbers.enumerate() {
        validate::declared(&format!("{field}[{at}].number"), number)?;
    }
    Ok(())
}
