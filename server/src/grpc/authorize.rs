//! Authorizes requests: a request is executed only if its caller has the rights. Each request type declares the rights
//! that it requires; a type that does not cannot be admitted, and so cannot reach a namespace.

mod table;

use std::sync::Arc;

use tenure_core::{Command, Limits, Rejection, Request, Text};
use tenure_proto::v1::ErrorReason;
use tokio::sync::watch;
use tonic::{Code, Status};

use super::pieces::{Piece, pieces};
use super::status::{self, fact, rejected};
use super::validate;
use crate::auth::{Act, Allowance, Caller, HISTORY_BYTES, Identity, Rights, Verb, Watching, Weight};
use crate::sequencer::Namespace;

/// The rule that only the identity that opened a session may use it.
pub(super) const SESSION_OWNER: &str = "session-owner";
/// The rule that only the identity that a client has connected as may connect it again.
pub(super) const CLIENT_OWNER: &str = "client-owner";

/// The caller of a request, with its rights and limits.
#[derive(Clone)]
pub(crate) struct Principal {
    pub(super) identity: Option<Text>,
    rights: Rights,
    allowance: Option<Allowance>,
    /// Its limits in the namespace of its request.
    limits: Limits,
    /// Whether its request may fill a new namespace.
    pub(super) may_fill: bool,
}

/// A request that has been authorized.
pub(crate) struct Admitted<R> {
    request: R,
    principal: Principal,
}

/// The requirements of a request, declared by each request type.
pub(crate) trait Requirement {
    /// About how many bytes the request adds to history: its own size, if it changes anything. `None`: it only keeps or
    /// releases something, and does not count against the limits per second.
    fn metered_bytes(&self) -> Option<usize>;

    /// Whether the request may create state in a new namespace, or keeps one open. One that only reads or releases
    /// opens none.
    const MAY_FILL: bool;

    /// The namespace of the request.
    fn namespace(&self) -> &str;

    /// Its weight in the audit log.
    fn weight(&self) -> Weight;

    /// Its entry in the audit log.
    fn act(&self) -> Act;

    /// Checks whether these rights are enough.
    ///
    /// # Errors
    /// The missing right.
    fn check(&self, rights: &NamespaceRights<'_>) -> Result<(), Status>;
}

/// The rights of a caller in a namespace.
pub(crate) struct NamespaceRights<'a> {
    principal: &'a Principal,
    namespace: &'a str,
}

impl NamespaceRights<'_> {
    fn name(&self, verb: Verb, name: &str) -> Result<(), Status> {
        let is_allowed = self.principal.rights.allow(verb, self.namespace, name);
        self.require(is_allowed, verb, || validate::shortened(name))
    }

    fn names(&self, verb: Verb, names: &[String]) -> Result<(), Status> {
        names.iter().try_for_each(|name| self.name(verb, name))
    }

    fn prefix(&self, verb: Verb, prefix: &str) -> Result<(), Status> {
        let is_allowed = self.principal.rights.allow_prefix(verb, self.namespace, prefix);
        self.require(is_allowed, verb, || format!("{}*", validate::shortened(prefix)))
    }

    /// Requires the right on at least one name; the name itself is checked later, or does not matter.
    fn some(&self, verb: Verb) -> Result<(), Status> {
        self.require(self.principal.rights.allow_some(verb, self.namespace), verb, String::new)
    }

    fn require(&self, is_allowed: bool, verb: Verb, name: impl FnOnce() -> String) -> Result<(), Status> {
        if is_allowed {
            return Ok(());
        }
        let identity = self.principal.identity.as_deref().unwrap_or_default();
        Err(not_allowed(identity, verb, &name(), self.namespace))
    }
}

/// The status for a caller that no role allows this. Without a name: on no name; without a namespace: in none.
pub(super) fn not_allowed(identity: &str, verb: Verb, name: &str, namespace: &str) -> Status {
    let what = match (namespace, name) {
        ("", _) => "anything".to_owned(),
        (_, "") => format!("to {verb} anything in namespace \"{namespace}\""),
        _ => format!("to {verb} \"{name}\" in namespace \"{namespace}\""),
    };
    let facts = vec![fact("rule", "policy"), fact("verb", verb), fact("name", name), fact("namespace", namespace)];
    status::status(ErrorReason::PermissionDenied, format!("no role of \"{identity}\" allows {what}"), facts)
}

