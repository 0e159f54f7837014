//! Who calls: by a certificate, or by a token that it shows.

mod caller;
mod identify;
mod identity;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header::AUTHORIZATION;

pub use self::caller::Caller;
pub use self::identify::IdentifyLayer;
pub use self::identity::Identity;
pub use self::tokens::{check_name, new_token};

use self::tokens::Tokens;
use crate::listen::{Certified, Peer};

/// What is taken as proof of who somebody is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialOptions {
    /// Certificates, which were verified in the handshake.
    pub certificates: bool,
    /// The static tokens of this file.
    pub tokens_file: Option<PathBuf>,
}

impl CredentialOptions {
    /// Whether anybody has to prove anything.
    #[must_use]
    pub fn are_wanted(&self) -> bool {
        self.certificates || self.tokens_file.is_some()
    }
}

/// Why it is not known who calls. Each is told as it is: it says nothing about what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unidentified {
    /// There is neither a certificate nor a token.
    #[error("credentials are required: a client certificate, or a token in the authorization header")]
    CredentialsRequired,
    /// The header is none of ours.
    #[error("the authorization header must be \"Bearer\" and a token")]
    NoBearer,
    /// The token is not known.
    #[error("the token is not known")]
    UnknownToken,
    /// The certificate names nobody.
    #[error("the client certificate has neither a URI nor a DNS name as subject alternative name")]
    NamelessCertificate,
}

impl Unidentified {
    /// The rule that refused, as one word.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::CredentialsRequired => "credentials-required",
            Self::NoBearer => "bearer-token",
            Self::UnknownToken => "known-token",
            Self::NamelessCertificate => "certificate-name",
        }
    }
}

/// Says who calls.
#[derive(Clone, Default)]
pub struct Access(Option<Arc<Credentials>>);

struct Credentials {
    options: CredentialOptions,
    tokens: ArcSwap<Tokens>,
}

impl Access {
    /// Nobody is asked for credentials.
    #[must_use]
    pub fn open() -> Self {
        Self::default()
    }

    /// Takes these credentials; if there are none, nobody is asked.
    ///
    /// # Errors
    /// If a file cannot be used: its setting, and what is wrong.
    pub fn load(options: CredentialOptions) -> Result<Self, String> {
        if !options.are_wanted() {
            return Ok(Self::open());
        }
        let tokens = ArcSwap::from_pointee(options.read_tokens()?);
        Ok(Self(Some(Arc::new(Credentials { options, tokens }))))
    }

    /// Whether nobody is asked.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// Reads the files again. Says whether they have changed.
    ///
    /// # Errors
    /// If one cannot be used: then all stays as it is.
    pub fn reload(&self) -> Result<bool, String> {
        let Some(credentials) = &self.0 else { return Ok(false) };
        let tokens = credentials.options.read_tokens()?;
        let has_changed = tokens != **credentials.tokens.load();
        if has_changed {
            credentials.tokens.store(Arc::new(tokens));
        }
        Ok(has_changed)
    }

    /// Who calls, by the headers of the call and by who is at the other end of the connection. A token, where one is shown, decides
    /// alone: if it is wrong, the certificate does not make up for it.
    ///
    /// # Errors
    /// If that is not known.
    pub fn identify(&self, headers: &HeaderMap, peer: &Peer) -> Result<Option<Identity>, Unidentified> {
        let Some(credentials) = &self.0 else { return Ok(None) };
        if let Some(header) = headers.get(AUTHORIZATION) {
            let token = header.to_str().ok().and_then(bearer).ok_or(Unidentified::NoBearer)?;
            return credentials.tokens.load().find(token).cloned().map(Some).ok_or(Unidentified::UnknownToken);
        }
        match &peer.certified {
            Some(Certified::As(identity)) if credentials.options.certificates => Ok(Some(identity.clone())),
            Some(Certified::Nobody) if credentials.options.certificates => Err(Unidentified::NamelessCertificate),
            _ => Err(Unidentified::CredentialsRequired),
        }
    }
}

impl CredentialOptions {
    fn read_tokens(&self) -> Result<Tokens, String> {
        let Some(file) = &self.tokens_file else { return Ok(Tokens::default()) };
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
        text.and_then(|text| Tokens::parse(&text))
            .map_err(|problem| format!("tokens_file: {}: {problem}", file.display()))
    }
}

/// The token of an authorization header (RFC 6750, section 2.1).
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
