//! What is taken as proof of who somebody is, and what says what it may do.

use std::path::PathBuf;

use super::policy::Policy;
use super::tokens::Tokens;
use super::{AuditOptions, JwtOptions};

/// What is taken as proof of who somebody is: any of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialOptions {
    /// Certificates, which were verified in the handshake.
    pub certificates: bool,
    /// The static tokens of this file.
    pub tokens_file: Option<PathBuf>,
    /// JSON Web Tokens.
    pub jwt: Option<JwtOptions>,
    /// The policy of this file. `None`: whoever is known may do everything.
    pub policy: Option<PathBuf>,
    /// Where it is written down who was let do what. `None`: nowhere.
    pub audit: Option<AuditOptions>,
}

impl CredentialOptions {
    /// Whether anybody has to prove anything.
    #[must_use]
    pub fn are_wanted(&self) -> bool {
        self.certificates || self.tokens_file.is_some() || self.jwt.is_some()
    }

    pub(super) fn read_tokens(&self) -> Result<Tokens, String> {
        let Some(file) = &self.tokens_file else { return Ok(Tokens::default()) };
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
        text.and_then(|text| Tokens::parse(&text))
            .map_err(|problem| format!("tokens_file: {}: {problem}", file.display()))
    }

    pub(super) fn read_policy(&self) -> Result<Option<Policy>, String> {
        let Some(file) = &self.policy else { return Ok(None) };
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
        text.and_then(|text| Policy::parse(&text))
            .map(Some)
            .map_err(|problem| format!("policy: {}: {problem}", file.display()))
    }
}