/// The caller that opened a stream, for all requests on it.
pub(crate) struct StreamCaller {
    caller: Arc<Caller>,
    principal: Principal,
    changes: watch::Receiver<()>,
}

impl StreamCaller {
    pub(crate) fn new(caller: Arc<Caller>) -> Self {
        let changes = caller.changes();
        Self { principal: Principal::of(&caller), caller, changes }
    }

    /// Applies the current policy.
    fn refresh(&mut self) {
        if self.changes.has_changed().unwrap_or_default() {
            self.changes.mark_unchanged();
            self.principal = Principal::of(&self.caller);
        }
    }

    /// Admits a request under the current policy.
    ///
    /// # Errors
    /// If the policy does not allow it.
    pub(crate) fn admit<R: Requirement>(&mut self, request: R) -> Result<Admitted<R>, Status> {
        self.refresh();
        self.principal.admit(&self.caller, request)
    }

    /// Checks whether a request would be admitted, and returns its principal. A rejection is written to the audit log.
    ///
    /// # Errors
    /// If the policy does not allow it.
    pub(crate) fn check<R: Requirement>(&mut self, request: &R) -> Result<Principal, Status> {
        self.refresh();
        self.principal.check(&self.caller, request)?;
        Ok(Principal { may_fill: R::MAY_FILL, ..self.principal.clone() })
    }

    /// Waits until the policy, or what the caller may do by it, has changed.
    pub(crate) async fn policy_changed(&mut self) {
        if self.changes.changed().await.is_err() {
            std::future::pending().await
        }
        self.principal = Principal::of(&self.caller);
    }

    pub(crate) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }
}

impl Principal {
    fn of(caller: &Caller) -> Self {
        let identity = caller.identity.as_ref().map(Identity::text);
        Self {
            identity,
            rights: caller.rights(),
            allowance: caller.allowance(),
            limits: Limits::default(),
            may_fill: false,
        }
    }

    /// Admits a request, and writes the decision to the audit log.
    fn admit<R: Requirement>(&self, caller: &Caller, request: R) -> Result<Admitted<R>, Status> {
        self.check(caller, &request)?;
        let limits = self.meter(caller, &request)?;
        caller.note_allowed(request.weight(), || request.act());
        Ok(Admitted { principal: Self { limits, may_fill: R::MAY_FILL, ..self.clone() }, request })
    }

    /// Checks whether a request would be admitted. A rejection is written to the audit log.
    fn check(&self, caller: &Caller, request: &impl Requirement) -> Result<(), Status> {
        if self.rights.are_all() {
            return Ok(());
        }
        let namespace = validate::namespace(request.namespace())?;
        let denied = |_: &Status| caller.note_refused("policy", || request.act());
        request.check(&NamespaceRights { principal: self, namespace }).inspect_err(denied)
    }

    /// Counts a request, and returns its caller's limits in its namespace. A rejection is written to the audit log.
    fn meter(&self, caller: &Caller, request: &impl Requirement) -> Result<Limits, Status> {
        let Some(allowance) = &self.allowance else { return Ok(Limits::default()) };
        let namespace = validate::namespace(request.namespace())?;
        if let Some(bytes) = request.metered_bytes() {
            allowance.ask(namespace, bytes).inspect_err(|limited| {
                let is_history = limited.limit == HISTORY_BYTES;
                let rule = if is_history { "history-bytes-per-second" } else { "requests-per-second" };
                caller.note_refused(rule, || request.act());
            })?;
        }
        Ok(allowance.limits(namespace))
    }

