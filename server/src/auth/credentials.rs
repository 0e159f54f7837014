//! Options for authentication, authorization and the audit log.

use std::path::PathBuf;

use super::policy::Policy;
use super::tokens::Tokens;
use super::{AuditOptions, JwtOptions};

/// The accepted kinds of credentials; any one of them suffices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialOptions {
    /// Client certificates, verified in the handshake.
    pub certificates: bool,
    /// Static tokens from this file.
    pub tokens_file: Option<PathBuf>,
    /// JSON Web Tokens.
    pub jwt: Option<JwtOptions>,
    /// The policy file. `None`: every identified caller may do everything.
    pub policy: Option<PathBuf>,
    /// The audit log. `None`: disabled.
    pub audit: Option<AuditOptions>,
}

impl CredentialOptions {
    /// Whether callers must present credentials.
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
