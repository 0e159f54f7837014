//! Admission: what is asked for is carried out only if whoever asks may have it. Each request says itself what it takes; one that
//! does not cannot be admitted, and so cannot reach a namespace.

mod table;

use std::sync::Arc;

use tenure_core::{Command, Limits, Rejection, Request, Text};

use super::pieces::{Piece, pieces};
use super::status::Problem;
use super::validate;
use crate::auth::{Act, Allowance, Caller, Changes, HISTORY_BYTES, Identity, Rights, TooFast, Verb, Watching, Weight};
use crate::sequencer::{Namespace, Refusal};

/// The rule that keeps sessions for those who opened them.
pub(super) const SESSION_OWNER: &str = "session-owner";

/// Who asks, and what it may do.
#[derive(Clone)]
pub(crate) struct Principal {
    identity: Option<Text>,
    rights: Rights,
    allowance: Option<Allowance>,
    /// What it may have in the namespace that its request is about.
    limits: Limits,
    /// Whether its request may fill a new namespace.
    may_fill: bool,
}

/// A request that may be carried out.
pub(crate) struct Admitted<R> {
    request: R,
    principal: Principal,
}

/// What a request takes: said by each type of request.
pub(crate) trait Asks {
    /// Whether it counts as one of the requests of which so many a second are allowed. What keeps something as it is, or gives it
    /// back, does not.
    const IS_METERED: bool;

    /// About how many bytes it adds to history, if it is metered: its own size, if it changes anything.
    fn history_bytes(&self) -> usize;

    /// Whether something may come of it in a namespace that is new, or it keeps one open. What only reads or gives back
    /// opens none.
    const MAY_FILL: bool;

    /// Where.
    fn namespace(&self) -> &str;

    /// What it is for those who read the audit log.
    fn weight(&self) -> Weight;

    /// What is written there.
    fn act(&self) -> Act;

    /// Whether these rights are enough.
    ///
    /// # Errors
    /// What is missing.
    fn check(&self, rights: &Here<'_>) -> Result<(), Missing>;
}

/// A right that somebody does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    verb: Verb,
    /// On what; empty: on anything.
    name: String,
}

/// Rights in a namespace.
pub(crate) struct Here<'a> {
    rights: &'a Rights,
    namespace: &'a str,
}

impl Here<'_> {
    fn name(&self, verb: Verb, name: &str) -> Result<(), Missing> {
        let allowed = self.rights.allow(verb, self.namespace, name);
        if allowed { Ok(()) } else { Err(Missing { verb, name: validate::shortened(name) }) }
    }

    fn names(&self, verb: Verb, names: &[String]) -> Result<(), Missing> {
        names.iter().try_for_each(|name| self.name(verb, name))
    }

    fn prefix(&self, verb: Verb, prefix: &str) -> Result<(), Missing> {
        let allowed = self.rights.allow_prefix(verb, self.namespace, prefix);
        if allowed { Ok(()) } else { Err(Missing { verb, name: format!("{}*", validate::shortened(prefix)) }) }
    }

    /// Some name at least: which, is looked at later, or does not matter.
    fn some(&self, verb: Verb) -> Result<(), Missing> {
        let allowed = self.rights.allow_some(verb, self.namespace);
        if allowed { Ok(()) } else { Err(Missing { verb, name: String::new() }) }
    }
}

/// Who has opened a stream, for all that it asks for on it.
pub(crate) struct Speaker {
    caller: Arc<Caller>,
    principal: Principal,
    changes: Changes,
}

impl Speaker {
    pub(crate) fn new(caller: Arc<Caller>) -> Self {
        let changes = caller.changes();
        Self { principal: Principal::of(&caller), caller, changes }
    }

    fn principal(&mut self) -> &Principal {
        if self.changes.have_come() {
            self.principal = Principal::of(&self.caller);
        }
        &self.principal
    }

