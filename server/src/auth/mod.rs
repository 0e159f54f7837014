//! Authenticates callers by certificate or token, and authorizes them by the policy.

mod audit;
mod caller;
mod credentials;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod identity;
mod jwt;
mod limits;
mod metrics;
mod policy;
mod rights;
mod tokens;
mod unidentified;

use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use tokio::sync::watch;

pub use self::audit::AuditOptions;
pub(crate) use self::audit::{Act, Actor, Weight};
pub use self::caller::Caller;
pub use self::credentials::CredentialOptions;
pub use self::identity::Identity;
pub use self::jwt::{ALGORITHMS, JwtOptions, KeySource};
pub(crate) use self::limits::{Allowance, HISTORY_BYTES, RateLimited, Watching};
pub(crate) use self::metrics::Refusals;
pub use self::rights::{Rights, Verb};
pub use self::tokens::new_token;
pub use self::unidentified::Unidentified;

use self::audit::Audit;
use self::caller::Shown;
use self::jwt::Jwt;
use self::limits::Watches;
use self::metrics::AuditLines;
use self::policy::Policy;
use self::tokens::Tokens;
use crate::telemetry::metrics::Metrics;
use crate::transport::{Peer, Tls};

/// Authenticates and authorizes callers, and writes the audit log.
#[derive(Clone, Default)]
pub struct Access {
    credentials: Option<Arc<Credentials>>,
    audit: Option<Arc<Audit>>,
    refusals: Refusals,
}

struct Credentials {
    options: CredentialOptions,
    tls: Option<Arc<Tls>>,
    tokens: ArcSwap<Tokens>,
    jwt: Option<Jwt>,
    /// Without a policy, every identified caller may do everything.
    policy: Option<ArcSwap<Policy>>,
    watches: Arc<Watches>,
    /// Notified whenever credentials or rights may have been revoked.
    changed: watch::Sender<()>,
}

/// Notifies when credentials or rights may have been revoked.
pub struct Changes(Option<watch::Receiver<()>>);

impl Changes {
    /// Waits for the next notification; never returns if none can come.
    pub(crate) async fn changed(&mut self) {
        let has_changed = match &mut self.0 {
            Some(changes) => changes.changed().await.is_ok(),
            None => false,
        };
        if !has_changed {
            std::future::pending().await
        }
    }

    /// Whether a notification has arrived since the last check.
    pub(crate) fn have_come(&mut self) -> bool {
        self.0.as_mut().is_some_and(|changes| {
            changes.has_changed().unwrap_or_default().then(|| changes.mark_unchanged()).is_some()
        })
    }
}

impl Access {
    /// Requires no credentials.
    #[must_use]
    pub fn open() -> Self {
        Self::default()
    }

    /// Accepts these credentials, with certificates verified by `tls`; if no kind is enabled, none are required. If
    /// keys cannot be fetched from their URL now, they are fetched later; until then their tokens are rejected.
    /// Rejections and lost audit lines are counted in `metrics`.
    ///
    /// # Errors
    /// If a file cannot be used: the setting and the reason.
    pub async fn load(options: CredentialOptions, tls: Option<Arc<Tls>>, metrics: &Metrics) -> Result<Self, String> {
        let lines: AuditLines = metrics.of();
        let audit = options.audit.as_ref().map(|options| Audit::open(options, &lines)).transpose()?;
        let refusals = metrics.of();
        if !options.are_wanted() {
            return Ok(Self { credentials: None, audit, refusals });
        }
        let tokens = ArcSwap::from_pointee(options.read_tokens()?);
        let policy = options.read_policy()?.map(ArcSwap::from_pointee);
        let jwt = options.jwt.clone().map(Jwt::new);
        if let (Some(jwt), Some(JwtOptions { keys, .. })) = (&jwt, &options.jwt)
            && let Err(problem) = jwt.reload().await
        {
            match keys {
                KeySource::File(_) => return Err(problem),
                KeySource::Url(_) => tracing::error!(problem, "cannot load jwt_keys: starting without them"),
            }
        }
        let (changed, _) = watch::channel(());
        let credentials = Credentials { options, tls, tokens, jwt, policy, watches: Arc::default(), changed };
        Ok(Self { credentials: Some(Arc::new(credentials)), audit, refusals })
    }