    /// Counts a watch, until the returned guard is dropped.
    pub(crate) fn watch(&self, namespace: &str) -> Result<Option<Watching>, Status> {
        let Some(allowance) = &self.allowance else { return Ok(None) };
        let limit = "watches of this identity in the namespace at this server";
        let reached = |bound| rejected(Rejection::LimitReached { limit, bound });
        allowance.watch(validate::namespace(namespace)?).map_err(reached)
    }

    /// The command as a request of this principal.
    pub(crate) fn request(&self, command: Command) -> Request {
        command.by(self.identity.as_ref(), self.limits)
    }

    /// Whether it may read a name.
    pub(crate) fn may_read(&self, namespace: &str, name: &str) -> bool {
        self.rights.allow(Verb::Read, namespace, name)
    }

    /// The ranges that a list of readable names with a prefix scans, in order.
    pub(crate) fn readable(&self, namespace: &str, prefix: &str) -> Vec<Piece> {
        pieces(self.rights.names(Verb::Read, namespace), prefix)
    }

    /// Whether it may read a session: its own, or any if it may read every name in the namespace.
    pub(crate) fn may_see(&self, namespace: &str, session: &tenure_core::SessionSpec) -> bool {
        session.is_of(self.identity.as_ref()) || self.rights.allow_every(Verb::Read, namespace)
    }

    /// Rejects a session of another identity, as far as this server knows; the decision checks at the head of the log.
    ///
    /// # Errors
    /// If the session is of another identity.
    pub(crate) fn check_owner(&self, namespace: &Namespace, session: &Text) -> Result<(), Status> {
        match &self.identity {
            Some(identity) if namespace.is_of_another(session, identity) => {
                Err(rejected(Rejection::SessionOfAnother(session.clone())))
            }
            _ => Ok(()),
        }
    }
}

impl<R> Admitted<R> {
    /// The request, and its principal.
    pub(crate) fn into_parts(self) -> (R, Principal) {
        (self.request, self.principal)
    }
}

impl Caller {
    /// Executes a request of this caller, if it is admitted. A rejection due to a session of another identity is
    /// written to the audit log.
    ///
    /// # Errors
    /// If the request is not admitted, or the work fails.
    pub(crate) async fn carry_out<R: Requirement, T, F>(
        &self,
        request: R,
        work: impl FnOnce(Admitted<R>) -> F,
    ) -> Result<T, Status>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let act = self.is_audited().then(|| request.act());
        // Not within the match: a second principal would live as long as the call.
        let admitted = Principal::of(self).admit(self, request);
        let done = match admitted {
            Ok(admitted) => work(admitted).await.inspect_err(|status| {
                // What an admitted request is denied is a session of another identity.
                if let (Code::PermissionDenied, Some(act)) = (status.code(), act) {
                    self.note_refused(SESSION_OWNER, || act);
                }
            }),
            Err(status) => Err(status),
        };
        done.inspect_err(|status| status::count(status, self.refusals()))
    }

    /// Writes to the audit log that a command of a stream was rejected due to a session or client of another identity,
    /// if it was.
    pub(crate) fn note_rejection(&self, rejection: &Rejection) {
        match rejection {
            Rejection::SessionOfAnother(session) => {
                self.note_refused(SESSION_OWNER, || Act::new("tenure.v1.ClientService/Connect").by(session));
            }
            Rejection::ClientOfAnother(_) => {
                self.note_refused(CLIENT_OWNER, || Act::new("tenure.v1.ClientService/Connect"));
            }
            _ => {}
        }
    }

    /// Waits until the caller may no longer make this request: its credentials became invalid, or the policy changed.
    /// `None`: the caller has no credentials.
    pub(crate) async fn dismissed(&self, request: Option<impl Requirement>) -> Status {
        let Some(request) = request else { return std::future::pending().await };
        tokio::select! {
            why = self.clone().revoked() => Status::from(why),
            status = self.forbidden(request) => status,
        }
    }

    async fn forbidden(&self, request: impl Requirement) -> Status {
        let mut changes = self.changes();
        loop {
            if let Err(status) = Principal::of(self).check(self, &request) {
                return status;
            }
            // Cannot fail: the sender belongs to `self`.
            let _ = changes.changed().await;
        }
    }
}