    /// Admits a request, as it is now.
    ///
    /// # Errors
    /// If the policy does not allow it.
    pub(crate) fn admit<R: Asks>(&mut self, request: R) -> Result<Admitted<R>, Problem> {
        self.principal();
        self.principal.admit(&self.caller, request)
    }

    /// Whether a request would be admitted; if not, that is written down. By whom it is.
    ///
    /// # Errors
    /// If the policy does not allow it.
    pub(crate) fn check<R: Asks>(&mut self, request: &R) -> Result<Principal, Problem> {
        let principal = self.principal();
        match principal.check(request) {
            Ok(()) => Ok(Principal { may_fill: R::MAY_FILL, ..principal.clone() }),
            Err(problem) => {
                problem.note(&self.caller, request);
                Err(problem)
            }
        }
    }

    pub(crate) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }
}

impl Principal {
    fn of(caller: &Caller) -> Self {
        let identity = caller.identity.as_ref().map(Identity::text);
        Self { identity, rights: caller.rights(), allowance: caller.allowance(), limits: Limits::NONE, may_fill: false }
    }

    /// Admits a request, and writes that down.
    fn admit<R: Asks>(&self, caller: &Caller, request: R) -> Result<Admitted<R>, Problem> {
        let limits = match self.check(&request).and_then(|()| self.meter(&request)) {
            Ok(limits) => limits,
            Err(problem) => {
                problem.note(caller, &request);
                return Err(problem);
            }
        };
        caller.note_allowed(request.weight(), || request.act());
        Ok(Admitted { principal: Self { limits, may_fill: R::MAY_FILL, ..self.clone() }, request })
    }

    /// Whether a request would be admitted.
    fn check(&self, request: &impl Asks) -> Result<(), Problem> {
        if self.rights.are_all() {
            return Ok(());
        }
        let namespace = validate::namespace(request.namespace())?;
        request.check(&Here { rights: &self.rights, namespace }).map_err(|Missing { verb, name }| Problem::NotAllowed {
            identity: self.identity.clone().unwrap_or_else(|| "".into()),
            verb,
            name,
            namespace: namespace.to_owned(),
        })
    }

    /// Counts a request. How much its caller may have where it is about.
    fn meter<R: Asks>(&self, request: &R) -> Result<Limits, Problem> {
        let Some(allowance) = &self.allowance else { return Ok(Limits::NONE) };
        let namespace = validate::namespace(request.namespace())?;
        if R::IS_METERED {
            allowance.ask(namespace, request.history_bytes()).map_err(Problem::TooFast)?;
        }
        Ok(allowance.limits(namespace))
    }

    /// Whether its request may fill a new namespace.
    pub(super) fn may_fill(&self) -> bool {
        self.may_fill
    }

    /// Counts a watch, for as long as what it is given is kept.
    pub(crate) fn watch(&self, namespace: &str) -> Result<Option<Watching>, Problem> {
        let Some(allowance) = &self.allowance else { return Ok(None) };
        allowance.watch(validate::namespace(namespace)?).map_err(|bound| Problem::LimitReached {
            limit: "watches of this identity in the namespace at this server",
            bound: bound.to_string(),
        })
    }

    /// The command, asked for by this one.
    pub(crate) fn request(&self, command: Command) -> Request {
        command.by(self.identity.as_ref(), self.limits)
    }

    /// Whether it may look at a name.
    pub(crate) fn may_read(&self, namespace: &str, name: &str) -> bool {
        self.rights.allow(Verb::Read, namespace, name)
    }

    /// In which order a list of what begins with a prefix goes through what it may look at.
    pub(crate) fn readable(&self, namespace: &str, prefix: &str) -> Vec<Piece> {
        pieces(self.rights.names(Verb::Read, namespace), prefix)
    }

