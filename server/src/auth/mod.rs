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

/// Authenticates and authorizes callers, and writes the audit log. The default requires no credentials.
#[derive(Clone, Default)]
pub struct Access {
    credentials: Option<Arc<Credentials>>,
    audit: Option<Arc<Audit>>,
    /// Counts rejections.
    pub(crate) refusals: Refusals,
    /// Notified whenever credentials or rights may have been revoked.
    changed: watch::Sender<()>,
}

struct Credentials {
    options: CredentialOptions,
    tls: Option<Arc<Tls>>,
    tokens: ArcSwap<Tokens>,
    jwt: Option<Jwt>,
    /// Without a policy, every identified caller may do everything.
    policy: Option<ArcSwap<Policy>>,
    watches: Arc<Watches>,
}

impl Access {
    /// Accepts these credentials, with certificates verified by `tls`; if no kind is enabled, none are required. If
    /// keys cannot be fetched from their URL now, they are fetched later; until then their tokens are rejected.
    /// Rejections and lost audit lines are counted in `metrics`.
    ///
    /// # Errors
    /// If a file cannot be used: the setting and the reason.
    pub async fn load(options: CredentialOptions, tls: Option<Arc<Tls>>, metrics: &Metrics) -> Result<Self, String> {
        let lines: AuditLines = metrics.of();
        let audit = options.audit.as_ref().map(|options| Audit::open(options, &lines)).transpose()?;
        let mut access = Self { audit, refusals: metrics.of(), ..Self::default() };
        if !options.are_wanted() {
            return Ok(access);
        }
        let tokens = ArcSwap::from_pointee(options.read_tokens()?);
        let policy = options.read_policy()?.map(ArcSwap::from_pointee);
        let jwt = options.jwt.clone().map(Jwt::new);
        access.credentials = Some(Arc::new(Credentials { options, tls, tokens, jwt, policy, watches: Arc::default() }));
        if let Err(problem) = access.reload_keys().await {
            if access.has_near_keys() {
                return Err(problem);
            }
            tracing::error!(problem, "cannot load jwt_keys: starting without them");
        }
        Ok(access)
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
        Ok(self.replace(&credentials.tokens, credentials.options.read_tokens()?))
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
        Ok(self.replace(policy, read))
    }

    /// Replaces a value if the new one differs, and notifies of the change; returns whether it does.
    fn replace<T: PartialEq>(&self, current: &ArcSwap<T>, new: T) -> bool {
        let has_changed = new != **current.load();
        if has_changed {
            current.store(Arc::new(new));
            self.changed.send_replace(());
        }
        has_changed
    }

    /// Records the rejection of an unidentified caller in the audit log.
    pub(crate) fn note_unidentified(&self, path: &str, peer: &Peer, why: Unidentified) {
        if let Some(audit) = &self.audit {
            audit.refused(Actor { identity: None, address: peer.address }, &Act::called(path), why.rule());
        }
    }

    fn policy(&self) -> Option<&ArcSwap<Policy>> {
        self.credentials.as_ref()?.policy.as_ref()
    }

    fn jwt(&self) -> Option<&Jwt> {
        self.credentials.as_ref()?.jwt.as_ref()
    }

    /// Drops the state of idle identities. Call this periodically.
    pub(crate) fn forget_idle(&self) {
        if let Some(policy) = self.policy() {
            policy.load().forget();
        }
    }

    /// Whether the keys of JSON Web Tokens are in a file.
    #[must_use]
    pub fn has_near_keys(&self) -> bool {
        self.jwt().is_some_and(|jwt| matches!(jwt.options.keys, KeySource::File(_)))
    }

    /// Whether the keys of JSON Web Tokens are loaded, or none are configured.
    pub(crate) fn has_keys(&self) -> bool {
        self.jwt().is_none_or(|jwt| !jwt.keys.load().keys.is_empty())
    }

    /// Reloads the keys of JSON Web Tokens and returns whether they have changed.
    ///
    /// # Errors
    /// If they cannot be loaded; the previous keys stay in force.
    pub async fn reload_keys(&self) -> Result<bool, String> {
        let Some(jwt) = self.jwt() else { return Ok(false) };
        Ok(self.replace(&jwt.keys, jwt.load().await?))
    }

    /// Notifies that certificates may have been revoked.
    pub fn certificates_changed(&self) {
        self.changed.send_replace(());
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
