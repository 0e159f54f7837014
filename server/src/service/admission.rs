//! Admission: what is asked for is carried out only if whoever asks may have it. Each request says itself what it takes; one that
//! does not cannot be admitted, and so cannot reach a namespace.

use std::sync::Arc;

use tenure_core::{Command, Rejection, Text};
use tenure_proto::v1;

use super::bounds;
use super::problem::Problem;
use crate::access::{Caller, Changes, Identity, Rights, Verb};
use crate::sequencer::{Namespace, Refusal};

/// Who asks, and what it may do.
#[derive(Clone)]
pub(crate) struct Asker {
    identity: Option<Text>,
    rights: Rights,
}

/// A request that may be carried out.
pub(crate) struct Admitted<R> {
    request: R,
    asker: Asker,
}

/// What a request takes: said by each type of request.
pub(crate) trait Asks {
    /// Where.
    fn namespace(&self) -> &str;

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
        if allowed { Ok(()) } else { Err(Missing { verb, name: bounds::shortened(name) }) }
    }

    fn names(&self, verb: Verb, names: &[String]) -> Result<(), Missing> {
        names.iter().try_for_each(|name| self.name(verb, name))
    }

    fn prefix(&self, verb: Verb, prefix: &str) -> Result<(), Missing> {
        let allowed = self.rights.allow_prefix(verb, self.namespace, prefix);
        if allowed { Ok(()) } else { Err(Missing { verb, name: format!("{}*", bounds::shortened(prefix)) }) }
    }

    /// Some name at least: which, is looked at later, or does not matter.
    fn some(&self, verb: Verb) -> Result<(), Missing> {
        let allowed = self.rights.allow_some(verb, self.namespace);
        if allowed { Ok(()) } else { Err(Missing { verb, name: String::new() }) }
    }
}

/// Who has opened a stream, for all that it asks for on it.
pub(crate) struct Standing {
    caller: Arc<Caller>,
    asker: Asker,
    changes: Changes,
}

impl Standing {
    pub(crate) fn new(caller: Arc<Caller>) -> Self {
        let changes = caller.changes();
        Self { asker: Asker::of(&caller), caller, changes }
    }

    /// Who asks, as it is now.
    pub(crate) fn asker(&mut self) -> &Asker {
        if self.changes.have_come() {
            self.asker = Asker::of(&self.caller);
        }
        &self.asker
    }

    pub(crate) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }
}

impl Asker {
    fn of(caller: &Caller) -> Self {
        Self { identity: caller.identity.as_ref().map(Identity::text), rights: caller.rights() }
    }

    /// Admits a request.
    ///
    /// # Errors
    /// If the policy does not allow it.
    pub(crate) fn admit<R: Asks>(&self, request: R) -> Result<Admitted<R>, Problem> {
        self.check(&request)?;
        Ok(Admitted { request, asker: self.clone() })
    }

    /// Whether a request would be admitted.
    ///
    /// # Errors
    /// As of [`Self::admit`].
    pub(crate) fn check(&self, request: &impl Asks) -> Result<(), Problem> {
        if self.rights.are_all() {
            return Ok(());
        }
        let namespace = bounds::namespace(request.namespace())?;
        request.check(&Here { rights: &self.rights, namespace }).map_err(|Missing { verb, name }| Problem::NotAllowed {
            identity: self.identity.clone().unwrap_or_else(|| "".into()),
            verb,
            name,
            namespace: namespace.to_owned(),
        })
    }

    /// The command, asked for by this one.
    pub(crate) fn command(&self, command: Command) -> Command {
        command.by(self.identity.as_ref())
    }

