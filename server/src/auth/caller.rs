//! Who calls, as far as is known.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use tokio::time::sleep;

use super::metrics::Refusals;
use super::tokens::Hash;
use super::{Access, Act, Actor, Allowance, Changes, Identity, Rights, Unidentified, Weight};

/// However long it seems to be until then: the wall clock may be set.
const LOOK: Duration = Duration::from_secs(30);

/// However short it seems to be, or past already: the check may count in whole seconds.
const AGAIN: Duration = Duration::from_millis(100);

/// Who calls. Among the extensions of each request.
#[derive(Clone, Default)]
pub struct Caller {
    /// Who it is. `None`: nobody is asked, or this is open to everybody.
    pub identity: Option<Identity>,
    /// Where it calls from, unless it has gone already.
    pub address: Option<SocketAddr>,
    pub(super) shown: Shown,
    pub(super) access: Access,
}

/// What somebody has shown.
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
    /// Whether anything has been shown that may come to count no more.
    #[must_use]
    pub fn is_identified(&self) -> bool {
        self.identity.is_some()
    }

    /// Where it is counted what it is refused.
    pub(crate) fn refusals(&self) -> &Refusals {
        self.access.refusals()
    }

    /// Whether anything is written down of it.
    pub(crate) fn is_audited(&self) -> bool {
        self.access.audit.is_some()
    }

    /// Writes down that it is let do this.
    pub(crate) fn note_allowed(&self, weight: Weight, act: impl FnOnce() -> Act) {
        if let Some(audit) = self.access.audit.as_ref().filter(|audit| audit.is_for(weight)) {
            audit.allowed(self.actor(), &act());
        }
    }

    /// Writes down that it is not let do this.
    pub(crate) fn note_refused(&self, rule: &str, act: impl FnOnce() -> Act) {
        if let Some(audit) = &self.access.audit {
            audit.refused(self.actor(), &act(), rule);
        }
    }

    fn actor(&self) -> Actor<'_> {
        Actor { identity: self.identity.as_ref().map(Identity::as_str), address: self.address }
    }

    /// What it may do now.
    #[must_use]
    pub fn rights(&self) -> Rights {
        self.access.rights(self.identity.as_ref())
    }

    /// How much it may have and ask for now. `None`: any number of anything.
    pub(crate) fn allowance(&self) -> Option<Allowance> {
        self.access.allowance(self.identity.as_ref())
    }

    /// Tells when something may have been revoked.
    pub(crate) fn changes(&self) -> Changes {
        self.access.changes()
    }

    /// Waits until what was shown counts no more: it is revoked, replaced or over.
    pub async fn revoked(self) -> Unidentified {
        let mut changes = self.access.changes();
        loop {
            if let Err(why) = self.access.check(&self.shown) {
                return why;
            }
            let pause = match &self.shown {
                Shown::Jwt { until, .. } => {
                    until.duration_since(SystemTime::now()).unwrap_or_default().clamp(AGAIN, LOOK)
                }
                _ => LOOK,
            };
            tokio::select! {
                () = changes.changed() => {}
                () = sleep(pause) => {}
            }
        }
    }
}