    /// Whether no credentials are required.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.credentials.is_none()
    }

    /// Waits until pending audit lines are written, for at most one second.
    pub(crate) async fn settled(&self) {
        if let Some(audit) = &self.audit {
            audit.settled().await;
        }
    }

    /// Reloads the static tokens and returns whether they have changed.
    ///
    /// # Errors
    /// If they cannot be used; the previous tokens stay in force.
    pub fn reload_tokens(&self) -> Result<bool, String> {
        let Some(credentials) = &self.credentials else { return Ok(false) };
        let tokens = credentials.options.read_tokens()?;
        let has_changed = tokens != **credentials.tokens.load();
        if has_changed {
            credentials.tokens.store(Arc::new(tokens));
            credentials.changed.send_replace(());
        }
        Ok(has_changed)
    }

    /// Reloads the policy and returns whether it has changed.
    ///
    /// # Errors
    /// If it cannot be used; the previous policy stays in force.
    pub fn reload_policy(&self) -> Result<bool, String> {
        let Some(credentials) = &self.credentials else { return Ok(false) };
        let (Some(policy), Some(read)) = (&credentials.policy, credentials.options.read_policy()?) else {
            return Ok(false);
        };
        let has_changed = read != **policy.load();
        if has_changed {
            policy.store(Arc::new(read));
            credentials.changed.send_replace(());
        }
        Ok(has_changed)
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Records the rejection of an unidentified caller in the audit log.
    pub(crate) fn note_unidentified(&self, path: &str, peer: &Peer, why: Unidentified) {
        if let Some(audit) = &self.audit {
            audit.refused(Actor { identity: None, address: peer.address }, &Act::new("").called(path), why.rule());
        }
    }

    /// The identity's current rights.
    fn rights(&self, identity: Option<&Identity>) -> Rights {
        let policy = self.credentials.as_ref().and_then(|credentials| credentials.policy.as_ref());
        match (policy, identity) {
            (Some(policy), Some(identity)) => policy.load().rights(identity),
            _ => Rights::default(),
        }
    }

    /// The identity's current limits. `None`: unlimited.
    fn allowance(&self, identity: Option<&Identity>) -> Option<Allowance> {
        let (credentials, identity) = (self.credentials.as_ref()?, identity?);
        let limits = credentials.policy.as_ref()?.load().limits(identity);
        if limits.is_empty() {
            return None;
        }
        Some(Allowance { identity: identity.text(), limits, watches: credentials.watches.clone() })
    }

    /// Drops the state of idle identities. Call this periodically.
    pub(crate) fn forget_idle(&self) {
        if let Some(policy) = self.credentials.as_ref().and_then(|credentials| credentials.policy.as_ref()) {
            policy.load().forget();
        }
    }

    /// Whether the keys of JSON Web Tokens are in a file.
    #[must_use]
    pub fn has_near_keys(&self) -> bool {
        let jwt = self.credentials.as_ref().and_then(|credentials| credentials.options.jwt.as_ref());
        jwt.is_some_and(|jwt| matches!(jwt.keys, KeySource::File(_)))
    }

    /// Whether the keys of JSON Web Tokens are loaded, or none are configured.
    pub(crate) fn has_keys(&self) -> bool {
        let jwt = self.credentials.as_ref().and_then(|credentials| credentials.jwt.as_ref());
        jwt.is_none_or(Jwt::has_keys)
    }

    /// Reloads the keys of JSON Web Tokens and returns whether they have changed.
    ///
    /// # Errors
    /// If they cannot be loaded; the previous keys stay in force.
    pub async fn reload_keys(&self) -> Result<bool, String> {
        let Some(credentials) = &self.credentials else { return Ok(false) };
        let Some(jwt) = &credentials.jwt else { return Ok(false) };
        let has_changed = jwt.reload().await?;
        if has_changed {
            credentials.changed.send_replace(());
        }
        Ok(has_changed)
    }

    /// Notifies that certificates may have been revoked.
    pub fn certificates_changed(&self) {
        if let Some(credentials) = &self.credentials {
            credentials.changed.send_replace(());
        }
    }

    /// Identifies the caller by the request headers and the connection's peer. A token, if present, is decisive: if it
    /// is invalid, a valid certificate does not make up for it.
    ///
    /// # Errors
    /// If the caller cannot be identified.
    pub fn identify(&self, headers: &HeaderMap, peer: &Peer) -> Result<Caller, Unidentified> {
        let Some(credentials) = &self.credentials else {
            return Ok(self.anonymous(peer));
        };
        let (identity, shown) = match headers.get(AUTHORIZATION) {
            Some(header) => {
                credentials.by_token(header.to_str().ok().and_then(bearer).ok_or(Unidentified::NoBearer)?)?
            }
            None => credentials.by_certificate(peer)?,
        };
        Ok(Caller { identity: Some(identity), address: peer.address, shown, access: self.clone() })
    }

    /// A caller without credentials, where none are required.
    pub(crate) fn anonymous(&self, peer: &Peer) -> Caller {
        Caller { identity: None, address: peer.address, shown: Shown::Nothing, access: self.clone() }
    }

    /// Whether the presented credentials are still valid.
    fn check(&self, shown: &Shown) -> Result<(), Unidentified> {
        let Some(credentials) = &self.credentials else { return Ok(()) };
        match shown {
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

    pub(crate) fn changes(&self) -> Changes {
        Changes(self.credentials.as_ref().map(|credentials| credentials.changed.subscribe()))
    }
}

impl Credentials {
    fn by_token(&self, token: &str) -> Result<(Identity, Shown), Unidentified> {
        if let Some((hash, identity)) = self.tokens.load().find(token) {
            return Ok((identity, Shown::Token(hash)));
        }
        let (identity, until) = self.by_jwt(token)?;
        Ok((identity, Shown::Jwt { token: token.into(), until }))
    }

    fn by_jwt(&self, token: &str) -> Result<(Identity, SystemTime), Unidentified> {
        self.jwt.as_ref().ok_or(Unidentified::UnknownToken)?.find(token)
    }

    fn by_certificate(&self, peer: &Peer) -> Result<(Identity, Shown), Unidentified> {
        let chain = peer.certificates.as_ref().filter(|_| self.options.certificates);
        let chain = chain.ok_or(Unidentified::CredentialsRequired)?;
        let identity = peer.name.as_deref().and_then(Identity::of_certificate);
        let identity = identity.ok_or(Unidentified::NamelessCertificate)?;
        Ok((identity, Shown::Certificates(chain.clone())))
    }
}

/// The token of an authorization header (RFC 6750, section 2.1).
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
