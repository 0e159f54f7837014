//! The caller of a request, with its identity, address and rights.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use tokio::sync::watch;
use tokio::time::sleep;

use super::metrics::Refusals;
use super::tokens::Hash;
use super::{Access, Act, Actor, Allowance, Identity, Rights, Unidentified, Weight};

/// The longest pause between checks of a JWT, since the wall clock may be set.
const LOOK: Duration = Duration::from_secs(30);

/// The shortest pause between checks, even past the expiry: the check may count in whole seconds.
const AGAIN: Duration = Duration::from_millis(100);

/// The caller of a request, stored in the request's extensions.
#[derive(Clone, Default)]
pub struct Caller {
    /// The identity. `None`: no credentials are required, or the endpoint is open to everyone.
    pub identity: Option<Identity>,
    /// The address; `None` if the connection has already closed.
    pub address: Option<SocketAddr>,
    pub(super) shown: Shown,
    pub(super) access: Access,
}

/// The credentials that the caller presented.
#[derive(Clone, Default)]
pub(super) enum Shown {
    #[default]
    Nothing,
    Certificates(Arc<[CertificateDer<'static>]>),
    Token(Hash),
    Jwt {
        token: Arc<str>,
        until: SystemTime,
    },
}

impl Caller {
    /// Whether the caller presented credentials that may be revoked.
    #[must_use]
    pub fn is_identified(&self) -> bool {
        self.identity.is_some()
    }

    /// Counts the caller's rejections.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.access.refusals
    }

    /// Whether the caller's operations are audited.
    pub(crate) fn is_audited(&self) -> bool {
        self.access.audit.is_some()
    }

    /// Records an allowed operation in the audit log.
    pub(crate) fn note_allowed(&self, weight: Weight, act: impl FnOnce() -> Act) {
        if let Some(audit) = self.access.audit.as_ref().filter(|audit| audit.is_for(weight)) {
            audit.allowed(self.actor(), &act());
        }
    }

    /// Records a denied operation in the audit log.
    pub(crate) fn note_refused(&self, rule: &str, act: impl FnOnce() -> Act) {
        if let Some(audit) = &self.access.audit {
            audit.refused(self.actor(), &act(), rule);
        }
    }

    fn actor(&self) -> Actor<'_> {
        Actor { identity: self.identity.as_ref().map(Identity::as_str), address: self.address }
    }

    /// The caller's current rights.
    #[must_use]
    pub fn rights(&self) -> Rights {
        match (self.access.policy(), &self.identity) {
            (Some(policy), Some(identity)) => policy.load().rights(identity),
            _ => Rights::default(),
        }
    }

    /// The caller's current limits. `None`: unlimited.
    pub(crate) fn allowance(&self) -> Option<Allowance> {
        let (credentials, identity) = (self.access.credentials.as_ref()?, self.identity.as_ref()?);
        let limits = credentials.policy.as_ref()?.load().limits(identity);
        if limits.is_empty() {
            return None;
        }
        Some(Allowance { identity: identity.text(), limits, watches: credentials.watches.clone() })
    }

    /// Notifies when credentials may have been revoked.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.access.changed.subscribe()
    }

    /// Whether the presented credentials are still valid.
    fn check(&self) -> Result<(), Unidentified> {
        let Some(credentials) = &self.access.credentials else { return Ok(()) };
        match &self.shown {
            Shown::Nothing => Ok(()),
            Shown::Token(hash) if credentials.tokens.load().has(hash) => Ok(()),
            Shown::Token(_) => Err(Unidentified::UnknownToken),
            Shown::Jwt { token, .. } => credentials.by_jwt(token).map(drop),
            Shown::Certificates(chain) => match &credentials.tls {
                Some(tls) if tls.trusts(chain) => Ok(()),
                _ => Err(Unidentified::RevokedCertificate),
            },
        }
    }

    /// Waits until the presented credentials are no longer valid: revoked, replaced or expired.
    pub async fn revoked(self) -> Unidentified {
        let mut changes = self.changes();
        loop {
            if let Err(why) = self.check() {
                return why;
            }
            let pause = match &self.shown {
                Shown::Jwt { until, .. } => {
                    until.duration_since(SystemTime::now()).unwrap_or_default().clamp(AGAIN, LOOK)
                }
                _ => LOOK,
            };
            tokio::select! {
                // Cannot fail: the sender belongs to `self`.
                _ = changes.changed() => {}
                () = sleep(pause) => {}
            }
        }
    }
}