    /// Whether it may look at a session: its own, or anybody's if it may look at everything there.
    pub(crate) fn may_see(&self, namespace: &str, session: &tenure_core::SessionSpec) -> bool {
        session.is_of(self.identity.as_ref()) || self.rights.allow_every(Verb::Read, namespace)
    }

    /// Refuses to touch the session of somebody else, as far as that is known here; the decision looks at the log's head.
    ///
    /// # Errors
    /// If it is one.
    pub(crate) fn check_owner(&self, namespace: &Namespace, session: &Text) -> Result<(), Problem> {
        match &self.identity {
            Some(identity) if namespace.is_of_another(session, identity) => Err(of_another(session)),
            _ => Ok(()),
        }
    }
}

/// The refusal to touch somebody else's session.
pub(crate) fn of_another(session: &Text) -> Problem {
    Problem::Refused(Refusal::Rejected(Rejection::SessionOfAnother { session: session.clone() }))
}

impl Problem {
    /// Writes down that a request was refused by the policy, if that is what it was.
    fn note(&self, caller: &Caller, request: &impl Asks) {
        match self {
            Self::NotAllowed { .. } => caller.note_refused("policy", || request.act()),
            Self::TooFast(TooFast { limit: HISTORY_BYTES, .. }) => {
                caller.note_refused("history-bytes-per-second", || request.act());
            }
            Self::TooFast(_) => caller.note_refused("requests-per-second", || request.act()),
            _ => {}
        }
    }
}

impl<R> Admitted<R> {
    /// The request, and who asks.
    pub(crate) fn into_parts(self) -> (R, Principal) {
        (self.request, self.principal)
    }
}

impl Caller {
    /// Admits a request of this caller, and writes that down.
    ///
    /// # Errors
    /// If the policy does not allow it.
    pub(crate) fn admit<R: Asks>(&self, request: R) -> Result<Admitted<R>, Problem> {
        Principal::of(self).admit(self, request)
    }

    /// Carries out a request of this caller, if it is admitted; writes down if it is about the session of somebody else.
    ///
    /// # Errors
    /// If it is not admitted, and as of the work.
    pub(crate) async fn carry_out<R: Asks, T, F>(
        &self,
        request: R,
        work: impl FnOnce(Admitted<R>) -> F,
    ) -> Result<T, Problem>
    where
        F: Future<Output = Result<T, Problem>>,
    {
        let act = self.is_audited().then(|| request.act());
        let done = match self.admit(request) {
            Ok(admitted) => work(admitted).await,
            Err(problem) => Err(problem),
        };
        if let Err(problem) = &done {
            problem.count(self.refusals());
            if let Some(act) = act
                && problem.session_of_another().is_some()
            {
                self.note_refused(SESSION_OWNER, || act);
            }
        }
        done
    }

    /// Writes down that a command of a stream is about the session of somebody else, if that is why it was refused.
    pub(crate) fn note_refusal(&self, problem: &Problem) {
        if let Some(session) = problem.session_of_another() {
            self.note_refused(SESSION_OWNER, || Act::new("tenure.v1.ClientService/Stream").by(session));
        }
    }

    /// What is needed to see when it is [dismissed](Self::dismissed): nothing, if it has shown nothing.
    pub(crate) fn if_identified<R>(&self, request: impl FnOnce() -> R) -> Option<R> {
        self.is_identified().then(request)
    }

    /// Waits until it may ask for this no more: what was shown counts no more, or the policy has changed.
    pub(crate) async fn dismissed(&self, request: Option<impl Asks>) -> Problem {
        let Some(request) = request else { return std::future::pending().await };
        tokio::select! {
            why = self.clone().revoked() => Problem::Unidentified(why),
            problem = self.forbidden(request) => problem,
        }
    }

    async fn forbidden(&self, request: impl Asks) -> Problem {
        let mut changes = self.changes();
        loop {
            if let Err(problem) = Principal::of(self).check(&request) {
                problem.note(self, &request);
                return problem;
            }
            changes.changed().await;
        }
    }
}