    /// Whether it may look at a name.
    pub(crate) fn may_read(&self, namespace: &str, name: &str) -> bool {
        self.rights.allow(Verb::Read, namespace, name)
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

impl<R> Admitted<R> {
    /// The request, and who asks.
    pub(crate) fn into_parts(self) -> (R, Asker) {
        (self.request, self.asker)
    }
}

impl Caller {
    /// Admits a request of this caller.
    pub(crate) fn admit<R: Asks>(&self, request: R) -> Result<Admitted<R>, Problem> {
        Asker::of(self).admit(request)
    }

    /// Waits until it may be asked for something no more: what was shown counts no more, or the policy has changed.
    pub(crate) async fn dismissed(&self, request: impl Asks) -> Problem {
        if !self.is_identified() {
            return std::future::pending().await;
        }
        tokio::select! {
            why = self.clone().revoked() => Problem::Unidentified(why),
            problem = self.forbidden(request) => problem,
        }
    }

    async fn forbidden(&self, request: impl Asks) -> Problem {
        let mut changes = self.changes();
        loop {
            if let Err(problem) = Asker::of(self).check(&request) {
                return problem;
            }
            changes.changed().await;
        }
    }
}

/// Says what each request takes.
macro_rules! asks {
    ($($request:ident: |$asked:ident, $rights:ident| $check:expr;)*) => {$(
        impl Asks for v1::$request {
            fn namespace(&self) -> &str {
                &self.namespace
            }

            fn check(&self, $rights: &Here<'_>) -> Result<(), Missing> {
                let $asked = self;
                $check
            }
        }
    )*};
}

asks! {
    AcquireRequest: |asked, rights| rights.names(Verb::Acquire, &asked.names);
    CancelAcquireRequest: |asked, rights| rights.names(Verb::Acquire, &asked.names);
    ReleaseRequest: |asked, rights| rights.name(Verb::Acquire, &asked.name);
    UpdateClaimRequest: |asked, rights| rights.name(Verb::Acquire, &asked.name);
    // A holder hands over what is its own; whoever else does is an operator.
    TransferRequest: |asked, rights| {
        rights.name(if asked.session_id.is_empty() { Verb::Operate } else { Verb::Acquire }, &asked.name)
    };
    EvictRequest: |asked, rights| rights.name(Verb::Operate, &asked.name);
    ConfigureLockRequest: |asked, rights| rights.name(Verb::Operate, &asked.name);
    GetLockRequest: |asked, rights| rights.name(Verb::Read, &asked.name);
    ListHistoryRequest: |asked, rights| rights.name(Verb::Read, &asked.name);
    // Lists leave out what may not be looked at.
    ListLocksRequest: |_asked, rights| rights.some(Verb::Read);
    ListBlockedRequest: |_asked, rights| rights.some(Verb::Read);
    ListGroupsRequest: |_asked, rights| rights.some(Verb::Read);
    // Sessions are for those who have something to acquire; whose they are is looked at where they are.
    OpenSessionRequest: |_asked, rights| rights.some(Verb::Acquire);
    AttachSession: |_asked, rights| rights.some(Verb::Acquire);
    RenewRequest: |_asked, rights| rights.some(Verb::Acquire);
    KeepAliveRequest: |_asked, rights| rights.some(Verb::Acquire);
    // Its own, which it may close whatever it may do no more.
    CloseSessionRequest: |_asked, _rights| Ok(());
    GetSessionRequest: |_asked, rights| rights.some(Verb::Acquire).or_else(|_| rights.some(Verb::Read));
    ListSessionsRequest: |_asked, rights| rights.some(Verb::Acquire).or_else(|_| rights.some(Verb::Read));
    JoinGroupRequest: |asked, rights| rights.name(Verb::Acquire, &asked.group);
    LeaveGroupRequest: |asked, rights| rights.name(Verb::Acquire, &asked.group);
    AssignGroupRequest: |asked, rights| rights.name(Verb::Acquire, &asked.group);
    ConfigureGroupRequest: |asked, rights| rights.name(Verb::Operate, &asked.group);
    GetGroupRequest: |asked, rights| rights.name(Verb::Read, &asked.group);
    WatchRequest: |asked, rights| {
        rights.names(Verb::Watch, &asked.names)?;
        rights.names(Verb::Watch, &asked.groups)?;
        let everything = asked.names.is_empty() && asked.groups.is_empty() && asked.prefixes.is_empty();
        let prefixes = everything.then_some("").into_iter().chain(asked.prefixes.iter().map(String::as_str));
        prefixes.into_iter().try_for_each(|prefix| rights.prefix(Verb::Watch, prefix))
    };
}
