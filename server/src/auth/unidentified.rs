//! Authentication errors.

/// The reason why a caller is not identified. It is returned to the caller as is, because it reveals no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unidentified {
    /// The caller presented neither a certificate nor a token.
    #[error("credentials are required: a client certificate, or a token in the authorization header")]
    CredentialsRequired,
    /// The authorization header has another format.
    #[error("the authorization header must be \"Bearer\" and a token")]
    NoBearer,
    /// The token is unknown or was removed.
    #[error("unknown token")]
    UnknownToken,
    /// The token's signature algorithm is not accepted.
    #[error("the token's signature algorithm is not allowed")]
    TokenAlgorithm,
    /// The token has critical extensions that are not supported here (RFC 7515, section 4.1.11).
    #[error("the token has critical extensions that are not supported")]
    TokenExtension,
    /// No key matches the token.
    #[error("no known key matches the token's key id and algorithm")]
    TokenKey,
    /// The token's signature is invalid.
    #[error("the token's signature is invalid")]
    TokenSignature,
    /// The token has another issuer.
    #[error("the token has another issuer")]
    TokenIssuer,
    /// The token is for another audience.
    #[error("the token is for another audience")]
    TokenAudience,
    /// The token has expired or is not valid yet.
    #[error("the token has expired, or is not valid yet")]
    TokenTime,
    /// The token has no subject.
    #[error("the token has no subject")]
    TokenSubject,
    /// The certificate has no name.
    #[error("the client certificate has neither a URI nor a DNS name as subject alternative name")]
    NamelessCertificate,
    /// The certificate is no longer valid.
    #[error("the client certificate is no longer valid")]
    RevokedCertificate,
}

impl Unidentified {
    /// The rule that rejected the caller, as one word.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::CredentialsRequired => "credentials-required",
            Self::NoBearer => "bearer-token",
            Self::UnknownToken => "known-token",
            Self::TokenAlgorithm => "token-algorithm",
            Self::TokenKey => "token-key",
            Self::TokenSignature => "token-signature",
            Self::TokenIssuer => "token-issuer",
            Self::TokenExtension => "token-extension",
            Self::TokenAudience => "token-audience",
            Self::TokenTime => "token-time",
            Self::TokenSubject => "token-subject",
            Self::NamelessCertificate => "certificate-name",
            Self::RevokedCertificate => "certificate-valid",
        }
    }
}
