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
    #[error("the token is not known")]
    UnknownToken,
    /// The token's signature algorithm is not accepted.
    #[error("the token is signed by an algorithm that is not allowed here")]
    TokenAlgorithm,
    /// The token has critical extensions that are not supported here (RFC 7515, section 4.1.11).
    #[error("the token has extensions that must be known to whoever takes it, and are not known here")]
    TokenExtension,
    /// No key matches the token.
    #[error("the token names no key that is known for its algorithm")]
    TokenKey,
    /// The token's signature is invalid.
    #[error("the token's signature is wrong")]
    TokenSignature,
    /// The token has another issuer.
    #[error("the token is by another issuer")]
    TokenIssuer,
    /// The token is for another audience.
    #[error("the token is for another audience")]
    TokenAudience,
    /// The token has expired or is not valid yet.
    #[error("the token has expired, or is not valid yet")]
    TokenTime,
    /// The token has no subject.
    #[error("the token does not say who it is for: its subject is missing")]
    TokenSubject,
    /// The certificate has no name.
    #[error("the client certificate has neither a URI nor a DNS name as subject alternative name")]
    NamelessCertificate,
    /// The certificate is no longer valid.
    #[error("the client certificate is not valid any more")]
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
